"""The servers of a workspace that registries describe: locked, or needed by what is locked.

They are started as configured servers are, with no grants and no variables but the keys that they
require, and only from a package that the human said yes to: this one, as promised, with these
arguments and keys. A name that is taken by the configuration, a built-in or a capability stays
what it is, with a note. Above: `servers`. Below: `pml.loader`, which describes them.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator

from pml.assembly.confining import confined
from pml.assembly.handing import HandedKeys
from pml.assembly.locking import Locking
from pml.assembly.making import Making
from pml.assembly.packages import record_of, verified_start
from pml.assembly.setup import Setup
from pml.backends.capability import Capabilities
from pml.backends.servers import Servers, UnusableBackend
from pml.config import StdioServerConfig
from pml.confinement import Confined
from pml.errors import PmlError
from pml.loader.capabilities import CapabilityLoader
from pml.loader.errors import KeysMissingError, ServerTwiceError
from pml.loader.installer import Approved, NotInstalledError, Record
from pml.loader.lockfile import Lockfile
from pml.loader.metadata import McpType, Metadata
from pml.loader.served import Served, served_by
from pml.ports import Backend
from pml.routing import Routing


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """The lockfile of a workspace that can be used, and who asks its registries."""

    locking: Locking
    loader: CapabilityLoader


class RegistryServers:
    """Gives their backends, also of those that come while a run is under way."""

    def __init__(
        self, making: Making, access: Access, keys: HandedKeys, taken: Collection[str]
    ) -> None:
        """Read what is locked; start nothing. `taken` are names that others have."""
        self.access = access
        self.keys = keys
        self._making = making
        self._record = record_of(making.setup)
        self._taken = frozenset(taken)
        self._known: dict[str, Served] = {}
        self._servers: Servers | None = None

    def opened(self) -> list[Backend]:
        """Make the backends of all that is locked."""
        backends: list[Backend] = []
        named: dict[str, list[Served]] = {}
        for one in described(self.access.locking, self.access.locking.store.load()):
            if isinstance(one, UnusableBackend):
                backends += [] if one.name in self._taken else [one]
            else:
                named.setdefault(one.name, []).append(one)
        for name, those in named.items():
            if name in self._taken:
                words = "what has this name here is used instead of the registry's server"
                self._making.observer.logged(name, "info", words)
            else:
                backends.append(self._backend(name, those))
        return backends

    def join(self, servers: Servers) -> None:
        """Know where to add those that come later."""
        self._servers = servers

    def known(self, name: str) -> Served | None:
        """Give the server of a name, if it is one of these."""
        return self._known.get(name)

    def trees(self) -> dict[str, tuple[str, str | None]]:
        """Give what each is started from: its terms, and the hash of its package if it has one."""
        found = {name: (served, self.approved(served)) for name, served in self._known.items()}
        return {
            name: (served.terms, approved.tree_integrity if approved else None)
            for name, (served, approved) in found.items()
        }

    def adopt(self, served: Served) -> Served | None:
        """Have a server that was just described; None if the name is another's."""
        there = self._known.get(served.name)
        if there is not None or self._servers is None or served.name in self._servers.names:
            return there
        self._servers.add(self._backend(served.name, [served]))
        return served

    def take(
        self, found: Metadata, served: Served | None, capabilities: Capabilities | None
    ) -> None:
        """Have what was just locked: a server, or a capability."""
        if served is not None:
            self.adopt(served)
        elif capabilities is not None and self._servers is not None:
            loader, observer = self.access.loader, self._making.observer
            made = capabilities.add(found.fqdn, loader, observer)
            self._servers.add(made)

    def approved(self, served: Served) -> Approved | None:
        """Give what the human said yes to, if that is what is described now."""
        return approved_in(self._record, served)

    def _backend(self, name: str, those: list[Served]) -> Backend:
        own = [one for one in those if not one.is_dependency]
        chosen = own or those
        if any(_facts(one) != _facts(chosen[0]) for one in chosen):
            sources = [str(one.source) for one in chosen]
            return UnusableBackend(name, ServerTwiceError(name, sources))
        served = self._known[name] = chosen[0]
        self.keys.missing(served.variables)
        return self._making.local(StdioServerConfig(name, ""), lambda: self._confined(served))

    def _confined(self, served: Served) -> Confined:
        """Say how it is started, after its package was compared; blocks."""
        approved = self.approved(served)
        if approved is None:
            raise NotInstalledError(served.name, str(served.wanted))
        env = self.keys.values(served.variables)
        missing = [(served.name, name) for name in served.variables if name not in env]
        if missing:
            raise KeysMissingError(str(served.source), missing)
        setup = self._making.setup
        start = verified_start(setup, served.name, served.wanted, approved)
        return confined(setup, StdioServerConfig(served.name, "", env=env), start)


def approved_in(record: Record, served: Served) -> Approved | None:
    """Give what the human said yes to, if that is what is described now."""
    found = record.approved(served.name, served.wanted)
    if found is None or (found.integrity, found.terms) != (served.integrity, served.terms):
        return None
    return found


def described(locking: Locking, lockfile: Lockfile) -> Iterator[Served | UnusableBackend]:
    """Give the servers that a lockfile brings, as far as their descriptions are kept here.

    Nobody is asked. One that cannot be used says so by its name; a capability whose code is not
    kept brings its servers when it is called.
    """
    for name, entry in lockfile.named():
        if entry.routing is not Routing.CLIENT:
            continue
        try:
            kept = locking.cache.version(name, entry.integrity)
            if kept is not None:
                yield from (one.pinned(entry.package) for one in served_by(kept.metadata))
        except PmlError as problem:
            if entry.type != McpType.DENO:  # a capability tells its own problems
                yield UnusableBackend(name.namespace, problem)


def locked_servers(setup: Setup, locking: Locking) -> dict[str, Served]:
    """Give the servers that are locked or needed, by name; the user's own go before."""
    own = {server.name for server in setup.servers}
    found = described(locking, locking.store.load())
    return _first(one for one in found if isinstance(one, Served) and one.name not in own)


def _first(servers: Iterable[Served]) -> dict[str, Served]:
    chosen: dict[str, Served] = {}
    for one in servers:
        there = chosen.get(one.name)
        if there is None or (there.is_dependency and not one.is_dependency):
            chosen[one.name] = one
    return chosen


def _facts(served: Served) -> object:
    return served.wanted, served.terms
