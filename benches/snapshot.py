"""A program paused at a call: put it away as bytes, and bring it back to its end."""

import time

from benches.harness import Figure, Plan, Samples, WrongResultError, expect, settle
from benches.ours import completed, no_tools
from sandbox_host import SUSPEND, Call, Sandbox, Suspended

FIGURES = (
    Figure("snapshot", "snapshot of a paused program", "ms"),
    Figure("restore", "restore, resume, close", "ms"),
    Figure("snapshot_bytes", "size of the snapshot", "KB"),
)

_PROGRAM = """const before = await mcp.math.one({});
const rows = Array.from({length: 100}, (_, i) => ({i, name: "row " + i}));
const [now, later] = await Promise.all([mcp.math.one({}), mcp.human.ask({question: "go on?"})]);
return before + now + later + rows.length"""
_VALUE = 1 + 1 + 40 + 100
_WARM_UP = 3


async def _ask(call: Call) -> object:
    return SUSPEND if call.tool == "human:ask" else 1


async def pml(plan: Plan) -> Samples:
    """Pause inside `Promise.all` with the other call already answered."""
    samples: Samples = {"snapshot": [], "restore": [], "snapshot_bytes": []}
    for number in range(_WARM_UP + plan.count(200)):
        if number == _WARM_UP:
            settle()
            samples = {name: [] for name in samples}
        await _once(samples)
    return samples


async def _once(samples: Samples) -> None:
    async with Sandbox() as sandbox:
        outcome = await sandbox.run(_PROGRAM, host=_ask)
        if not isinstance(outcome, Suspended):
            raise WrongResultError(outcome, "a suspended program")
        began = time.perf_counter()
        data = sandbox.snapshot()
        samples["snapshot"].append(time.perf_counter() - began)
        samples["snapshot_bytes"].append(len(data))
    began = time.perf_counter()
    async with Sandbox.restore(data) as sandbox:
        resumed = await sandbox.resume({outcome.calls[0].id: 40}, host=no_tools)
    samples["restore"].append(time.perf_counter() - began)
    expect(completed(resumed), _VALUE)
