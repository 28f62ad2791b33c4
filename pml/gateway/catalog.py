"""The tools of all servers, for discovery and for exposing, without starting what need not start.

A server that runs is asked itself; one whose configuration and program are the ones that were
listed before is answered from the store on disk; any other is started once, and its list kept.
"""

from collections.abc import Mapping, Sequence

import anyio

from pml.backends.errors import ServerStartError
from pml.backends.servers import Servers
from pml.discovery.index import ToolIndex
from pml.discovery.store import ListingStore
from pml.errors import PmlError
from pml.model import Listing, ServerState

_LIST_SECONDS = 20.0
"""For servers that must be started to be listed; the rest is answered without them."""


class Catalog:
    """What can be called through one set of servers."""

    def __init__(
        self, servers: Servers, store: ListingStore, fingerprints: Mapping[str, str]
    ) -> None:
        """Know the servers; `fingerprints` says of each what its list depends on."""
        self.servers = servers
        self.index = ToolIndex()
        self.problems: dict[str, PmlError] = {}
        """Why servers could not be listed."""

        self.version = 0
        """Another number whenever a list has changed."""

        self._store = store
        self._fingerprints = fingerprints
        self._indexed: dict[str, Listing] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The servers."""
        return self.servers.names

    async def refresh(self, names: Sequence[str] | None = None) -> None:
        """Bring the index up to date, starting only what was never listed as it is now."""
        running = {
            status.name for status in self.servers.status()
            if status.state is ServerState.RUNNING
        }  # fmt: skip
        unknown = [
            name for name in (self.names if names is None else names)
            if name in running or (name not in self._indexed and not self._recall(name))
        ]  # fmt: skip
        if unknown:
            await self._ask(unknown)

    def known(self, server: str) -> Listing | None:
        """Give the last list of a server, without asking anybody."""
        if server not in self._indexed:
            self._recall(server)
        return self._indexed.get(server)

    async def check_tool(self, tool_id: str) -> None:
        """Raise `ToolUnknownError` if a server whose list is known has no such tool.

        A list that was kept may be old: before it counts against a tool its server is asked.
        """
        server, _, name = tool_id.partition(":")
        is_listed = any(
            status.name == server and status.tools is not None for status in self.servers.status()
        )
        kept = None if is_listed else self.known(server)
        if is_listed or (kept is not None and name not in {tool.name for tool in kept.tools}):
            await self.servers.tool(tool_id)

    def close(self) -> None:
        """Free the index."""
        self.index.close()

    def _recall(self, server: str) -> bool:
        fingerprint = self._fingerprints.get(server)
        listing = self._store.load(server, fingerprint) if fingerprint else None
        if listing is not None:
            self._take(server, listing)
        return listing is not None

    async def _ask(self, names: Sequence[str]) -> None:
        """Ask all at once; each list counts as soon as it is there, whoever else is silent."""
        silent = set(names)
        with anyio.move_on_after(_LIST_SECONDS) as waiting:
            async with anyio.create_task_group() as tasks:
                for name in names:
                    tasks.start_soon(self._ask_one, name, silent)
        if waiting.cancelled_caught:
            words = f"it has not listed its tools within {_LIST_SECONDS:g} s"
            self.problems |= {name: ServerStartError(name, words) for name in silent}

    async def _ask_one(self, name: str, silent: set[str]) -> None:
        listings, problems = await self.servers.list_all([name])
        silent.discard(name)
        self.problems.pop(name, None)
        self.problems.update(problems)
        listing = listings.get(name)
        if listing is None or self._indexed.get(name) is listing:
            return
        if name in self._fingerprints:
            self._store.save(name, self._fingerprints[name], listing)
        self._take(name, listing)

    def _take(self, server: str, listing: Listing) -> None:
        self._indexed[server] = listing
        self.version += 1
        self.index.update(server, listing.tools)
