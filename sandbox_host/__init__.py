"""Untrusted TypeScript and JavaScript in a WebAssembly guest; its only exit is your function.

    async with Sandbox() as sandbox:
        outcome = await sandbox.run("return (await mcp.math.add({a: 1, b: 2})).sum", host=host)

Depends on wasmtime, anyio and blake3 only; knows nothing of MCP, of networks or of policy.
"""

from sandbox_host.errors import (
    AnswersMismatch,
    CannotSuspend,
    GuestCrashed,
    GuestMissing,
    GuestProtocolError,
    InvalidArguments,
    LimitExceeded,
    ModuleInvalid,
    MountInvalid,
    NothingToWaitFor,
    NotSuspended,
    ProgramError,
    ResultNotJson,
    SandboxBusy,
    SandboxClosed,
    SandboxError,
    SnapshotForeign,
    SnapshotInvalid,
    SyntaxFailure,
    ToolError,
    UncaughtError,
    UncaughtToolError,
    WasmtimeRefused,
)
from sandbox_host.limits import Limits
from sandbox_host.mounts import Mount
from sandbox_host.outcome import (
    SUSPEND,
    Call,
    CallRecord,
    Completed,
    Failed,
    Host,
    Log,
    Outcome,
    Suspended,
)
from sandbox_host.sandbox import Sandbox

__all__ = [
    "SUSPEND",
    "AnswersMismatch",
    "Call",
    "CallRecord",
    "CannotSuspend",
    "Completed",
    "Failed",
    "GuestCrashed",
    "GuestMissing",
    "GuestProtocolError",
    "Host",
    "InvalidArguments",
    "LimitExceeded",
    "Limits",
    "Log",
    "ModuleInvalid",
    "Mount",
    "MountInvalid",
    "NotSuspended",
    "NothingToWaitFor",
    "Outcome",
    "ProgramError",
    "ResultNotJson",
    "Sandbox",
    "SandboxBusy",
    "SandboxClosed",
    "SandboxError",
    "SnapshotForeign",
    "SnapshotInvalid",
    "Suspended",
    "SyntaxFailure",
    "ToolError",
    "UncaughtError",
    "UncaughtToolError",
    "WasmtimeRefused",
]
