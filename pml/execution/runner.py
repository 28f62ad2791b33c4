"""The spine: request -> sandbox -> outcome.

Policy, loader and routing will stand on this path; as long as no servers are configured, every
`mcp.*` call of a program is refused here. Knows no terminal and no wire.
"""

import dataclasses
from typing import Any, Never, cast

from sandbox_host import (
    Call,
    Completed,
    Failed,
    Limits,
    Mount,
    Outcome,
    Sandbox,
    SandboxError,
    ToolError,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What to run, and what it may use."""

    program: str | bytes
    """TypeScript or JavaScript, or the bytes of a WebAssembly module."""

    args: Any = None
    call: str | None = None
    """Of a module, the exported function to call."""

    limits: Limits = dataclasses.field(default_factory=Limits)
    mounts: tuple[Mount, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended."""

    outcome: Completed | Failed
    refused_files: tuple[str, ...] = ()
    """What the program tried to do to protected files."""


async def execute(request: Request) -> Run:
    """Run a program in a fresh sandbox. Whatever stops it is inside the outcome."""
    try:
        async with Sandbox(limits=request.limits, mounts=request.mounts) as sandbox:
            outcome = await _enter(sandbox, request)
            # `_answer` never says SUSPEND, so no run is suspended
            return Run(cast("Completed | Failed", outcome), sandbox.refused_files)
    except SandboxError as error:  # no mount, no guest: it never began
        return Run(Failed(error))


async def _enter(sandbox: Sandbox, request: Request) -> Outcome:
    if isinstance(request.program, bytes):
        return await sandbox.run_wasm(
            request.program, host=_answer, args=request.args, call=request.call
        )
    return await sandbox.run(request.program, host=_answer, args=request.args, call=request.call)


async def _answer(call: Call) -> Never:
    raise NoToolsError(call.tool)


class NoToolsError(ToolError):
    """There is nobody to answer a call."""

    def __init__(self, tool: str) -> None:
        """Name the tool that was asked for."""
        super().__init__(
            f"no servers are configured: `{tool}` cannot be called yet", code="no_tools"
        )
