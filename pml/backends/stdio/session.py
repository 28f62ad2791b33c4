"""MCP over one connection: the handshake in either era, listing, calling, answering.

Knows nothing of processes. `initialize` first: every server of 35 tried accepts it; only one that
refuses is asked for `server/discover` (2026-07-28), after which each request carries the envelope
of that era. What a server asks of us goes to the port, which refuses unless someone is there.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pml import __version__
from pml.backends.errors import (
    BackendError,
    CallTimeoutError,
    ServerProtocolError,
    ServerRefusedError,
    ServerStartError,
)
from pml.backends.jsonrpc import METHOD_NOT_FOUND, Connection, Refusal
from pml.backends.listing import listing_of
from pml.model import Listing
from pml.ports import OnProgress, ServerRequests

HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN_VERSION = "2026-07-28"
MOST_PAGES = 100
"""Of a tools/list: a server that gives ever new cursors is cut off here."""

_CLIENT = {"name": "pml", "version": __version__}
_META = "io.modelcontextprotocol/"


class Roles:
    """What we answer a server: its roots, and whatever the port takes on."""

    def __init__(self, server: str, workspace: Path, requests: ServerRequests | None) -> None:
        """Know whom to ask."""
        self._server = server
        self._workspace = workspace
        self._requests = requests

    def capabilities(self) -> dict[str, Any]:
        """Declare only what is answered."""
        if self._requests is None:
            return {"roots": {}}
        return {"roots": {}, "sampling": {}, "elicitation": {}}

    async def answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer one request of the server."""
        if method == "roots/list":
            root = {"uri": self._workspace.as_uri(), "name": self._workspace.name}
            return {"roots": [root]}
        if self._requests is not None and method == "sampling/createMessage":
            return await self._requests.sample(self._server, params)
        if self._requests is not None and method == "elicitation/create":
            return await self._requests.elicit(self._server, params)
        raise Refusal(METHOD_NOT_FOUND, f"{method} is not answered here")


class Session:
    """A server that has shaken hands."""

    def __init__(self, name: str, connection: Connection, protocol: str, *, modern: bool) -> None:
        """Hold a connection after its handshake."""
        self._name = name
        self._connection = connection
        self._modern = modern
        self.protocol = protocol

    @property
    def busy(self) -> bool:
        """Say whether requests are under way."""
        return self._connection.busy

    async def list_tools(self, timeout_seconds: float) -> Listing:
        """Ask for all pages."""
        definitions: list[Any] = []
        params: dict[str, Any] = {}
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            try:
                page = await self._request("tools/list", params, timeout_seconds)
            except ServerRefusedError as error:
                if error.rpc_code == METHOD_NOT_FOUND:
                    return Listing()  # a server of resources or prompts alone
                raise
            tools = page.get("tools")
            if not isinstance(tools, list):
                raise ServerProtocolError(self._name, "a tools/list without tools")
            definitions += tools
            cursor = page.get("nextCursor")
            if not isinstance(cursor, str) or cursor in seen:
                return listing_of(self._name, definitions)
            seen.add(cursor)
            params = {"cursor": cursor}
        raise ServerProtocolError(self._name, f"a tools/list of more than {MOST_PAGES} pages")

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        timeout_seconds: float,
        on_progress: OnProgress | None,
    ) -> Mapping[str, Any]:
        """Call; give the result as it came."""
        params = {"name": tool, "arguments": arguments}
        try:
            result = await self._request("tools/call", params, timeout_seconds, on_progress)
        except CallTimeoutError:
            raise CallTimeoutError(self._name, tool, timeout_seconds) from None
        if result.get("resultType", "complete") != "complete":
            raise ServerRefusedError(self._name, METHOD_NOT_FOUND, "it asks for input in a call")
        return result

    async def _request(
        self,
        method: str,
        params: dict[str, Any],
        timeout_seconds: float,
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:
        if self._modern:
            params = {**params, "_meta": _envelope()}
        return await self._connection.request(
            method, params, timeout_seconds=timeout_seconds, on_progress=on_progress
        )


async def shake_hands(
    name: str, connection: Connection, roles: Roles, timeout_seconds: float
) -> Session:
    """Agree on a protocol version, in the era that the server knows."""
    params = {
        "protocolVersion": HANDSHAKE_VERSIONS[0],
        "capabilities": roles.capabilities(),
        "clientInfo": _CLIENT,
    }
    try:
        answer = await connection.request("initialize", params, timeout_seconds=timeout_seconds)
    except ServerRefusedError as refusal:
        return await _discover(name, connection, timeout_seconds, refusal)
    version = answer.get("protocolVersion")
    if version not in HANDSHAKE_VERSIONS:
        raise ServerStartError(name, f"it speaks protocol version {str(version)[:40]!r} only")
    connection.notify("notifications/initialized")
    return Session(name, connection, str(version), modern=False)


async def _discover(
    name: str, connection: Connection, timeout_seconds: float, refusal: BackendError
) -> Session:
    params = {"_meta": _envelope()}
    try:
        answer = await connection.request(
            "server/discover", params, timeout_seconds=timeout_seconds
        )
    except BackendError:
        raise ServerStartError(name, refusal.message) from None
    versions = answer.get("supportedVersions")
    if not isinstance(versions, list) or MODERN_VERSION not in versions:
        raise ServerStartError(name, f"it does not speak {MODERN_VERSION}")
    return Session(name, connection, MODERN_VERSION, modern=True)


def _envelope() -> dict[str, Any]:
    return {
        f"{_META}protocolVersion": MODERN_VERSION,
        f"{_META}clientInfo": _CLIENT,
        f"{_META}clientCapabilities": {},
    }


Changed = Callable[[], None]
Logged = Callable[[str, str], None]


def notification_handler(changed: Changed, logged: Logged) -> Callable[..., None]:
    """Give the function that takes a server's notifications."""

    def notified(method: str, params: Mapping[str, Any]) -> None:
        if method == "notifications/tools/list_changed":
            changed()
        elif method == "notifications/message":
            level, data = params.get("level"), params.get("data")
            text = data if isinstance(data, str) else str(data)
            logged(level if isinstance(level, str) else "info", text)

    return notified
