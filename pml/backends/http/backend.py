"""A remote MCP server as a backend: the face of the room.

    async with contextlib.AsyncExitStack() as stack:
        github = await stack.enter_async_context(HttpBackend("github", url, headers))
        linear = await stack.enter_async_context(HttpBackend("linear", other, {}))
        result = await github.call_tool("get_issue", {"id": 1}, timeout_seconds=60)

Entering a backend opens nothing but a task group, so any number of them live in one stack, entered
and left by one task; calls, and `aclose`, come from any task. The configuration is checked when it
is built; the libraries for HTTP (0.2 s to import) are loaded by the first call.
"""

import pathlib
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
import anyio.abc

from pml.backends.errors import ServerEndedError
from pml.backends.http.addresses import endpoint_of
from pml.backends.http.answering import Answering
from pml.backends.http.headers import checked_headers
from pml.model import Listing, ServerState, ServerStatus
from pml.ports import Observer, OnProgress, ServerRequests

if TYPE_CHECKING:
    from pml.backends.http.connection import Connection

IDLE_SECONDS = 300.0
"""As long as a local server lives unused."""

START_TIMEOUT_SECONDS = 30.0
"""For connecting and agreeing on a protocol, and for listing tools: a server may have to wake."""


class HttpBackend:
    """The `pml.ports.Backend` of a server that is reached by Streamable HTTP.

    Args:
        name: The server's name in the configuration.
        url: Its endpoint: https, or http on this machine.
        headers: Sent with every request, to this origin alone.
        allowed_hosts: Names that may be at a private address: an intranet's.
        requests: Answers the server's sampling and elicitation, or raises a `PmlError`;
            without it they are refused.
        observer: Hears of its life and its log messages.
        root: The absolute path of the workspace, if the server may know it.
        idle_seconds: After which an unused session is closed.
        start_timeout_seconds: For opening a session, and for listing the tools.
        resolver: Who resolves names instead of the operating system.
        tls: Whom to trust instead of the operating system's authorities; it must verify.
    """

    def __init__(  # noqa: PLR0913 - each is a fact of the configuration, by name
        self,
        name: str,
        url: str,
        headers: Mapping[str, str],
        *,
        allowed_hosts: Collection[str] = (),
        requests: ServerRequests | None = None,
        observer: Observer | None = None,
        root: pathlib.Path | None = None,
        idle_seconds: float = IDLE_SECONDS,
        start_timeout_seconds: float = START_TIMEOUT_SECONDS,
        resolver: Callable[[str, int], Awaitable[Sequence[str]]] | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Check the configuration; raises `RemoteRefusedError`."""
        if tls is not None and not (tls.verify_mode == ssl.CERT_REQUIRED and tls.check_hostname):
            raise ValueError(tls)
        if root is not None and not root.is_absolute():
            raise ValueError(root)
        hosts = {host.lower() for host in allowed_hosts}
        self._name = name
        self._endpoint = endpoint_of(name, url, allowed_hosts=hosts)
        self._headers = checked_headers(name, headers)
        self._answering = Answering(name, requests, root)
        self._observer = observer
        self._idle_seconds = idle_seconds
        self._start_timeout_seconds = start_timeout_seconds
        self._resolver = resolver
        self._tls = tls
        self._tasks: anyio.abc.TaskGroup | None = None
        self._connection: Connection | None = None
        self._closed = False

    @property
    def name(self) -> str:
        """The server's name in the configuration."""
        return self._name

    async def list_tools(self) -> Listing:
        """Give the server's tools; remembered until it says that they changed, or rests."""
        return await self._connected().list_tools()

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:
        """Call a tool; give the `CallToolResult` as it came. `on_progress` must not raise.

        The time is counted from when there is a session, and includes what a human takes to answer
        the server's questions. A call is sent twice in one case only: the server answered 404 to
        our session id, by which the protocol says that it looked at nothing else. A connection
        that broke may have carried the call, so that is the caller's to decide.
        """
        connection = self._connected()
        return await connection.call_tool(tool, arguments, timeout_seconds, on_progress)

    def caution(self, tool: str) -> None:
        """No tool of a server is held to be riskier than another: its annotations are its own."""

    def status(self) -> ServerStatus:
        """Say what is known of it, without connecting."""
        connection = self._connection
        if connection is None:
            return ServerStatus(self._name, "http", ServerState.IDLE, "remote")
        return ServerStatus(
            self._name,
            "http",
            connection.state,
            "remote",
            tools=connection.tools,
            protocol=connection.protocol,
            error=connection.error,
        )

    async def aclose(self) -> None:
        """End the session, and every call under way; takes seconds at most."""
        self._closed = True
        if self._connection is not None:
            await self._connection.aclose()

    async def __aenter__(self) -> Self:
        """Make it ready; nothing is connected."""
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        """Close it, in the task that entered it; what the body raised goes on as it is."""
        with anyio.CancelScope(shield=True):
            await self.aclose()
        if self._tasks is None:
            return None
        # Nothing runs in the group any more. Told of an error, it would wrap it, once per backend.
        if isinstance(error, anyio.get_cancelled_exc_class()):
            return await self._tasks.__aexit__(kind, error, traceback)
        await self._tasks.__aexit__(None, None, None)
        return None

    def _connected(self) -> "Connection":
        if self._tasks is None or self._closed:
            raise ServerEndedError(self._name, "it is not open")
        if self._connection is None:
            from pml.backends.http.connection import (  # noqa: PLC0415 - see the docstring
                Connection,
                Settings,
            )

            settings = Settings(
                self._endpoint,
                self._headers,
                self._answering,
                self._observer,
                self._idle_seconds,
                self._start_timeout_seconds,
                self._resolver,
                self._tls,
            )
            self._connection = Connection(settings, self._tasks)
        return self._connection
