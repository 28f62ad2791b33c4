"""`.pml/mcp.lock`: what was fetched once is pinned, and cannot change unnoticed.

    lockfile = store.load(trusted_permissions)
    match lockfile.check(name, integrity, "deno", Routing.CLIENT):
        case Known(): ...                       # goes on
        case New():
            store.update(lambda now: now.add(name, entry))
        case Changed() as changed:
            IntegrityApprovalRequired(changed, workflow_id)
            # Yes: store.update(lambda now: now.replace(name, changed.old, entry))
            # No:  raise changed.error()

`entries.py`, `locked.py`, `comparing.py` and `approval.py` are values, `reading.py` is the format,
`store.py` the file. Hashes are computed by whoever fetched, over the bytes that run, and whole.
Nobody is asked here, and nothing is fetched. Above: the loader, assembly, `pml lock`.
"""

from pml.loader.lockfile.approval import IntegrityApprovalRequired
from pml.loader.lockfile.comparing import (
    DefinitionChange,
    EntryChange,
    compared,
    compared_definitions,
)
from pml.loader.lockfile.entries import LockEntry, definitions_of
from pml.loader.lockfile.errors import (
    IntegrityError,
    LockfileError,
    LockfileFrozenError,
    LockfileInvalidError,
    LockfileMovedError,
    LockfileUnreadableError,
    LockfileUntrustedError,
    LockfileUnwritableError,
    LockfileVersionError,
)
from pml.loader.lockfile.locked import Changed, Checked, Known, Lockfile, New
from pml.loader.lockfile.store import Found, LockStore, Witness
from pml.loader.lockfile.verifying import Contents, EntryState, states_of

__all__ = [
    "Changed",
    "Checked",
    "Contents",
    "DefinitionChange",
    "EntryChange",
    "EntryState",
    "Found",
    "IntegrityApprovalRequired",
    "IntegrityError",
    "Known",
    "LockEntry",
    "LockStore",
    "Lockfile",
    "LockfileError",
    "LockfileFrozenError",
    "LockfileInvalidError",
    "LockfileMovedError",
    "LockfileUnreadableError",
    "LockfileUntrustedError",
    "LockfileUnwritableError",
    "LockfileVersionError",
    "New",
    "Witness",
    "compared",
    "compared_definitions",
    "definitions_of",
    "states_of",
]
