"""One call of a capability: verified code in a fresh sandbox, its value or its error out.

It sees no file and no network: all it can do is call tools, through the host function that it is
given. If that answers one with SUSPEND, the call is paused. Takes `VerifiedCode` and nothing else.
"""

import contextlib
import dataclasses
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pml.backends.errors import CallTimeoutError
from pml.loader.verified import VerifiedCode
from pml.ports import Paused
from sandbox_host import (
    Completed,
    Failed,
    Host,
    LimitExceeded,
    Limits,
    Outcome,
    Sandbox,
    SandboxError,
    ToolError,
    UncaughtToolError,
)

MOST_CPU_SECONDS = 5.0
"""Of one call, what its own calls compute not counted."""

_WORDS = 4000  # characters of an error
_MOST_ENTRY = 32  # characters of a function's name that the guest takes


@dataclasses.dataclass(frozen=True, slots=True)
class ResumedCall:
    """What was called: its code runs already."""

    namespace: str
    tool: str
    """The tool's own name: the function that is called."""

    timeout_seconds: float

    @property
    def id(self) -> str:
        """Give the tool's id."""
        return f"{self.namespace}:{self.tool}"


@dataclasses.dataclass(frozen=True, slots=True)
class CapabilityCall(ResumedCall):
    """What is called, and with what."""

    code: VerifiedCode
    arguments: Mapping[str, Any]


async def run_capability(call: CapabilityCall, host: Host) -> Any:
    """Run the code and give its value, or `Paused`; raises `ToolError`, `CallTimeoutError`."""
    async with _opened(call, Sandbox(limits=_limits(call.timeout_seconds))) as sandbox:
        outcome = await sandbox.run(
            call.code.source,
            host=host,
            args=dict(call.arguments),
            call=entry_of(call.code.source, call.tool),
        )
        return _ended(call, sandbox, outcome)


async def resume_capability(
    call: ResumedCall, paused: Paused, answers: Mapping[int, Any], host: Host
) -> Any:
    """Go on with a paused one; as `run_capability`."""
    limits = _limits(call.timeout_seconds)
    async with _opened(call, Sandbox.restore(paused.snapshot, limits=limits)) as sandbox:
        return _ended(call, sandbox, await sandbox.resume(answers, host=host))


def _limits(seconds: float) -> Limits:
    return Limits(cpu_seconds=min(MOST_CPU_SECONDS, seconds), wall_seconds=seconds)


@contextlib.asynccontextmanager
async def _opened(call: ResumedCall, sandbox: Sandbox) -> AsyncIterator[Sandbox]:
    try:
        async with sandbox:
            yield sandbox
    except SandboxError as error:
        raise _failure(call, error) from None


def _ended(call: ResumedCall, sandbox: Sandbox, outcome: Outcome) -> Any:
    match outcome:
        case Completed(value=value):
            return value
        case Failed(error=reason):
            raise _failure(call, reason)
    return Paused(sandbox.snapshot(), sandbox.waiting)


def entry_of(source: str, tool: str) -> str | None:
    """Give the exported function to call; None where the code is one function, or no module.

    A look at the text, which need not be right: code that misleads it fails, and runs no worse.
    """
    if len(tool) > _MOST_ENTRY:
        return None
    for name in (tool, "callTool"):
        exported = (
            rf"^\s*export\s+(?:async\s+)?function\s*\*?\s*{re.escape(name)}\b"
            rf"|^\s*export\s+(?:const|let|var)\s+{re.escape(name)}\b"
            rf"|^\s*export\s*\{{[^}}]*\b{re.escape(name)}\b"
        )
        if re.search(exported, source, re.MULTILINE):
            return tool
    return None


def _failure(call: ResumedCall, error: SandboxError) -> ToolError | CallTimeoutError:
    """Say what went wrong in it; if a call of its own was refused, with the code of that."""
    if isinstance(error, LimitExceeded) and error.code == "wall_limit":
        return CallTimeoutError(call.namespace, call.tool, call.timeout_seconds)
    code = error.tool_code if isinstance(error, UncaughtToolError) else error.code
    place = f" (line {error.line})" if error.line else ""
    return ToolError(f"in `{call.id}`{place}: {error.message}"[:_WORDS], code=code or "tool_error")
