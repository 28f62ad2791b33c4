"""Whether what is kept on this machine is still what was locked, entry by entry."""

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal, Protocol

from pml.errors import PmlError
from pml.fqdn import Fqdn
from pml.loader.lockfile.entries import LockEntry
from pml.loader.lockfile.locked import Lockfile

State = Literal["good", "absent", "damaged"]
"""As it was locked; not kept here, so fetched and compared at its next use; something else."""


class Contents(Protocol):
    """Where content is kept: `pml.loader.cache.Cache`."""

    def version(self, fqdn: Fqdn, integrity: str) -> object | None:
        """Hash what is kept of a version again; raises `PmlError` if it is something else."""


@dataclasses.dataclass(frozen=True, slots=True)
class EntryState:
    """What became of one entry."""

    name: Fqdn
    entry: LockEntry
    state: State
    problem: str | None = None

    def plain(self) -> dict[str, Any]:
        """Give it as data."""
        facts = {"name": str(self.name), **self.entry.plain(), "state": self.state}
        return facts | ({"problem": self.problem} if self.problem else {})


def states_of(lockfile: Lockfile, contents: Contents) -> Iterator[EntryState]:
    """Look at every entry; nothing is fetched and nothing raised."""
    for name, entry in lockfile.named():
        try:
            kept = contents.version(name, entry.integrity)
        except PmlError as error:
            yield EntryState(name, entry, "damaged", error.message)
        else:
            yield EntryState(name, entry, "absent" if kept is None else "good")
