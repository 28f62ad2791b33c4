"""The spine: sandboxes, servers, tokens, in one run with the machine's load around it."""

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from pathlib import Path

from pml.assembly import Setup
from pml.measuring import machine, sandbox, servers, tokens
from pml.measuring.example import NAME, opened_example
from pml.measuring.figures import Figure, Missing, Results, Subject, Taken
from pml.measuring.gateway import Place, opened_gateway
from pml.measuring.statistics import summary
from pml.measuring.timing import Amount, elapsed, reference

_REFERENCES = 200

Watch = Callable[[str, float], None]
"""Hears what is measured now, and how much of the whole is done."""


@dataclasses.dataclass(frozen=True, slots=True)
class Around:
    """Where a run is made; nothing of it is asked for elsewhere."""

    environ: Mapping[str, str]
    home: Path
    cwd: Path
    setup: Setup | None = None
    """What of the workspace's configuration is trusted, if there is one."""


async def measured(around: Around, amount: Amount, watch: Watch) -> Results:
    """Measure everything."""
    facts = machine.facts(datetime.datetime.now(datetime.UTC))
    told = _Told(
        watch, steps=sandbox.STEPS + 4 + len(around.setup.servers if around.setup else ())
    )
    figures, missing = await sandbox.measure(amount, told.next)
    with opened_example(around.environ, around.home) as (setup, place):
        own = await servers.measure(setup, place, amount, told.next)
        own.figures += await _start(place, amount, told.next)
        found = own
        if around.setup is not None and around.setup.servers:
            there = Place(
                {**around.environ, "PML_WORKSPACE": str(around.setup.workspace)}, around.cwd
            )
            found = await servers.measure(around.setup, there, amount, told.next)
            place_of_list, subject = there, "configured"
        else:
            place_of_list, subject = place, NAME
            if around.setup is not None:
                found.missing += _unusable(around.setup)
        counted = await _tokens(place, place_of_list, subject, found, told.next)
    both = [own] if found is own else [own, found]
    figures += [figure for one in both for figure in one.figures] + counted
    missing += [reason for one in both for reason in one.missing]
    spread = summary([reference() for _ in range(_REFERENCES)])
    facts |= {"loadAfter": machine.load(), "referenceSpread": spread.p95 / spread.p50}
    return Results(facts, amount.quick, tuple(figures), tuple(missing))


async def _start(place: Place, amount: Amount, watch: Callable[[str], None]) -> list[Figure]:
    watch("servers: start of pml stdio")

    async def once() -> None:
        async with opened_gateway(place) as gateway:
            await gateway.tools()

    # the end, which is in it, takes less than the start's own noise
    samples, beside = [], []
    for _ in range(amount.count(15)):
        samples.append(await elapsed(once))
        beside += [reference() for _ in range(10)]
    return [Subject(servers.SECTION, "pml stdio").time(
        "start", "start, `tools/list`, end", Taken(samples, beside)
    )]  # fmt: skip


async def _tokens(
    example: Place, there: Place, subject: str, found: servers.Found, watch: Callable[[str], None]
) -> list[Figure]:
    watch("tokens: lists of tools")
    async with opened_gateway(there) as gateway:
        counted = tokens.lists(subject, found.listed, await gateway.tools())
    watch("tokens: a task")
    async with opened_gateway(example, [NAME]) as gateway:
        return counted + await tokens.task(gateway)


def _unusable(setup: Setup) -> list[Missing]:
    return [
        Subject(servers.SECTION, name).missing(f"not called: {problem.message}")
        for name, problem in setup.config.unusable.items()
    ]


class _Told:
    """Counts the steps, for whoever watches."""

    def __init__(self, watch: Watch, steps: int) -> None:
        self._watch = watch
        self._steps = steps
        self._done = 0

    def next(self, words: str) -> None:
        self._watch(words, min(self._done / self._steps, 1.0))
        self._done += 1
