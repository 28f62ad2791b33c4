"""What is published, as an index of tools and as a routing table; rebuilt when that changes.

What publishers wrote is untrusted, and leaves by way of `discovery`, or as JSON.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import anyio
import anyio.to_thread

from pml.cloud.records import Offer
from pml.cloud.store import Registry
from pml.discovery import ToolIndex
from pml.loader.publishing import BUILTIN
from pml.model import Tool
from pml.routing import Routing, RoutingTable
from pml.routing.resolver import EMBEDDED

FQDN, ROUTING, ENV = "pml/fqdn", "pml/routing", "pml/envRequired"
"""What a tool's `_meta` says of it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """What there is, at one generation."""

    generation: int
    index: ToolIndex
    table: RoutingTable


class Directory:
    """Gives the contents of now."""

    def __init__(
        self, registry: Registry, builtin: tuple[Tool, ...], threads: anyio.CapacityLimiter
    ) -> None:
        """Ask this registry, from these threads."""
        self._registry = registry
        self._builtin = builtin
        self._threads = threads
        self._lock = anyio.Lock()
        self._contents: Contents | None = None

    async def now(self) -> Contents:
        """Give them; reads the registry only if something was published."""
        async with self._lock:
            kept = self._contents
            generation = await anyio.to_thread.run_sync(
                self._registry.generation, limiter=self._threads
            )
            if kept is None or kept.generation != generation:
                made = await anyio.to_thread.run_sync(
                    self._read, generation, limiter=self._threads
                )
                if kept is not None:
                    kept.index.close()  # whoever had it used it before the next await
                self._contents = kept = made
            return kept

    def _read(self, generation: int) -> Contents:
        tools = {BUILTIN: list(self._builtin)}
        served = [tool.id for tool in self._builtin]
        for offer in self._registry.offers():
            found = list(_tools(offer))
            tools.setdefault(offer.fqdn.namespace, []).extend(found)
            if offer.metadata["routing"] == Routing.SERVER:
                served += [tool.id for tool in found]
        index = ToolIndex()
        for namespace, listed in tools.items():
            index.update(namespace, listed)
        server = (*EMBEDDED.server, *served)
        table = dataclasses.replace(EMBEDDED, server=server, version=str(generation))
        return Contents(generation, index, table)


def _tools(offer: Offer) -> Iterator[Tool]:
    said = {one["name"]: one for one in offer.metadata.get("definitions", ())}
    env = offer.metadata.get("envRequired", [])
    facts = {FQDN: str(offer.fqdn), ROUTING: offer.metadata["routing"], ENV: env}
    for tool_id in offer.tools:
        server, _, name = tool_id.partition(":")
        definition = {**_definition(offer, name, said.get(name)), "_meta": facts}
        yield Tool(server, name, definition)


def _definition(offer: Offer, name: str, said: Mapping[str, Any] | None) -> dict[str, Any]:
    if said is not None:
        return dict(said)
    schema = offer.metadata.get("parametersSchema") or {"type": "object"}
    description = offer.metadata.get("description", "")
    return {"name": name, "description": description, "inputSchema": schema}
