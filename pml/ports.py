"""Protocols through which a lower room calls a higher one, and behind which backends stand.

The runner knows backends only as `Backend`; a backend knows the human and the client only as
`ServerRequests` and `Observer`. Wired in `assembly.py`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pml.model import Listing, Need, Progress, ServerStatus
from sandbox_host import Call, Host

OnProgress = Callable[[Progress], None]
"""Must not raise and not wait."""


class Backend(Protocol):
    """Who answers the calls to one server. Started on first use, closed by whoever made it."""

    @property
    def name(self) -> str:
        """The server's name in the configuration."""

    async def list_tools(self) -> Listing:
        """Give the server's tools; starts it if need be. Remembered until it changes them."""

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:
        """Call a tool by the server's own name; give the `CallToolResult` as it came.

        Raises `pml.backends.errors.BackendError`. Cancelling cancels the call at the server.
        """

    def caution(self, tool: str) -> str | None:
        """Say why a tool is asked about although a pattern allows it; mostly there is no reason.

        A rule that names the tool exactly means it, and is not asked about.
        """

    def status(self) -> ServerStatus:
        """Say what is known of it, without starting it."""

    async def aclose(self) -> None:
        """Stop the server and all that it started; more than once does nothing."""


class ServerRequests(Protocol):
    """Who answers what a server asks of its client. Refusing is the default.

    May raise `PmlError` and nothing else.
    """

    async def sample(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer `sampling/createMessage`."""

    async def elicit(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer `elicitation/create`."""


class Observer(Protocol):
    """Who hears what servers do and say; it must not raise and not wait."""

    def started(self, server: str, record: Mapping[str, Any]) -> None:
        """A server was started: with which sandbox, enforcing what."""

    def ready(self, server: str) -> None:
        """A server that was started has answered."""

    def logged(self, server: str, level: str, text: str) -> None:
        """A server sent a log message; the text is untrusted."""

    def stopped(self, server: str, reason: str) -> None:
        """A server ended."""


class ToolCaller(Protocol):
    """Who carries out calls by tool id, whatever the server is."""

    def check(self, tool_id: str) -> None:
        """Raise if the server is not configured or cannot be used; starts nothing."""

    def caution(self, tool_id: str) -> str | None:
        """Say why a tool is asked about although a pattern allows it, if so."""

    async def call(self, tool_id: str, arguments: Mapping[str, Any]) -> Any:
        """Give the value that a program sees; raises `PmlError` or `sandbox_host.ToolError`."""

    async def call_raw(self, tool_id: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give the `CallToolResult` as it came, `isError` or not; raises `PmlError`."""


class Provisions(Protocol):
    """Who knows what is missing before a tool can be called, and brings it after a yes."""

    async def need(self, tool_id: str, *, starting: bool = True) -> Need | None:
        """Say what is missing now; None if nothing is. Changes nothing.

        `starting`: a server may be started to find out.
        """

    async def provide(
        self, tool_id: str, token: str, on_progress: OnProgress | None = None
    ) -> None:
        """Bring what the token names, or raise `PmlError`; what is there already is fine."""


@dataclasses.dataclass(frozen=True, slots=True)
class Paused:
    """A tool that is a program, at rest: it waits for the human's word about calls of its own."""

    snapshot: bytes = dataclasses.field(repr=False)
    calls: tuple[Call, ...]


class Composer(Protocol):
    """Who carries out tools that are programs themselves: `host` answers their own calls."""

    def composes(self, tool_id: str) -> bool:
        """Say whether a tool is such a program."""

    async def call(
        self, tool_id: str, arguments: Mapping[str, Any], host: Host, *, depth: int
    ) -> Any:
        """Give the value that a program sees, or `Paused`.

        `depth` is how many such programs the call is within. Raises `PmlError` or
        `sandbox_host.ToolError`.
        """

    async def resume(
        self, tool_id: str, paused: Paused, answers: Mapping[int, Any], host: Host, *, depth: int
    ) -> Any:
        """Go on with a paused one, with answers to calls of its own; as `call`."""


class Recorder(Protocol):
    """Who writes down what happens; a line that cannot be written raises, and stops the call."""

    def write(self, event: str, facts: Mapping[str, Any]) -> None:
        """Write a line."""

    def note(self, event: str, facts: Mapping[str, Any]) -> None:
        """Write a line about what has happened already: never raises, kept until it is written."""
