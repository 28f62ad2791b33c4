"""What the human last trusted of one workspace, on disk: outside the workspace, 0600, sealed.

`trust.json` in the workspace's state folder holds the record, `generations/` at the top of the
state the number of the last one. Both are sealed with the user's key and name their workspace. So
a record that was edited, cut short, copied from another workspace or put back from an earlier time
is none: the workspace is then untrusted, with a reason, and what tightens still applies.

How far that goes: whoever puts back both files from one earlier moment has what was trusted then,
and whoever reads the key can write any record. Either needs a process that runs as the user and
outside every sandbox, which could as well start the servers itself.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pml.config.editing import write_whole
from pml.errors import PlaceUnsafeError, PmlError
from pml.places import private_folder, workspace_state
from pml.trust.errors import NothingTrustedError
from pml.trust.key import NotOursError, made_key, read_key, read_own, sealed, unsealed
from pml.trust.record import Kept, TrustRecord
from pml.trust.statement import from_plain, to_plain

VERSION = 1
FILE_NAME = "trust.json"
_GENERATIONS = "generations"


class Store:
    """The record of one workspace."""

    def __init__(self, state: Path, workspace: Path) -> None:
        """Take the user's state folder and the real folder of the workspace; look at nothing."""
        self.state = state
        self.workspace = workspace
        folder = workspace_state(state, workspace)
        self.path = folder / FILE_NAME
        self._generation = state / _GENERATIONS / folder.name

    def key(self) -> bytes | None:
        """Give the user's key as far as there is a good one; makes none."""
        try:
            return None if self._misplaced() else read_key(self.state)
        except PmlError:
            return None

    def load(self) -> Kept:
        """Give what was trusted; a record that is damaged in any way is none. Never raises."""
        try:
            if self._misplaced():
                return Kept(problem=_MISPLACED)
            return self._loaded()
        except NotOursError as error:
            return Kept(problem=f"{self.path} does not count: {error}")
        except PmlError as error:
            return Kept(problem=error.message)
        except OSError as error:
            return Kept(problem=f"{self.path} cannot be read: {error.strerror or error}")
        except (KeyError, TypeError, ValueError, AttributeError):
            return Kept(problem=f"{self.path} was written by another version of pml")

    def save(self, record: TrustRecord) -> None:
        """Keep a record in place of the last one."""
        with self._locked() as key:
            self._write(record, key)

    def update(self, change: Callable[[TrustRecord], TrustRecord]) -> TrustRecord:
        """Change the record, whoever else may be changing it; give the new one."""
        with self._locked() as key:
            kept = self.load()
            if kept.record is None:
                raise NothingTrustedError(kept.problem)
            record = change(kept.record)
            self._write(record, key)
        return record

    def prepare(self) -> None:
        """Make the key and the folders; raises why nothing could be kept here."""
        self.made_key()
        for folder in (self.path.parent, self._generation.parent):
            private_folder(folder)

    def made_key(self) -> bytes:
        """Give the user's key; make it if there is none."""
        if self._misplaced():
            raise PlaceUnsafeError(self.state, "it lies in the workspace, which servers may write")
        return made_key(self.state)

    def _loaded(self) -> Kept:
        content = read_own(self.path)
        if content is None:
            return Kept()
        key = read_key(self.state)
        if key is None:
            raise NotOursError("the key that sealed it is gone")  # noqa: TRY003 - a reason
        document = unsealed(content, key)
        self._check(document, self._reserved(key))
        record = TrustRecord(from_plain(document["content"]), document["lockfile"], document["at"])
        if record.sha256 != document["sha256"]:
            raise NotOursError("its hash is another")  # noqa: TRY003
        return Kept(record)

    def _check(self, document: Mapping[str, Any], generation: int) -> None:
        if document["version"] != VERSION:
            raise ValueError(document["version"])
        if document["workspace"] != os.fsencode(self.workspace).hex():
            raise NotOursError("it is that of another workspace")  # noqa: TRY003
        if document["generation"] != generation:
            raise NotOursError("it is an earlier one, which was put back")  # noqa: TRY003

    def _reserved(self, key: bytes) -> int:
        """Give the number that the last record must have; 0 if none was ever written."""
        content = read_own(self._generation)
        if content is None:
            return 0
        document = unsealed(content, key)
        if document["workspace"] != os.fsencode(self.workspace).hex():
            raise NotOursError("its number is that of another workspace")  # noqa: TRY003
        return int(document["number"])

    def _next(self, key: bytes) -> int:
        try:
            return self._reserved(key) + 1
        except (NotOursError, KeyError, TypeError, ValueError):
            return 1  # damaged: the new record is numbered anew

    def _write(self, record: TrustRecord, key: bytes) -> None:
        owner = os.fsencode(self.workspace).hex()
        number = self._next(key)
        # first: a crash in between leaves an untrusted workspace, never two records that count
        write_whole(self._generation, sealed({"workspace": owner, "number": number}, key), 0o600)
        document = {
            "version": VERSION,
            "workspace": owner,
            "generation": number,
            "at": record.at,
            "sha256": record.sha256,
            "lockfile": record.lockfile,
            "content": to_plain(record.statement),
        }
        write_whole(self.path, sealed(document, key), 0o600)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[bytes]:
        """Keep other processes out while a record is changed; give the key."""
        key = self.made_key()
        private_folder(self.state)
        private_folder(self.path.parent)
        folder = os.open(private_folder(self._generation.parent), os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield key
        finally:
            os.close(folder)

    def _misplaced(self) -> bool:
        """Tell a state folder in the workspace: whoever writes there could trust himself."""
        real = Path(os.path.realpath(self.state))
        return real.is_relative_to(os.path.realpath(self.workspace))


_MISPLACED = "the state folder lies in the workspace, which servers and programs may write"
