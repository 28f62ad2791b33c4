"""What policy, approvals and audit add to a host call: the same program, bare and gated.

Both are measured in one process, in turns, so that a noisy minute meets both.
"""

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benches.harness import Figure, Plan, Samples, Target, expect, settle
from benches.host_call import SUM
from benches.ours import completed
from pml.audit import Audit
from pml.config import Permissions
from pml.execution.gate import Gate
from pml.execution.rights import Rights
from pml.policy import decide
from sandbox_host import Call, Host, Limits, Sandbox

KIND = "gate"
CALLS = 1000
FIGURES = (
    Figure("gate", "policy and audit, on top of a host call", "us", Target(p50=150)),
    Figure("gate_bare", "the host call without them", "us"),
)
_PROGRAM = """let total = 0;
for (let i = 0; i < 1000; i++) total += (await mcp.math.add({a: i, b: 1})).sum;
return total"""


class _Adder:
    def check(self, _: str) -> None:
        """It is there."""

    def caution(self, _: str) -> None:
        """It is harmless."""

    async def call_raw(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"content": [], "structuredContent": await self.call(tool, arguments)}

    async def call(self, _: str, arguments: Mapping[str, Any]) -> Any:
        return {"sum": arguments["a"] + arguments["b"]}


async def _bare(call: Call) -> Any:
    return {"sum": call.args["a"] + call.args["b"]}


async def _once(host: Host) -> float:
    async with Sandbox(limits=Limits(cpu_seconds=60)) as sandbox:
        began = time.perf_counter()
        expect(completed(await sandbox.run(_PROGRAM, host=host)), SUM)
        return (time.perf_counter() - began) / CALLS


async def pml(plan: Plan) -> Samples:
    """Allowed by a glob among other rules; each call with its lines in the audit."""
    permissions = Permissions(
        allow=("math:a*", "files"), ask=("git:*",), deny=tuple(f"never{n}:*" for n in range(20))
    )
    with tempfile.TemporaryDirectory() as folder:
        audit = Audit(Path(folder) / "audit")
        rights = Rights(_Adder(), lambda tool: decide(tool, permissions), audit, _forget)
        samples: Samples = {"gate": [], "gate_bare": []}
        await _once(_bare)
        settle()
        for number in range(plan.count(20, 3)):
            bare = await _once(_bare)
            gated = await _once(Gate(rights, f"run{number}").answer)
            samples["gate_bare"].append(bare)
            samples["gate"].append(gated - bare)
        audit.close()
    return samples


def _forget(tool: str) -> None:
    """Nothing is remembered here."""
