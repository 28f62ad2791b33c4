"""A fresh sandbox, the smallest program, and its end: what every untrusted snippet costs."""

from benches.harness import Figure, Plan, Samples, Target, expect, timed_async
from benches.ours import completed, no_tools
from sandbox_host import Sandbox

FIGURES = (
    Figure("fresh", "fresh sandbox + `1+1` + close", "ms", Target(p50=0.4, p99=1.0, aim=0.25)),
)


async def pml(plan: Plan) -> Samples:
    """Open, run, close."""

    async def once() -> None:
        async with Sandbox() as sandbox:
            expect(completed(await sandbox.run("1+1", host=no_tools)), 2)

    return {"fresh": await timed_async(plan.count(1000), 20, once)}
