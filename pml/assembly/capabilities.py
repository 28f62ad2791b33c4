"""The capabilities of a workspace, wired: what is locked, who loads it, which keys there are.

Without a lockfile nothing is read and nobody is asked. One that cannot be used makes the
capabilities that it names unusable, by name, and nothing else.
"""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Collection

from pml.assembly.locking import Locking, locking_of, opened_loader
from pml.assembly.packages import record_of
from pml.assembly.registry import Access, approved_in, locked_servers
from pml.assembly.setup import Setup
from pml.backends.capability import (
    CapabilityBackend,
    capabilities_in_use,
    capability_backends,
)
from pml.backends.servers import UnusableBackend
from pml.config.names import BUILTINS
from pml.errors import PmlError
from pml.fqdn import Fqdn
from pml.keys import Keys
from pml.loader.lockfile import LockEntry, LockfileError
from pml.loader.metadata import Dependency
from pml.loader.needs import Checks
from pml.loader.served import dependency_of
from pml.ports import Observer
from pml.workspace import LOCKFILE


@dataclasses.dataclass(frozen=True, slots=True)
class OpenedCapabilities:
    """The backends of a workspace's capabilities."""

    usable: tuple[CapabilityBackend, ...] = ()
    unusable: tuple[UnusableBackend, ...] = ()
    access: Access | None = None
    """The lockfile and the registries, if there are any and they can be used."""


@contextlib.asynccontextmanager
async def opened_capabilities(
    setup: Setup, taken: Collection[str], observer: Observer
) -> AsyncIterator[OpenedCapabilities]:
    """Give what is locked, none of it read; names that are taken go before, with a note.

    Only for a setup that fetches.
    """
    locking = locking_of(
        setup.folder, setup.environ, setup.user_home, writes=True, frozen=setup.frozen
    )
    try:
        names = capabilities_in_use(locking.store.load(locking.rules))
    except LockfileError as problem:
        observer.logged(str(LOCKFILE), "error", problem.message)
        yield OpenedCapabilities(unusable=_named(locking, problem, taken))
        return
    async with opened_loader(locking, checks_of(setup)) as loader:
        backends = capability_backends(names, taken, loader, observer)
        yield OpenedCapabilities(backends, access=Access(locking, loader))


def checks_of(setup: Setup) -> Checks:
    """Say what of a capability's needs there is in a workspace."""
    there = {server.name for server in setup.servers} | set(_builtins(setup))
    record = record_of(setup)

    def has_key(name: str) -> bool:
        # looked up anew each time: a key may have been added since
        return Keys(setup.environ, setup.folder).lookup(name) is not None

    def is_installed(dependency: Dependency) -> bool:
        if dependency.name in there:
            return True
        # whoever describes it: a yes is for the package and its terms
        served = dependency_of(Fqdn.of_server(dependency.name), dependency)
        return approved_in(record, served) is not None

    return Checks(setup.config.permissions, has_key, is_installed)


def remove_capability(setup: Setup, name: Fqdn) -> bool:
    """Lock it no longer; say whether it was."""
    locking = locking_of(setup.folder, setup.environ, setup.user_home, writes=True)
    if locking.store.load().entry(name) is None:
        return False
    locking.store.update(lambda now: now.without(name))
    return True


def locked_capabilities(setup: Setup) -> tuple[tuple[Fqdn, LockEntry], ...]:
    """Give what is locked, by name."""
    locking = locking_of(setup.folder, setup.environ, setup.user_home)
    return tuple(locking.store.load().named())


def locked_namespaces(setup: Setup) -> tuple[frozenset[str], frozenset[str]]:
    """Name those of the capabilities in use and the servers that they bring or that are locked.

    None if the lockfile cannot be used.
    """
    if not setup.lockfile.is_file():
        return frozenset(), frozenset()
    locking = locking_of(setup.folder, setup.environ, setup.user_home)
    try:
        names = capabilities_in_use(locking.store.load())
        servers = frozenset(locked_servers(setup, locking))
    except LockfileError:
        return frozenset(), frozenset()
    return frozenset(name.namespace for name in names), servers


def _builtins(setup: Setup) -> tuple[str, ...]:
    chosen = setup.config.builtins
    return BUILTINS if chosen is None else chosen


def _named(
    locking: Locking, problem: LockfileError, taken: Collection[str]
) -> tuple[UnusableBackend, ...]:
    """Give the namespaces that a lockfile speaks of, if it can be read at all."""
    try:
        names = capabilities_in_use(locking.store.found().lockfile)
    except PmlError:
        return ()
    spaces = dict.fromkeys(name.namespace for name in names)
    return tuple(UnusableBackend(space, problem) for space in spaces if space not in taken)
