"""Everything that can go wrong in a sandbox, one class per situation a caller can act on.

SandboxError
├── ProgramError            the program's own doing; inside `Failed`
│   ├── SyntaxFailure           syntax_error
│   ├── UncaughtError           uncaught_error
│   ├── UncaughtToolError       tool_error
│   ├── ResultNotJson           result_not_json
│   └── NothingToWaitFor        deadlock
├── LimitExceeded           cpu_limit, wall_limit, memory_limit, ... ; inside `Failed`
├── GuestCrashed            guest_crashed: a trap that is no limit; inside `Failed`
├── GuestProtocolError      guest_protocol: the guest broke the ABI; inside `Failed`
├── CannotSuspend           cannot_suspend: a raw module cannot be paused; inside `Failed`
├── InvalidArguments        invalid_arguments: `args` have no JSON form; raised
├── SandboxBusy             busy: one program at a time; raised
├── SandboxClosed           closed; raised
├── NotSuspended            not_suspended: nothing to snapshot or resume; raised
├── AnswersMismatch         answers_mismatch; raised by `resume`
├── SnapshotInvalid         snapshot_invalid; raised by `restore`
├── SnapshotForeign         snapshot_foreign: of another guest build; raised by `restore`
├── MountInvalid            mount_invalid; raised
├── GuestMissing            guest_missing: the package was not built; raised
├── ModuleInvalid           module_invalid: no usable raw module; inside `Failed`
└── WasmtimeRefused         wasmtime_refused: a version with known escapes; raised
ToolError                   not an error of ours: what a host function raises to reject a call
"""

from collections.abc import Iterable

_SHOWN_CHARACTERS = 2000  # of a message that a guest wrote
_REASON_CHARACTERS = 200  # of what a snapshot says, in the words that refuse it


def printable(text: str, limit: int = _SHOWN_CHARACTERS) -> str:
    """Show untrusted text: capped, control and bidi characters escaped, line breaks kept."""
    shown = "".join(
        character if character.isprintable() or character == "\n" else _escaped(character)
        for character in text[:limit]
    )
    return shown if len(text) <= limit else f"{shown}… ({len(text) - limit} more characters)"


def _escaped(character: str) -> str:
    return "  " if character == "\t" else f"\\u{{{ord(character):x}}}"


class SandboxError(Exception):
    """Base: a stable `code`, a `message` that states the fact, perhaps a `hint` and a place."""

    code = "sandbox_error"

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        line: int | None = None,
        column: int | None = None,
        source_line: str | None = None,
    ) -> None:
        """Keep the facts; the message alone is what `str()` shows."""
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = line
        self.column = column
        self.source_line = source_line


class ProgramError(SandboxError):
    """The program ended by its own doing."""

    code = "program_error"


class SyntaxFailure(ProgramError):
    """The source is neither a function body nor a module."""

    code = "syntax_error"


class UncaughtError(ProgramError):
    """The program threw and nothing caught it."""

    code = "uncaught_error"

    def __init__(
        self, name: str, message: str, *, line: int | None = None, column: int | None = None,
        source_line: str | None = None, stack: str = "",
    ) -> None:  # fmt: skip
        """Show name and message as JavaScript does."""
        shown = f"{name}: {message}" if message else name
        super().__init__(shown, line=line, column=column, source_line=source_line)
        self.name = name
        self.stack = stack


class UncaughtToolError(UncaughtError):
    """A tool answered with an error and the program did not catch it."""

    code = "tool_error"
    tool: str = ""
    tool_code: str = ""


class ResultNotJson(ProgramError):
    """The program's value has no JSON form."""

    code = "result_not_json"

    def __init__(self, reason: str) -> None:
        """Name the reason that JSON.stringify gave."""
        super().__init__(
            f"the program's value cannot become JSON: {reason}",
            hint="return plain data: objects, arrays, strings, numbers, booleans, null",
        )


class NothingToWaitFor(ProgramError):
    """The program awaits a promise that nothing will settle."""

    code = "deadlock"

    def __init__(self) -> None:
        """State the situation."""
        super().__init__(
            "the program waits for a promise that nothing will settle",
            hint="every `await` must end: with a call, a timer or a value",
        )


class LimitExceeded(SandboxError):
    """A budget of `Limits` was used up. `code` is the limit's name."""

    def __init__(self, code: str, message: str, *, hint: str | None = None) -> None:
        """Name the limit."""
        super().__init__(message, hint=hint)
        self.code = code


class GuestCrashed(SandboxError):
    """The guest ended in a trap that is none of the limits."""

    code = "guest_crashed"

    def __init__(self, reason: str) -> None:
        """Name the trap."""
        super().__init__(f"the guest crashed: {reason}")


class GuestProtocolError(SandboxError):
    """The guest left something that the ABI does not allow."""

    code = "guest_protocol"

    def __init__(self, what: str) -> None:
        """Name the breach."""
        super().__init__(f"the guest broke the protocol: {what}")


class CannotSuspend(SandboxError):
    """This kind of guest keeps its stack while it waits, so it cannot be paused."""

    code = "cannot_suspend"

    def __init__(self, tool: str) -> None:
        """Name the call that would have to wait."""
        super().__init__(
            f"`{tool}` must wait, and a raw WebAssembly module cannot be suspended",
            hint="allow the tool beforehand, or write the program in TypeScript",
        )


class InvalidArguments(SandboxError):
    """The embedder's `args` are not JSON."""

    code = "invalid_arguments"

    def __init__(self, reason: str) -> None:
        """Name the reason."""
        super().__init__(f"args must be JSON data: {reason}")


class SandboxBusy(SandboxError):
    """A sandbox runs one program at a time."""

    code = "busy"

    def __init__(self) -> None:
        """Say what to do instead."""
        super().__init__(
            "this sandbox is running or suspended", hint="open a second Sandbox, they are cheap"
        )


class SandboxClosed(SandboxError):
    """The sandbox was closed, or never opened."""

    code = "closed"

    def __init__(self) -> None:
        """Say how to use it."""
        super().__init__("this sandbox is not open", hint="use it inside `async with Sandbox()`")


class NotSuspended(SandboxError):
    """There is no suspended program here."""

    code = "not_suspended"

    def __init__(self) -> None:
        """State the fact."""
        super().__init__("this sandbox holds no suspended program")


class AnswersMismatch(SandboxError):
    """`resume` was given answers to calls that are not waiting, or none at all."""

    code = "answers_mismatch"

    def __init__(self, given: Iterable[int], waiting: Iterable[int]) -> None:
        """Name both sets."""
        super().__init__(f"answers for calls {sorted(given)}, but {sorted(waiting)} are waiting")


class SnapshotInvalid(SandboxError):
    """The bytes are no snapshot, or a damaged one."""

    code = "snapshot_invalid"

    def __init__(self, reason: str) -> None:
        """Name the reason."""
        super().__init__(f"not a usable snapshot: {printable(reason, _REASON_CHARACTERS)}")


class SnapshotForeign(SandboxError):
    """The snapshot was taken from another guest build or with other mounts."""

    code = "snapshot_foreign"

    def __init__(self, what: str, theirs: str, ours: str) -> None:
        """Name what differs."""
        shown = printable(theirs, _REASON_CHARACTERS)
        super().__init__(
            f"the snapshot was taken with {what} {shown}, this is {ours}",
            hint="resume it with the version of the package that made it, and the same mounts",
        )


class MountInvalid(SandboxError):
    """A folder that cannot be mounted."""

    code = "mount_invalid"

    def __init__(self, path: str, reason: str) -> None:
        """Name folder and reason."""
        super().__init__(f"cannot mount {path}: {reason}")


class GuestMissing(SandboxError):
    """The built guest is not in the package."""

    code = "guest_missing"

    def __init__(self, what: str) -> None:
        """Name the file."""
        super().__init__(
            f"the guest is not built: {what}", hint="install the package with `pip install .`"
        )


class ModuleInvalid(SandboxError):
    """The bytes are no WebAssembly module that this sandbox can run."""

    code = "module_invalid"

    def __init__(self, reason: str) -> None:
        """Name the reason."""
        super().__init__(f"not a usable WebAssembly module: {reason}")


class WasmtimeRefused(SandboxError):
    """This wasmtime has known ways out of the sandbox, or interfaces we have not seen."""

    code = "wasmtime_refused"

    def __init__(self, version: str, reason: str) -> None:
        """Name version and reason."""
        super().__init__(
            f"wasmtime {version} is refused: {reason}",
            hint="install a version that is known: pip install 'wasmtime>=50.0.1,<51'",
        )


class ToolError(Exception):
    """Raise this in a host function to reject a call with a code and data of your choice."""

    def __init__(self, message: str, *, code: str = "tool_error", data: object = None) -> None:
        """Keep what the program will see on its `McpError`."""
        super().__init__(message)
        self.message = message
        self.code = code
        self.data = data
