"""The smallest program in a sandbox that is already there."""

from benches.harness import Figure, Plan, Samples, expect, timed_async
from benches.ours import completed, no_tools
from sandbox_host import Sandbox

FIGURES = (Figure("warm", "`1+1` in an open sandbox", "ms"),)


async def pml(plan: Plan) -> Samples:
    """Run in the same sandbox."""
    async with Sandbox() as sandbox:

        async def once() -> None:
            expect(completed(await sandbox.run("1+1", host=no_tools)), 2)

        return {"warm": await timed_async(plan.count(1000), 20, once)}
