"""The spine: sandboxes, servers, tokens, in one run with the machine's load around it."""

import dataclasses
import datetime
from collections.abc import Callable, Mapping
from pathlib import Path

from pml.assembly import Setup
from pml.measuring import machine, sandbox, servers, tokens
from pml.measuring.example import NAME, opened_example
from pml.measuring.figures import Figure, Results, Subject, Taken
from pml.measuring.gateway import Place, opened_gateway
from pml.measuring.statistics import summary
from pml.measuring.timing import Amount, elapsed, reference

_REFERENCES = 50
"""Before each step, to see how much the same work differs over the whole run."""

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
    configured = around.setup.servers if around.setup else ()
    told = _Told(watch, steps=sandbox.STEPS + 4 + len(configured))
    figures, missing = await sandbox.measure(amount, told.next)
    with opened_example(around.environ, around.home) as (setup, place):
        found = await servers.measure(setup, place, amount, told.next)
        figures += found.figures + await _start(place, amount, told.next)
        missing += found.missing
        there, subject = place, NAME
        if around.setup is not None:
            own = {**around.environ, "PML_WORKSPACE": str(around.setup.workspace)}
            yours = Place(own, around.cwd)
            theirs = await servers.measure(around.setup, yours, amount, told.next)
            figures += theirs.figures
            missing += theirs.missing
            if theirs.listed:
                found, there, subject = theirs, yours, "configured"
        figures += await _tokens(place, there, subject, found, told.next)
    spread = summary(told.references)
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


class _Told:
    """Counts the steps, for whoever watches, and takes the reference between them."""

    def __init__(self, watch: Watch, steps: int) -> None:
        self._watch = watch
        self._steps = steps
        self._done = 0
        self.references: list[float] = []

    def next(self, words: str) -> None:
        self._watch(words, min(self._done / self._steps, 1.0))
        self._done += 1
        self.references += [reference() for _ in range(_REFERENCES)]
