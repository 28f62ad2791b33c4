"""What can go wrong between us and a server, one class per situation a caller can act on.

    BackendError (PmlError)
    ├── ServerUnknownError         server_unknown: no such server is configured
    ├── ToolUnknownError           tool_unknown: the server does not list such a tool
    ├── ServerStartError           server_start_failed: it could not be started or did not answer
    ├── ServerEndedError           server_ended: it went away with the call under way
    ├── ServerGivenUpError         server_given_up: it crashed too often
    ├── CallTimeoutError           call_timeout
    ├── ServerRefusedError         server_refused: it answered with a JSON-RPC error
    ├── ServerProtocolError        server_protocol: it does not keep to the protocol
    ├── ArgumentsUnfitError        arguments_unfit: they are not what the tool takes
    ├── ToolTwiceError             tool_twice: two capabilities offer it, and nobody may choose
    └── RemoteRefusedError         remote_refused: an address that must not be spoken to

Words of a server are untrusted: capped, control characters escaped.
"""

from collections.abc import Callable, Sequence
from typing import Any

from pml.errors import PmlError
from sandbox_host.errors import printable

_WORDS = 2000  # characters of a server's own words in a message
_LINES = 20  # of its stderr


class BackendError(PmlError):
    """A server could not do what it was asked."""

    code = "backend"

    data: Any = None
    """What the server said about it, for the program."""


class ServerUnknownError(BackendError):
    """No such server is configured."""

    code = "server_unknown"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        """Name it, and those that there are."""
        have = ", ".join(known) if known else "none"
        super().__init__(
            f"no server `{printable(name, 100)}` is configured",
            hint=f"configured in `.pml.json`: {have}",
        )
        self._name = name
        self._known = tuple(known)

    def among(self, is_visible: Callable[[str], bool]) -> "ServerUnknownError":
        """Give the same, naming only servers of which something may be seen."""
        known = [name for name in self._known if is_visible(f"{name}:*")]
        return ServerUnknownError(self._name, known)


class ToolUnknownError(BackendError):
    """The server has no such tool."""

    code = "tool_unknown"

    def __init__(self, tool: str, near: Sequence[str]) -> None:
        """Name it, and those that look like it."""
        super().__init__(
            f"there is no tool `{printable(tool, 200)}`",
            hint=f"did you mean {', '.join(near)}?" if near else "pml tools lists what there is",
        )
        self._tool = tool
        self._near = tuple(near)

    def among(self, is_visible: Callable[[str], bool]) -> "ToolUnknownError":
        """Give the same, naming only tools that may be seen."""
        return ToolUnknownError(self._tool, list(filter(is_visible, self._near)))


class ServerStartError(BackendError):
    """It could not be started, or did not answer `initialize`."""

    code = "server_start_failed"

    def __init__(self, name: str, reason: str, stderr: Sequence[str] = ()) -> None:
        """Name the reason, and what it last wrote to stderr."""
        super().__init__(f"server `{name}` did not start: {reason}{_last_words(stderr)}")


class ServerEndedError(BackendError):
    """It went away while a call was under way."""

    code = "server_ended"

    def __init__(self, name: str, reason: str, stderr: Sequence[str] = ()) -> None:
        """Name the reason, and what it last wrote to stderr."""
        super().__init__(f"server `{name}` ended: {reason}{_last_words(stderr)}")


class ServerGivenUpError(BackendError):
    """It crashed too often to be started again."""

    code = "server_given_up"

    def __init__(self, name: str, crashes: int, last: str) -> None:
        """Name how often, and the last time."""
        super().__init__(
            f"server `{name}` crashed {crashes} times and is not started again; last: {last}",
            hint="repair it, then start pml again",
        )


class CallTimeoutError(BackendError):
    """It did not answer in time."""

    code = "call_timeout"

    def __init__(self, name: str, what: str, seconds: float) -> None:
        """Name what was asked and the bound."""
        super().__init__(
            f"server `{name}` did not answer `{printable(what, 100)}` within {seconds:g} s",
            hint="allow more with `limits.callTimeoutSeconds` in `.pml.json`",
        )


class ServerRefusedError(BackendError):
    """It answered with a JSON-RPC error."""

    code = "server_refused"

    def __init__(self, name: str, rpc_code: int, message: str, data: Any = None) -> None:
        """Keep its own code and data."""
        super().__init__(f"server `{name}`: {printable(message, _WORDS)} ({rpc_code})")
        self.rpc_code = rpc_code
        self.data = data


class ServerProtocolError(BackendError):
    """It does not keep to the protocol."""

    code = "server_protocol"

    def __init__(self, name: str, what: str) -> None:
        """Name what it did."""
        super().__init__(f"server `{name}` does not keep to the protocol: {what}")
        self.what = what


class ArgumentsUnfitError(BackendError):
    """A capability was called with what it does not take; it did not run."""

    code = "arguments_unfit"

    def __init__(self, tool: str, wrong: str) -> None:
        """Name the tool and the first thing that is wrong."""
        super().__init__(f"invalid arguments for `{tool}`: {wrong}")


class ToolTwiceError(BackendError):
    """Two capabilities offer the same tool."""

    code = "tool_twice"

    def __init__(self, tool: str, owners: Sequence[str]) -> None:
        """Name all that offer it."""
        super().__init__(
            f"`{tool}` is offered by {', '.join(owners)}: none of them is used",
            hint="remove all but one",
        )


class RemoteRefusedError(BackendError):
    """An address that must not be spoken to."""

    code = "remote_refused"

    def __init__(self, name: str, what: str, hint: str | None = None) -> None:
        """Name the address and why."""
        super().__init__(f"server `{name}` is not spoken to: {what}", hint=hint)
        self.what = what


def _last_words(stderr: Sequence[str]) -> str:
    lines = [printable(line, 500) for line in stderr[-_LINES:]]
    return "".join(f"\n  stderr: {line}" for line in lines)
