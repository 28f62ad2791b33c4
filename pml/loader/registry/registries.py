"""Several registries in the order of the configuration: the first that has a name counts.

Only a registry that says that it has nothing lets the next one be asked. One that cannot be
reached or answers wrongly ends the search: else whoever can cut the line to the first registry
would choose what the second one gives.
"""

from collections.abc import Sequence

from pml.fqdn import Fqdn
from pml.loader.errors import NotInRegistryError
from pml.loader.fetch import Fetch
from pml.loader.registry.client import Described, Registry, RegistryClient, Unchanged


class Registries:
    """Those of one configuration."""

    def __init__(self, registries: Sequence[Registry], fetch: Fetch) -> None:
        """Ask nothing yet."""
        self._clients = [RegistryClient(one, fetch) for one in registries]

    @property
    def urls(self) -> tuple[str, ...]:
        """Where they are."""
        return tuple(client.url for client in self._clients)

    async def describe(
        self, name: Fqdn, etag: str = "", of: str | None = None
    ) -> Described | Unchanged:
        """Say what the first registry that has a name has under it.

        `etag` is what the registry at `of` gave before, and goes to no other. Raises
        `NotInRegistryError` if none has it, else as `RegistryClient.describe`.
        """
        for client in self._clients:
            try:
                return await client.describe(name, etag if client.url == of else "")
            except NotInRegistryError:
                continue
        raise NotInRegistryError(str(name), self.urls)
