"""A server whose tools are what they were: shown as they are pinned, and called only as such.

Stands before a backend, for everyone: discovery, exposed tools, plans and calls see the same. What
changed is asked about above, before a call; a call that comes all the same is refused here.
"""

from collections.abc import Mapping
from typing import Any

from pml.loader.pins import Change, Look, ServerPins, ToolChangedError
from pml.model import Listing, ServerStatus
from pml.ports import Backend, OnProgress


class PinnedBackend:
    """Implements `Backend` over another."""

    def __init__(self, backend: Backend, pins: ServerPins) -> None:
        """Hold what the backend lists against these pins; whoever made it closes it through us."""
        self._backend = backend
        self._pins = pins
        self._look: Look | None = None

    @property
    def name(self) -> str:
        """The server's name in the configuration."""
        return self._backend.name

    async def list_tools(self) -> Listing:
        """Give the tools, none with a word that is not pinned; starts the server if need be."""
        return (await self._looked()).shown

    async def change(self, tool: str) -> Change | None:
        """Say what of a tool is not what is pinned; None if nothing is, or there is no such tool.

        Starts the server if need be: only its own list says what it is now.
        """
        return (await self._looked()).changes.get(tool)

    def accept(self, change: Change) -> None:
        """Pin what a human said yes to."""
        self._pins.accept(change)

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:
        """Call a tool that is as it was pinned; raises `ToolChangedError` for any other."""
        if await self.change(tool) is not None:
            raise ToolChangedError(f"{self.name}:{tool}")
        return await self._backend.call_tool(
            tool, arguments, timeout_seconds=timeout_seconds, on_progress=on_progress
        )

    def caution(self, tool: str) -> str | None:
        """As the backend says."""
        return self._backend.caution(tool)

    def status(self) -> ServerStatus:
        """As the backend says."""
        return self._backend.status()

    async def aclose(self) -> None:
        """Close the backend."""
        await self._backend.aclose()

    async def _looked(self) -> Look:
        """Give the list of now; the file is looked at only while something in it is other."""
        listing = await self._backend.list_tools()
        look = self._look
        if look is None or look.listing is not listing or self._is_old(look):
            look = self._look = self._pins.look(listing)
        return look

    def _is_old(self, look: Look) -> bool:
        return bool(look.changes) and not self._pins.is_current(look)
