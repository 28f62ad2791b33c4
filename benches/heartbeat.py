"""How late an embedder's event loop is while a guest misbehaves.

A task sleeps 1 ms again and again; a sample is the longest time between two of its turns in one
run, that millisecond included. With nothing else going on it says what the machine itself costs.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from benches.harness import Figure, Plan, Samples, Target, WrongResultError, expect, settle
from benches.ours import add, completed, no_tools
from sandbox_host import Failed, Limits, Sandbox

LOOP_SECONDS = 0.3
FLOOD_CALLS = 100_000
FIGURES = (
    Figure("quiet_gap", "longest heartbeat gap, nothing running", "ms"),
    Figure("loop_gap", "longest gap during an endless loop", "ms", Target(most=20)),
    Figure("flood_gap", "longest gap during 100,000 un-awaited calls", "ms", Target(most=20)),
    Figure("flood", "serving the 100,000 calls", "s"),
)

_FLOOD = "for (let i = 0; i < 100000; i++) mcp.math.add({a: i, b: 1}); return 1"


@asynccontextmanager
async def heartbeat() -> AsyncIterator[list[float]]:
    """Give the gaps; the list is filled while the block runs."""
    gaps: list[float] = []

    async def beat() -> None:
        before = time.perf_counter()
        while True:
            await anyio.sleep(0.001)
            now = time.perf_counter()
            gaps.append(now - before)
            before = now

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(beat)
        await anyio.sleep(0.01)
        yield gaps
        await anyio.sleep(0.01)  # a beat that is still late must be seen
        tasks.cancel_scope.cancel()


async def longest_gaps(count: int, work: Callable[[], Awaitable[object]]) -> list[float]:
    """Give the longest gap of each run of `work`."""
    longest = []
    for _ in range(count):
        settle()
        async with heartbeat() as gaps:
            await work()
        longest.append(max(gaps))
    return longest


async def quiet() -> None:
    """Do nothing for as long as a loop would."""
    await anyio.sleep(LOOP_SECONDS)


async def pml(plan: Plan) -> Samples:
    """Misbehave in both ways."""
    floods: list[float] = []

    async def flood() -> None:
        began = time.perf_counter()
        await _flood()
        floods.append(time.perf_counter() - began)

    await _loop()
    samples = {
        "quiet_gap": await longest_gaps(plan.count(10, 2), quiet),
        "loop_gap": await longest_gaps(plan.count(10, 2), _loop),
    }
    if not plan.quick:
        samples |= {"flood_gap": await longest_gaps(2, flood), "flood": floods}
    return samples


async def _loop() -> None:
    async with Sandbox(limits=Limits(cpu_seconds=LOOP_SECONDS)) as sandbox:
        outcome = await sandbox.run("while (true) {}", host=no_tools)
    if not isinstance(outcome, Failed) or outcome.error.code != "cpu_limit":
        raise WrongResultError(outcome)


async def _flood() -> None:
    limits = Limits(calls=2 * FLOOD_CALLS, cpu_seconds=60, memory_bytes=256 << 20)
    async with Sandbox(limits=limits) as sandbox:
        outcome = await sandbox.run(_FLOOD, host=add)
    expect(completed(outcome), 1)
    expect(len(outcome.calls), FLOOD_CALLS)
