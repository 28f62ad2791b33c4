"""What a sandbox costs in memory while it waits: idle after a program, and paused inside one.

PSS and USS, not RSS: the guests' initial memory is one copy-on-write image, whose untouched pages
RSS counts once for every sandbox. PSS shares a page among its users, USS leaves shared pages out.

Memory of closed sandboxes may be kept for the next ones, so each kind is measured in a process of
its own, and what is left after closing, and what the next ones then hold, are figures too.
"""

import contextlib
import gc
import multiprocessing
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

import anyio

from benches.harness import Figure, Plan, Samples, Target, WrongResultError, expect
from benches.ours import completed, no_tools
from sandbox_host import SUSPEND, Call, Sandbox, Suspended

SANDBOXES = 200
FIGURES = (
    Figure("idle_pss", "idle sandbox, PSS", "KB", Target(p50=512)),
    Figure("idle_uss", "idle sandbox, USS", "KB"),
    Figure("paused_pss", "paused sandbox, PSS", "KB"),
    Figure("paused_uss", "paused sandbox, USS", "KB"),
    Figure("closed_pss", "left by each closed sandbox, PSS", "KB"),
    Figure("reopened_pss", "idle sandbox after as many were closed, PSS", "KB", Target(p50=512)),
)


def resident(processes: Iterable[int | str] = ("self",)) -> tuple[int, int]:
    """Give PSS and USS of processes in bytes."""
    gc.collect()
    pss = uss = 0
    for process in processes:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
        facts = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}
        pss += facts["Pss"]
        uss += facts["Private_Clean"] + facts["Private_Dirty"]
    return pss, uss


def each(
    kind: str, before: tuple[int, int], after: tuple[int, int], count: int = SANDBOXES
) -> Samples:
    """Give what one of `count` sandboxes added."""
    return {
        f"{kind}_pss": [(after[0] - before[0]) / count],
        f"{kind}_uss": [(after[1] - before[1]) / count],
    }


async def _suspend(_: Call) -> object:
    return SUSPEND


def pml(_: Plan) -> Samples:
    """Measure each kind in a fresh process."""
    context = multiprocessing.get_context("spawn")
    samples: Samples = {}
    for kind in (_measure_idle, _measure_paused):
        with context.Pool(1) as pool:
            samples |= pool.apply(anyio.run, (kind,))
    return samples


async def _measure_idle() -> Samples:
    async with contextlib.AsyncExitStack() as first:
        before = await _base(first, _idle)
        async with contextlib.AsyncExitStack() as stack:
            samples = each("idle", before, await _many(stack, _idle))
        closed = resident()
        async with contextlib.AsyncExitStack() as stack:
            reopened = await _many(stack, _idle)
    return samples | {
        "closed_pss": each("closed", before, closed)["closed_pss"],
        "reopened_pss": each("reopened", before, reopened)["reopened_pss"],
    }


async def _measure_paused() -> Samples:
    async with contextlib.AsyncExitStack() as stack:
        before = await _base(stack, _paused)
        return each("paused", before, await _many(stack, _paused))


_Open = Callable[[contextlib.AsyncExitStack], Awaitable[None]]


async def _base(stack: contextlib.AsyncExitStack, open_one: _Open) -> tuple[int, int]:
    """Let the first ones pay for what all share."""
    for _ in range(10):
        await open_one(stack)
    return resident()


async def _many(stack: contextlib.AsyncExitStack, open_one: _Open) -> tuple[int, int]:
    for _ in range(SANDBOXES):
        await open_one(stack)
    return resident()


async def _idle(stack: contextlib.AsyncExitStack) -> None:
    sandbox = await stack.enter_async_context(Sandbox())
    expect(completed(await sandbox.run("1+1", host=no_tools)), 2)


async def _paused(stack: contextlib.AsyncExitStack) -> None:
    sandbox = await stack.enter_async_context(Sandbox())
    outcome = await sandbox.run("return await mcp.human.ask({question: 'go on?'})", host=_suspend)
    if not isinstance(outcome, Suspended):
        raise WrongResultError(outcome, "a suspended program")
