"""What is offered by name beside our own tools: found, looked up, and noticed when it changes.

Computed from the lists of servers and the rules, anew only when one of them has changed.
"""

import difflib
from collections.abc import Sequence

from pml.gateway.bench import Bench
from pml.gateway.errors import UnknownToolError
from pml.gateway.exposing import Exposed, exposed, exposed_servers, wire_name
from pml.gateway.transport import Told
from pml.policy import visible

_CODE_PREFIX = "mcp."


class Offer:
    """The exposed tools of one client."""

    def __init__(self, patterns: tuple[str, ...], told: Told) -> None:
        """Add these patterns to those of the configuration; `told` hears of what is refused."""
        self._own = patterns
        self._told = told
        self._found: tuple[object, int, tuple[str, ...], Exposed] | None = None
        self._listed: Exposed | None = None

    async def listed(self, bench: Bench) -> Exposed:
        """Give all that is exposed, as the client is told of it now."""
        self._listed = await self._asked(bench)
        return self._listed

    def has_changed(self, bench: Bench) -> bool:
        """Say, once for each change, whether the client was told of something else."""
        before, now = self._listed, self._known(bench)
        if before is None or before is now:
            return False
        self._listed = now
        return before.tools != now.tools

    async def tool(self, bench: Bench, name: str, own: Sequence[str]) -> str:
        """Give the id of a tool by any of its names; `own` are those that it may stand for."""
        wanted = wire_name(_as_id(name)) if ":" in name or name.startswith(_CODE_PREFIX) else name
        found = self._known(bench)
        if wanted not in found.tools:
            found = await self._asked(bench)
        for refused in found.refused:
            if refused.name == wanted:
                raise refused
        if wanted not in found.tools:
            names = (*own, *found.tools)
            raise UnknownToolError(name, difflib.get_close_matches(name[:100], names, n=3))
        return found.tools[wanted].id

    async def _asked(self, bench: Bench) -> Exposed:
        """Give what is exposed, asking servers that were never listed."""
        patterns = self._patterns(bench)
        if patterns:
            await bench.catalog.refresh(exposed_servers(patterns, bench.catalog.names))
        return self._known(bench)

    def _known(self, bench: Bench) -> Exposed:
        """Give what is exposed, as far as lists are known."""
        patterns, catalog = self._patterns(bench), bench.catalog
        kept, rules = self._found, bench.config.permissions
        if kept is not None and kept[0] is rules and kept[1:3] == (catalog.version, patterns):
            return kept[3]
        servers = exposed_servers(patterns, catalog.names)
        listings = [one for one in map(catalog.known, servers) if one is not None]
        tools = [tool for listing in listings for tool in listing.tools]
        found = exposed(visible(tools, rules), patterns)
        for refused in found.refused:
            self._told(f"{refused.message}; {refused.hint}")
        self._found = rules, catalog.version, patterns, found
        return found

    def _patterns(self, bench: Bench) -> tuple[str, ...]:
        return (*bench.config.expose, *self._own)


def _as_id(name: str) -> str:
    """Give `server:tool` for `mcp.server.tool`."""
    if not name.startswith(_CODE_PREFIX):
        return name
    server, _, tool = name.removeprefix(_CODE_PREFIX).partition(".")
    return f"{server}:{tool}"
