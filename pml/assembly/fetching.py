"""What a call lacks that a registry has: a package of a server, or the server or code itself.

    package   a locked server, or one that a capability needs, is not installed as it is described
    name      nobody here has what the program names, and a registry has it

A yes is for exactly what was shown: who describes it, the hash, the package in its version, the
program's arguments and the keys that it is given. Part of `provisions`.
"""

import dataclasses
from typing import Any

from pml.assembly.lookups import Lookups
from pml.assembly.packages import Promise, install, installer_of
from pml.assembly.registry import RegistryServers
from pml.assembly.servers import Opened
from pml.assembly.setup import Setup
from pml.loader.capabilities import Found
from pml.loader.errors import RegistryRoutingError
from pml.loader.installer import InstallQuestion, Package, question_of
from pml.loader.metadata import McpType, Metadata
from pml.loader.served import Served, packed_name, served_by
from pml.model import Need
from pml.ports import OnProgress
from pml.routing import Routing


@dataclasses.dataclass(frozen=True, slots=True)
class _Missing:
    """What would be brought, and the question about it."""

    need: Need
    served: Served | None = None
    package: Package | None = None
    found: Found | None = None
    """What would be locked, if it is not yet."""


class RegistryNeeds:
    """The `Part` for servers and names of registries."""

    def __init__(self, setup: Setup, opened: Opened, registry: RegistryServers) -> None:
        """Look nothing up yet."""
        self._setup = setup
        self._opened = opened
        self._registry = registry
        self._lookups = Lookups(registry.access, setup.config.permissions)
        self._resolved: dict[Served, Package] = {}

    async def need(self, tool_id: str) -> Need | None:
        """Say what is lacking."""
        missing = await self._missing(tool_id)
        return None if missing is None else missing.need

    async def provide(self, tool_id: str, token: str, on_progress: OnProgress) -> None:
        """Install the package, lock the name: in this order, so that what fails leaves nothing."""
        missing = await self._missing(tool_id)
        if missing is None or missing.need.token != token:
            return
        served, package, found = missing.served, missing.package, missing.found
        if served is not None and package is not None:
            question = question_of(served.name, served.wanted, package)
            promise = Promise(served.integrity, served.terms)
            redactor = self._opened.redactor
            await install(self._setup, question, redactor, on_progress, promise)
        if found is not None:
            name = None if package is None else packed_name(package)
            self._registry.access.loader.lock(found, name)
            self._lookups.forget(tool_id)
            self._registry.take(found.metadata, served, self._opened.capabilities)

    async def _missing(self, tool_id: str) -> _Missing | None:
        name = tool_id.partition(":")[0]
        served = self._registry.known(name)
        if served is not None:
            return await self._of_server(served)
        composer = self._opened.capabilities
        needs = await composer.needs(tool_id) if composer is not None else None
        if needs is not None:
            return await self._of_dependencies(needs.metadata)
        is_capability = composer is not None and composer.composes(tool_id)
        if name in self._opened.servers.names and not is_capability:
            return None
        found = await self._lookups.find(tool_id, servers=not is_capability)
        return None if found is None else await self._of_name(found)

    async def _of_dependencies(self, capability: Metadata) -> _Missing | None:
        if not capability.mcp_deps:
            return None
        for one in served_by(capability):
            served = self._registry.adopt(one)
            missing = await self._of_server(served) if served is not None else None
            if missing is not None:
                return missing
        return None

    async def _of_name(self, found: Found) -> _Missing:
        metadata = found.metadata
        if found.changed is not None:
            raise found.changed.error()
        if metadata.type is McpType.DENO:
            if metadata.routing is not Routing.CLIENT:
                raise RegistryRoutingError(str(metadata.fqdn))
            return _Missing(_code_need(found), found=found)
        (served,) = served_by(metadata)
        entry = self._registry.access.locking.store.load().entry(metadata.fqdn)
        pinned = served.pinned(entry.package if entry is not None else None)
        missing = await self._of_server(pinned, found)
        assert missing is not None  # noqa: S101 - it is not locked, so something is missing
        return missing

    async def _of_server(self, served: Served, found: Found | None = None) -> _Missing | None:
        keys = self._registry.keys.missing(served.variables)
        if keys:
            words = f"{served.name} requires {', '.join(keys)}"
            where = f"{words}: set it in {self._registry.keys.place}"
            return _Missing(Need("keys", where, facts={"missingKeys": list(keys)}))
        if found is None and self._registry.approved(served) is not None:
            return None
        package = served.wanted.exact or self._resolved.get(served)
        if package is None:
            package = await installer_of(self._setup).resolve(served.wanted)
            self._resolved[served] = package
        question = question_of(served.name, served.wanted, package)
        registry = found.kept.registry if found is not None else None
        return _Missing(_package_need(served, question, registry), served, package, found)


def _package_need(served: Served, question: InstallQuestion, registry: str | None) -> Need:
    package = packed_name(question.package)
    facts: dict[str, Any] = {
        **question.facts(),
        "fqdn": str(served.source),
        "integrity": served.integrity,
        "arguments": list(served.wanted.args),
        "keys": list(served.variables),
        **({"url": registry} if registry else {}),
    }
    details = [package, *details_of(served, registry), *(one.words for one in question.doubts)]
    token = f"{served.source} {package} {served.terms}"
    return Need("install", question.words, token, {**facts, "details": details})


def _code_need(found: Found) -> Need:
    metadata, registry = found.metadata, found.kept.registry
    calls = ", ".join(metadata.tools_used) or "what it calls is decided when it calls"
    details = [f"{metadata.integrity} at {registry}", f"it calls: {calls}"]
    facts = {"fqdn": str(metadata.fqdn), "integrity": metadata.integrity, "url": registry}
    words = f"Add {metadata.fqdn} from {registry}?"
    token = f"{metadata.fqdn} {metadata.integrity}"
    return Need("install", words, token, {**facts, "details": details})


def details_of(served: Served, registry: str | None = None) -> list[str]:
    """Say in lines what a yes is for beside the package: who says so, its arguments and keys."""
    where = f" at {registry}" if registry else ""
    lines = [f"promised as {served.integrity} by {served.source}{where}"]
    if served.wanted.args:
        lines.append(f"started with {' '.join(served.wanted.args)}")
    if served.variables:
        lines.append(f"given your {', '.join(served.variables)}")
    return lines
