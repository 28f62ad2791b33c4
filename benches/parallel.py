"""20 calls of 50 ms at once: what is over 50 ms is the sandbox's."""

import anyio

from benches.harness import Figure, Plan, Samples, Target, expect, timed_async
from benches.ours import completed
from sandbox_host import Call, Sandbox

CALLS = 20
SECONDS = 0.05
FIGURES = (Figure("parallel", "20 calls of 50 ms in `Promise.all`", "ms", Target(p50=80, p99=80)),)

_PROGRAM = """const calls = Array.from({length: 20}, (_, i) => mcp.slow.echo({i}));
return (await Promise.all(calls)).length"""


async def _slow(call: Call) -> int:
    await anyio.sleep(SECONDS)
    return int(call.args["i"])


async def pml(plan: Plan) -> Samples:
    """Let them all wait together."""
    async with Sandbox() as sandbox:

        async def once() -> None:
            expect(completed(await sandbox.run(_PROGRAM, host=_slow)), CALLS)

        return {"parallel": await timed_async(plan.count(20, 5), 1, once)}
