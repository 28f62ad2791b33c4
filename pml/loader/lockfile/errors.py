"""What can be wrong with the lockfile, or with what is compared with it.

    LockfileError (PmlError)
    ├── LockfileUnreadableError   lockfile_unreadable: cannot be opened, is a link, is no file
    ├── LockfileInvalidError      lockfile_invalid: cut short, no JSON, not what PML writes
    ├── LockfileVersionError      lockfile_version: of another version of the format
    ├── LockfileUntrustedError    untrusted_lockfile: neither written by us nor trusted by you
    ├── LockfileUnwritableError   lockfile_unwritable: nothing was recorded, so nothing is used
    ├── LockfileFrozenError       lockfile_frozen: it would change, and must not
    ├── LockfileMovedError        lockfile_moved: it is not what the question was about any more
    └── IntegrityError            integrity: content is not what was locked, or promised

A lockfile that cannot be read is never taken for an empty one: everything in it would be new.
"""

from pathlib import Path

from pml.config.spots import Spot
from pml.errors import PmlError
from pml.fqdn import Fqdn


class LockfileError(PmlError):
    """The lockfile does not let this pass."""

    code = "lockfile"


class LockfileUnreadableError(LockfileError):
    """There is something that cannot be read."""

    code = "lockfile_unreadable"

    def __init__(self, path: Path, reason: str) -> None:
        """Name the file and the reason."""
        super().__init__(f"{path} cannot be read: {reason}")


class LockfileInvalidError(LockfileError):
    """It is not what PML writes."""

    code = "lockfile_invalid"

    def __init__(self, fact: str, spot: Spot, *, hint: str | None = None) -> None:
        """Name the place and what is wrong there."""
        super().__init__(
            f"{spot}: {fact}",
            hint=hint or "take it back from your version control, then run `pml lock check`",
            line=spot.line,
            column=spot.column,
        )
        self.fact = fact
        self.spot = spot


class LockfileVersionError(LockfileInvalidError):
    """Its format is another one."""

    code = "lockfile_version"

    def __init__(self, spot: Spot, ours: int, *, newer: bool) -> None:
        """Say which one is understood."""
        hint = "install a newer pml" if newer else None
        super().__init__(f"only version {ours} of the format is understood", spot, hint=hint)


class LockfileUntrustedError(LockfileError):
    """Somebody else wrote it, edited it, put an older one back, or removed it."""

    code = "untrusted_lockfile"

    def __init__(self, path: Path, expected: str | None, actual: str | None) -> None:
        """Name both hashes; None is a file that is not there."""
        super().__init__(
            f"{path} {_became(expected, actual)}",
            hint="look at it with `pml lock diff`, then run `pml trust`",
        )
        self.expected = expected
        self.actual = actual


class LockfileUnwritableError(LockfileError):
    """What was fetched cannot be recorded."""

    code = "lockfile_unwritable"

    def __init__(self, path: Path, reason: str, *, hint: str | None = None) -> None:
        """Name the reason."""
        super().__init__(f"{path} cannot be written: {reason}", hint=hint)


class LockfileFrozenError(LockfileError):
    """It would have to change."""

    code = "lockfile_frozen"

    def __init__(self, path: Path, what: str) -> None:
        """Name what would change."""
        super().__init__(
            f"{path} is frozen, and {what}",
            hint="run it once without --frozen, look at the lockfile and commit it",
        )


class LockfileMovedError(LockfileError):
    """Another process was faster."""

    code = "lockfile_moved"

    def __init__(self, name: Fqdn) -> None:
        """Name the entry."""
        super().__init__(
            f"{name.base} was locked to something else meanwhile: nothing was written",
            hint="try again: you are asked about what is there now",
        )


class IntegrityError(LockfileError):
    """Content is not what was locked, or not what its name says; nothing of it has run."""

    code = "integrity"

    def __init__(self, name: Fqdn, expected: str, actual: str, *, reason: str = "") -> None:
        """Name both, in full."""
        more = f" ({reason})" if reason else ""
        super().__init__(
            f"Integrity check failed for {name}: expected {expected}, got {actual}{more}",
            hint="nothing of it was run; find out who changed it before you accept it",
        )
        self.name = name
        self.expected = expected
        self.actual = actual


def _became(expected: str | None, actual: str | None) -> str:
    if actual is None:
        return f"is gone; its sha256 was {expected}"
    if expected is None:
        return f"was not written here: its sha256 is {actual}"
    return f"was changed by somebody else: expected sha256 {expected}, got {actual}"
