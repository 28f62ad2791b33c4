"""The sandbox alone, through the face that embedders use."""

import contextlib
import time
from collections.abc import Callable
from typing import Any

import anyio

from pml.measuring.errors import WrongResultError, expect
from pml.measuring.figures import Figure, Missing, Subject, Taken
from pml.measuring.machine import held_bytes
from pml.measuring.timing import Amount, reference, settle, taken
from sandbox_host import SUSPEND, Call, Completed, Outcome, Sandbox, Suspended

SUBJECT = Subject("sandbox", "sandbox")
STEPS = 6
"""Of the progress that is told."""

_CALLS = 200
_CALLING = f"""let total = 0;
for (let i = 0; i < {_CALLS}; i++) total += (await mcp.math.add({{a: i, b: 1}})).sum;
return total"""
_TOGETHER, _WAIT_SECONDS = 20, 0.02
_PARALLEL = f"""const calls = Array.from({{length: {_TOGETHER}}}, (_, i) => mcp.slow.wait({{i}}));
return (await Promise.all(calls)).length"""
_PAUSING = """const rows = Array.from({length: 100}, (_, i) => ({i, name: "row " + i}));
return rows.length + await mcp.human.ask({question: "go on?"})"""
_FIRST, _SANDBOXES = 10, 100  # the first ones pay for what all share

Watch = Callable[[str], None]


async def measure(amount: Amount, watch: Watch) -> tuple[list[Figure], list[Missing]]:
    """Measure; memory first, while no closed sandbox has left any to be used again."""
    watch("sandbox: memory")
    found, missing = await _memory()
    for words, step in (
        ("start", _start),
        ("evaluation", _evaluation),
        ("host calls", _host_call),
        ("parallel calls", _parallel),
        ("snapshot and restore", _snapshot),
    ):
        watch(f"sandbox: {words}")
        found += await step(amount)
    return found, missing


async def _start(amount: Amount) -> list[Figure]:
    async def once() -> None:
        async with Sandbox() as sandbox:
            expect(_value(await sandbox.run("1+1", host=_nobody)), 2)

    times = await taken(once, amount.count(1000), warm_up=20, seconds=amount.seconds)
    return [SUBJECT.time("start", "start, `1+1`, close", times)]


async def _evaluation(amount: Amount) -> list[Figure]:
    async with Sandbox() as sandbox:

        async def once() -> None:
            expect(_value(await sandbox.run("1+1", host=_nobody)), 2)

        times = await taken(once, amount.count(1000), warm_up=20, seconds=amount.seconds)
    return [SUBJECT.time("evaluation", "`1+1` in an open sandbox", times)]


async def _host_call(amount: Amount) -> list[Figure]:
    wanted = _CALLS * (_CALLS + 1) // 2
    async with Sandbox() as sandbox:

        async def once() -> None:
            expect(_value(await sandbox.run(_CALLING, host=_add)), wanted)

        times = await taken(once, amount.count(200), warm_up=2, seconds=amount.seconds)
    each = Taken([seconds / _CALLS for seconds in times.samples], times.reference)
    return [SUBJECT.time("host_call", "host call, round trip", each, unit="us")]


async def _parallel(amount: Amount) -> list[Figure]:
    async with Sandbox() as sandbox:

        async def once() -> None:
            expect(_value(await sandbox.run(_PARALLEL, host=_slow)), _TOGETHER)

        times = await taken(once, amount.count(100), warm_up=1, seconds=amount.seconds)
    over = Taken([seconds - _WAIT_SECONDS for seconds in times.samples], times.reference)
    return [SUBJECT.time("parallel", "20 calls of 20 ms at once, over 20 ms", over)]


async def _snapshot(amount: Amount) -> list[Figure]:
    turns = [await _turn() for _ in range(amount.count(200) + 1)]
    away, back, beside, sizes = zip(*turns[1:], strict=True)  # the first one warms up
    return [
        SUBJECT.time("snapshot", "snapshot of a paused program", Taken(away, beside)),
        SUBJECT.time("restore", "restore, resume, close", Taken(back, beside)),
        SUBJECT.size("snapshot_size", "size of the snapshot", max(sizes), unit="KB"),
    ]


async def _turn() -> tuple[float, float, float, int]:
    data, away = await _put_away()
    return away, await _brought_back(data), reference(), len(data)


async def _put_away() -> tuple[bytes, float]:
    async with Sandbox() as sandbox:
        outcome = await sandbox.run(_PAUSING, host=_suspend)
        if not isinstance(outcome, Suspended):
            raise WrongResultError(outcome, "a program that waits")
        began = time.perf_counter()
        data = sandbox.snapshot()
        return data, time.perf_counter() - began


async def _brought_back(data: bytes) -> float:
    began = time.perf_counter()
    async with Sandbox.restore(data) as sandbox:
        [call] = sandbox.waiting
        outcome = await sandbox.resume({call.id: 40}, host=_nobody)
    seconds = time.perf_counter() - began
    expect(_value(outcome), 140)
    return seconds


async def _memory() -> tuple[list[Figure], list[Missing]]:
    async with contextlib.AsyncExitStack() as stack:
        await _opened(stack, _FIRST)
        settle()
        before = held_bytes()
        await _opened(stack, _SANDBOXES)
        settle()
        after = held_bytes()
    if before is None or after is None:
        return [], [SUBJECT.missing("memory: this system does not tell it")]
    each = (after - before) / _SANDBOXES
    return [SUBJECT.size("memory", "memory of an idle sandbox", each, unit="KB")], []


async def _opened(stack: contextlib.AsyncExitStack, count: int) -> None:
    for _ in range(count):
        sandbox = await stack.enter_async_context(Sandbox())
        expect(_value(await sandbox.run("1+1", host=_nobody)), 2)


def _value(outcome: Outcome) -> Any:
    if not isinstance(outcome, Completed):
        raise WrongResultError(outcome, "a completed program")
    return outcome.value


async def _nobody(call: Call) -> object:
    raise LookupError(call.tool)


async def _add(call: Call) -> dict[str, int]:
    return {"sum": call.args["a"] + call.args["b"]}


async def _slow(call: Call) -> int:
    await anyio.sleep(_WAIT_SECONDS)
    return int(call.args["i"])


async def _suspend(_: Call) -> object:
    return SUSPEND
