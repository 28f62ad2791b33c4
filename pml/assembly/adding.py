"""What `pml add` does: look a name up, verify what it stands for, lock it; install nothing."""

import dataclasses

from pml.assembly.capabilities import checks_of
from pml.assembly.locking import locking_of, opened_loader
from pml.assembly.packages import installer_of
from pml.assembly.setup import Setup
from pml.fqdn import Fqdn
from pml.loader.capabilities import CapabilityLoader, Found
from pml.loader.errors import RegistryRoutingError
from pml.loader.metadata import McpType
from pml.loader.needs import Needs
from pml.loader.served import Served, packed_name, served_by
from pml.routing import Routing


@dataclasses.dataclass(frozen=True, slots=True)
class Added:
    """What stands under a name now, and what is missing before it can run."""

    needs: Needs
    served: Served | None = None
    """The server, if it is one; in the version that is locked."""


async def add(setup: Setup, name: Fqdn) -> Added:
    """Look a capability or a server up and lock it.

    One that is locked as another version is left as it is: `Needs.changed` says so. Raises all
    that can go wrong with a registry, a package's name or the lockfile; then nothing was locked.
    """
    locking = locking_of(setup.folder, setup.environ, setup.user_home, writes=True)
    async with opened_loader(locking, checks_of(setup)) as loader:
        found, needs = await loader.described(name)
        described = served_by(found.metadata)
        if found.metadata.type is not McpType.DENO:
            entry = locking.store.load().entry(name)
            served = described[0].pinned(entry.package if entry and not needs.changed else None)
            return Added(needs, await _locked(setup, loader, found, served))
        if found.metadata.routing is not Routing.CLIENT:
            raise RegistryRoutingError(str(name))
        loader.keep(found)
        return Added(needs)


async def _locked(setup: Setup, loader: CapabilityLoader, found: Found, served: Served) -> Served:
    package = packed_name(await installer_of(setup).resolve(served.wanted))
    loader.keep(found, package)
    return served.pinned(package)
