"""All configured servers behind one face: find the backend, check the tool, call, convert.

Knows backends only as the port. One server that cannot be used says so when it is used, and never
stands in the way of another.
"""

import difflib
import fnmatch
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from pml.backends.errors import ServerUnknownError, ToolUnknownError
from pml.backends.results import value_of
from pml.errors import PmlError
from pml.model import Listing, ServerState, ServerStatus, Tool
from pml.ports import Backend, OnProgress


class UnusableBackend:
    """A server whose configuration does not allow to start it: it says why, when it is used."""

    def __init__(self, name: str, problem: PmlError) -> None:
        """Keep the problem."""
        self.name = name
        self.problem = problem

    async def list_tools(self) -> Listing:
        """Raise the problem."""
        raise self.problem

    async def call_tool(
        self,
        tool: str,  # noqa: ARG002 - the port's
        arguments: Mapping[str, Any],  # noqa: ARG002
        *,
        timeout_seconds: float,  # noqa: ARG002
        on_progress: OnProgress | None = None,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        """Raise the problem."""
        raise self.problem

    def caution(self, tool: str) -> None:
        """Nothing can be called, so nothing is asked about."""

    def status(self) -> ServerStatus:
        """Tell the problem."""
        return ServerStatus(
            self.name, "none", ServerState.FAILED, "none", error=self.problem.message
        )

    async def aclose(self) -> None:
        """Nothing was opened."""


class Servers:
    """The backends of one workspace."""

    def __init__(self, backends: Sequence[Backend], *, call_timeout_seconds: float) -> None:
        """Hold backends that someone else opens and closes."""
        self._backends = {backend.name: backend for backend in backends}
        self._call_timeout_seconds = call_timeout_seconds

    def add(self, backend: Backend) -> None:
        """Take one more, that someone else closes; a name that is there stays what it is."""
        self._backends.setdefault(backend.name, backend)

    @property
    def names(self) -> tuple[str, ...]:
        """The configured servers, in their order."""
        return tuple(self._backends)

    def status(self) -> tuple[ServerStatus, ...]:
        """Say what is known of each, without starting any."""
        return tuple(backend.status() for backend in self._backends.values())

    def check(self, tool_id: str) -> None:
        """Raise if the server is not configured or cannot be used; starts nothing."""
        backend = self._backends.get(tool_id.partition(":")[0])
        if backend is None:
            raise ServerUnknownError(tool_id.partition(":")[0], self.names)
        if isinstance(backend, UnusableBackend):
            raise backend.problem

    def caution(self, tool_id: str) -> str | None:
        """Say why a tool is asked about although a pattern allows it, if so."""
        server, _, name = tool_id.partition(":")
        backend = self._backends.get(server)
        return None if backend is None else backend.caution(name)

    async def tool(self, tool_id: str) -> Tool:
        """Find a tool by its id; starts its server if need be."""
        server, _, name = tool_id.partition(":")
        backend = self._backends.get(server)
        if backend is None:
            raise ServerUnknownError(server, self.names)
        listing = await backend.list_tools()
        for tool in listing.tools:
            if tool.name == name:
                return tool
        near = difflib.get_close_matches(name, [tool.name for tool in listing.tools], n=3)
        raise ToolUnknownError(tool_id, [f"{server}:{one}" for one in near])

    async def call(
        self,
        tool_id: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Any:
        """Call a tool and give the value that a program sees."""
        result = await self.call_raw(
            tool_id, arguments, timeout_seconds=timeout_seconds, on_progress=on_progress
        )
        return value_of(tool_id, result)

    async def call_raw(
        self,
        tool_id: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:
        """Call a tool and give its result as it came."""
        tool = await self.tool(tool_id)
        return await self._backends[tool.server].call_tool(
            tool.name,
            arguments,
            timeout_seconds=timeout_seconds or self._call_timeout_seconds,
            on_progress=on_progress,
        )

    async def list_all(
        self, names: Sequence[str] | None = None
    ) -> tuple[dict[str, Listing], dict[str, PmlError]]:
        """Ask servers for their tools, all at once; give listings, and why others have none."""
        listings: dict[str, Listing] = {}
        problems: dict[str, PmlError] = {}

        async def ask(backend: Backend) -> None:
            try:
                listings[backend.name] = await backend.list_tools()
            except PmlError as problem:
                problems[backend.name] = problem

        async with anyio.create_task_group() as tasks:
            for name, backend in self._backends.items():
                if names is None or name in names:
                    tasks.start_soon(ask, backend)
        order = [name for name in self._backends if name in listings]
        return {name: listings[name] for name in order}, problems


def matches(pattern: str, tool_id: str) -> bool:
    """Say whether a tool id fits `server`, `server:tool` or a glob of either."""
    server, _, name = tool_id.partition(":")
    wanted_server, colon, wanted_name = pattern.partition(":")
    if not fnmatch.fnmatchcase(server, wanted_server):
        return not colon and fnmatch.fnmatchcase(name, pattern)
    return not colon or fnmatch.fnmatchcase(name, wanted_name or "*")
