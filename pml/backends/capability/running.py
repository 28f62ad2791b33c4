"""One call of a capability: verified code in a fresh sandbox, its value or its error out.

It sees no file and no network: all it can do is call tools, through the host function that it is
given. Takes `VerifiedCode` and nothing else.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from pml.backends.errors import CallTimeoutError
from pml.loader.verified import VerifiedCode
from sandbox_host import (
    Completed,
    Failed,
    Host,
    LimitExceeded,
    Limits,
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
class CapabilityCall:
    """What is called, and with what."""

    code: VerifiedCode
    tool: str
    """The tool's own name: the function that is called."""

    arguments: Mapping[str, Any]
    timeout_seconds: float

    @property
    def id(self) -> str:
        """Give the tool's id."""
        return f"{self.code.fqdn.namespace}:{self.tool}"


async def run_capability(call: CapabilityCall, host: Host) -> Any:
    """Run the code and give its value; raises `ToolError`, `CallTimeoutError`."""
    limits = Limits(
        cpu_seconds=min(MOST_CPU_SECONDS, call.timeout_seconds), wall_seconds=call.timeout_seconds
    )
    try:
        async with Sandbox(limits=limits) as sandbox:
            outcome = await sandbox.run(
                call.code.source,
                host=host,
                args=dict(call.arguments),
                call=entry_of(call.code.source, call.tool),
            )
    except SandboxError as error:
        raise _failure(call, error) from None
    match outcome:
        case Completed(value=value):
            return value
        case Failed(error=reason):
            raise _failure(call, reason)
    raise ToolError(f"`{call.id}` did not end", code="cannot_suspend")  # noqa: TRY003 - to a guest


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


def result_of(value: Any) -> Mapping[str, Any]:
    """Give a value as a server would: text, and what is an object as `structuredContent` too."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    return {**result, "structuredContent": value} if isinstance(value, dict) else result


def error_result(error: ToolError) -> Mapping[str, Any]:
    """Give an error as a server would."""
    return {"isError": True, "content": [{"type": "text", "text": error.message[:_WORDS]}]}


def _failure(call: CapabilityCall, error: SandboxError) -> ToolError | CallTimeoutError:
    """Say what went wrong in it; if a call of its own was refused, with the code of that."""
    if isinstance(error, LimitExceeded) and error.code == "wall_limit":
        return CallTimeoutError(call.code.fqdn.namespace, call.tool, call.timeout_seconds)
    code = error.tool_code if isinstance(error, UncaughtToolError) else error.code
    place = f" (line {error.line})" if error.line else ""
    return ToolError(f"in `{call.id}`{place}: {error.message}"[:_WORDS], code=code or "tool_error")
