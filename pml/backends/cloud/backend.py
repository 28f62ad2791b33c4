"""One namespace of a cloud's tools, behind the port of all backends.

The cloud says what its tools need; that is its word, so it gets a key only if the user lets it.
"""

from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, TypeVar

import anyio

from pml.backends.cloud.connection import Cloud
from pml.backends.cloud.errors import CloudKeyMissingError
from pml.backends.errors import BackendError, ServerProtocolError, ToolUnknownError
from pml.backends.listing import listing_of
from pml.model import Listing, ServerState, ServerStatus
from pml.ports import OnProgress
from pml.routing import Routing

Result = TypeVar("Result")

LIST_SECONDS = 10.0
_MOST_NEEDS = 20  # keys that one tool may need


class CloudBackend:
    """Answers the calls to one namespace, at the cloud."""

    def __init__(self, name: str, cloud: Cloud) -> None:
        """Speak through a cloud that somebody else opens and closes."""
        self.name = name
        self._cloud = cloud
        self._listing: Listing | None = None
        self._needs: dict[str, tuple[str, ...]] = {}
        self._error: str | None = None
        self._lock = anyio.Lock()

    async def list_tools(self) -> Listing:
        """Give the namespace's tools that run there; remembered as long as this lives."""
        async with self._lock:
            if self._listing is None:
                self._listing = await self._listed()
            return self._listing

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,  # noqa: ARG002 - a cloud tells of none
    ) -> Mapping[str, Any]:
        """Call a tool there, with the keys it needs; raises `BackendError`."""
        listing = await self.list_tools()
        if all(one.name != tool for one in listing.tools):
            raise ToolUnknownError(f"{self.name}:{tool}", [])
        return await self._kept_error(
            self._cloud.call(
                f"{self.name}:{tool}",
                arguments,
                needs=self._needs.get(tool, ()),
                timeout_seconds=timeout_seconds,
            )
        )

    def needs(self, tool: str) -> tuple[str, ...]:
        """Name the keys that a listed tool needs."""
        return self._needs.get(tool, ())

    def caution(self, tool: str) -> None:
        """No tool there is held to be riskier than another."""

    def status(self) -> ServerStatus:
        """Say what is known of it, without connecting."""
        error = self._error if self._cloud.has_key else CloudKeyMissingError().message
        state = ServerState.FAILED if error else ServerState.IDLE
        tools = len(self._listing.tools) if self._listing else None
        return ServerStatus(self.name, "cloud", state, "remote", tools=tools, error=error)

    async def aclose(self) -> None:
        """Nothing is open that is not the cloud's."""

    async def _listed(self) -> Listing:
        found = await self._kept_error(
            self._cloud.facts("search", {"server": self.name}, timeout_seconds=LIST_SECONDS)
        )
        tools = found.get("tools")
        if not isinstance(tools, list):
            raise ServerProtocolError("cloud", "its answer to `search` has no tools")
        here = [one for one in tools if _is_served(one, self.name)]
        self._needs = {_name(one): _needs(one) for one in here}
        return listing_of(self.name, [{**one, "name": _name(one)} for one in here])

    async def _kept_error(self, answer: Awaitable[Result]) -> Result:
        """Wait for an answer; remember why there was none."""
        try:
            result = await answer
        except BackendError as error:
            self._error = error.message
            raise
        self._error = None
        return result


def cloud_backends(cloud: Cloud, namespaces: Iterable[str]) -> list[CloudBackend]:
    """Give a backend for each namespace; none of them is asked yet."""
    return [CloudBackend(name, cloud) for name in namespaces]


def _is_served(tool: Any, namespace: str) -> bool:
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("id"), str)
        and tool["id"].partition(":")[0] == namespace
        and tool.get("routing") == Routing.SERVER
    )


def _name(tool: Mapping[str, Any]) -> str:
    return str(tool["id"]).partition(":")[2]


def _needs(tool: Mapping[str, Any]) -> tuple[str, ...]:
    named = tool.get("envRequired")
    if not isinstance(named, list):
        return ()
    return tuple(name for name in named[:_MOST_NEEDS] if isinstance(name, str))
