"""From cancelling an endless loop to its end."""

import time

import anyio

from benches.harness import Figure, Plan, Samples, Target
from benches.ours import no_tools
from sandbox_host import Limits, Sandbox

FIGURES = (Figure("cancel", "cancel an endless loop", "ms", Target(most=50)),)


async def pml(plan: Plan) -> Samples:
    """Cancel in the middle, a little later each time so as not to fall in step with the ticks."""
    limits = Limits(cpu_seconds=60)
    samples = []
    for number in range(plan.count(50, 10)):
        cancelled = 0.0
        async with Sandbox(limits=limits) as sandbox, anyio.create_task_group() as tasks:
            tasks.start_soon(_loop, sandbox)
            await anyio.sleep(0.02 + number % 7 * 0.0003)
            cancelled = time.perf_counter()
            tasks.cancel_scope.cancel()
        samples.append(time.perf_counter() - cancelled)
    return {"cancel": samples}


async def _loop(sandbox: Sandbox) -> None:
    await sandbox.run("while (true) {}", host=no_tools)
