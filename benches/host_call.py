"""A call from the guest to the host and back: 1,000 sequential awaits in one program.

One sample is a program's time divided by its calls, so that nothing between the calls is lost.
"""

from benches.harness import Figure, Plan, Samples, Target, expect, timed_async
from benches.ours import add, completed
from sandbox_host import Sandbox

CALLS = 1000
SUM = CALLS * (CALLS + 1) // 2
FIGURES = (Figure("host_call", "host call, round trip", "us", Target(p50=80, aim=50)),)

_PROGRAM = """let total = 0;
for (let i = 0; i < 1000; i++) total += (await mcp.math.add({a: i, b: 1})).sum;
return total"""


async def pml(plan: Plan) -> Samples:
    """Call an async host function that answers at once."""
    async with Sandbox() as sandbox:

        async def once() -> None:
            expect(completed(await sandbox.run(_PROGRAM, host=add)), SUM)

        return {"host_call": per_call(await timed_async(plan.count(50, 10), 2, once))}


def per_call(programs: list[float]) -> list[float]:
    """Give the time of one call for each program."""
    return [seconds / CALLS for seconds in programs]
