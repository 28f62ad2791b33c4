"""1,000 programs in one process: all paused, and all waiting for a slow call."""

import contextlib
import time
from pathlib import Path

import anyio

from benches.harness import Figure, Plan, Samples, Target, WrongResultError, expect
from benches.memory import resident
from benches.ours import completed, no_tools
from sandbox_host import SUSPEND, Call, Sandbox, Suspended

PROGRAMS = 1000
_PROGRAM = "return await mcp.human.ask({number: args.number})"
_THREADS = 999  # fewer than programs; the number itself tells the rest

FIGURES = (
    Figure("paused_1000", "pause 1,000 programs", "s"),
    Figure("resume_1000", "resume and close all of them", "s"),
    Figure("paused_1000_pss", "memory of the 1,000, PSS", "MB"),
    Figure("closed_1000_pss", "left of it after closing all, PSS", "MB"),
    Figure("paused_1000_threads", "threads while paused", "threads", Target(most=_THREADS)),
    Figure("flight_1000", "1,000 programs awaiting a 500 ms call", "s"),
    Figure("flight_1000_threads", "threads while they wait", "threads", Target(most=_THREADS)),
)


def threads() -> int:
    """Give this process's number of threads."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("Threads:")[2].split()[0])


async def _suspend(_: Call) -> object:
    return SUSPEND


async def pml(plan: Plan) -> Samples:
    """Pause and resume 1,000; then, unless in a hurry, let 1,000 wait at once."""
    samples = await _paused()
    return samples if plan.quick else samples | await _in_flight()


async def _paused() -> Samples:
    before, _ = resident()
    sandboxes: list[tuple[Sandbox, Suspended]] = []
    async with contextlib.AsyncExitStack() as stack:
        began = time.perf_counter()
        for number in range(PROGRAMS):
            sandbox = await stack.enter_async_context(Sandbox())
            outcome = await sandbox.run(_PROGRAM, host=_suspend, args={"number": number})
            if not isinstance(outcome, Suspended):
                raise WrongResultError(outcome, "a suspended program")
            sandboxes.append((sandbox, outcome))
        paused = time.perf_counter() - began
        held, threaded = resident()[0] - before, threads()
        began = time.perf_counter()
        for number, (sandbox, outcome) in enumerate(sandboxes):
            resumed = await sandbox.resume({outcome.calls[0].id: number}, host=no_tools)
            expect(completed(resumed), number)
    resumed_all = time.perf_counter() - began
    return {
        "paused_1000": [paused],
        "resume_1000": [resumed_all],
        "closed_1000_pss": [float(resident()[0] - before)],
        "paused_1000_pss": [float(held)],
        "paused_1000_threads": [float(threaded)],
    }


async def _in_flight() -> Samples:
    most = 0

    async def slow(call: Call) -> object:
        nonlocal most
        most = max(most, threads()) if call.args["number"] % 50 == 0 else most
        await anyio.sleep(0.5)
        return call.args["number"]

    async def one(number: int) -> None:
        async with Sandbox() as sandbox:
            outcome = await sandbox.run(_PROGRAM, host=slow, args={"number": number})
        expect(completed(outcome), number)

    began = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for number in range(PROGRAMS):
            tasks.start_soon(one, number)
    return {
        "flight_1000": [time.perf_counter() - began],
        "flight_1000_threads": [float(most)],
    }
