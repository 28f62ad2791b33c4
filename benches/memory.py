"""What a sandbox costs in memory while it waits: idle after a program, and paused inside one.

PSS and USS, not RSS: the guests' initial memory is one copy-on-write image, whose untouched pages
RSS counts once for every sandbox. PSS shares a page among its users, USS leaves shared pages out.
"""

import contextlib
import gc
from collections.abc import Iterable
from pathlib import Path

from benches.harness import Figure, Plan, Samples, Target, WrongResultError, expect
from benches.ours import completed, no_tools
from sandbox_host import SUSPEND, Call, Sandbox, Suspended

SANDBOXES = 200
FIGURES = (
    Figure("idle_pss", "idle sandbox, PSS", "KB", Target(p50=512)),
    Figure("idle_uss", "idle sandbox, USS", "KB"),
    Figure("paused_pss", "paused sandbox, PSS", "KB"),
    Figure("paused_uss", "paused sandbox, USS", "KB"),
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


async def pml(_: Plan) -> Samples:
    """Open many; let the first ones pay for what all share."""
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(10):
            await _idle(stack)
        before = resident()
        for _ in range(SANDBOXES):
            await _idle(stack)
        samples = each("idle", before, resident())
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(10):
            await _paused(stack)
        before = resident()
        for _ in range(SANDBOXES):
            await _paused(stack)
        return samples | each("paused", before, resident())


async def _idle(stack: contextlib.AsyncExitStack) -> None:
    sandbox = await stack.enter_async_context(Sandbox())
    expect(completed(await sandbox.run("1+1", host=no_tools)), 2)


async def _paused(stack: contextlib.AsyncExitStack) -> None:
    sandbox = await stack.enter_async_context(Sandbox())
    outcome = await sandbox.run("return await mcp.human.ask({question: 'go on?'})", host=_suspend)
    if not isinstance(outcome, Suspended):
        raise WrongResultError(outcome, "a suspended program")
