"""`.pml/mcp.lock` of a workspace, on disk: read strictly, written whole, never lost to a race.

The file lies in the workspace, which others may write. So the sha256 of what was last written or
trusted is remembered outside it by a `Witness`; a file with another one was edited, exchanged,
put back from an earlier time or removed, and is an error until the human trusts it. A copy of
the last good one is kept in the user's state, to show what differs; it is never used.

Writers wait for each other on a file in the state (a process in the workspace could hold one
there for ever). Each change is made on what is there then, so two gateways lose no entry.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from pml.config import Permissions
from pml.config.editing import write_whole
from pml.errors import PmlError
from pml.loader.lockfile.errors import (
    LockfileError,
    LockfileFrozenError,
    LockfileInvalidError,
    LockfileUnreadableError,
    LockfileUntrustedError,
    LockfileUnwritableError,
)
from pml.loader.lockfile.locked import Lockfile
from pml.loader.lockfile.reading import MOST_BYTES, parse
from pml.places import private_folder
from pml.workspace import LOCKFILE

_MODE = 0o600
_FOLDER_MODE = 0o700
_COPY = "mcp.lock"
_MUTEX = "lockfile.mutex"

Change = Callable[[Lockfile], Lockfile]
Signature = tuple[int, int, int, int]


class Witness(Protocol):
    """Who remembers, outside the workspace, which lockfile was last written or trusted."""

    def last(self) -> str | None:
        """Give its sha256; None if there was none. Never raises."""

    def wrote(self, sha256: str) -> None:
        """Remember one that we wrote; raises `PmlError` where nothing may be remembered."""


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A lockfile as it is in the workspace, whoever wrote it."""

    lockfile: Lockfile
    sha256: str | None
    """None if there is no file."""


class LockStore:
    """The lockfile of one workspace."""

    def __init__(
        self, workspace: Path, state: Path, witness: Witness, *, frozen: bool = False
    ) -> None:
        """Take the real folder of the workspace and its own folder in the user's state.

        `frozen`: nothing is ever written, and what would have to be is an error.
        """
        self.path = workspace / LOCKFILE
        self._state = state
        self._witness = witness
        self._frozen = frozen
        self._seen: tuple[Signature | None, Lockfile] | None = None

    def load(self, permissions: Permissions | None = None) -> Lockfile:
        """Give what is locked; with rules, without what none of them speaks of any more (AC13).

        Raises a `LockfileError`: for a file that is damaged, and for one that is not ours.
        """
        lockfile = self._load()
        cleaned = lockfile if permissions is None else lockfile.cleaned(permissions)
        if permissions is None or cleaned == lockfile or self._frozen:
            return cleaned
        return self.update(lambda there: there.cleaned(permissions))

    def found(self) -> Found:
        """Give what is there, whether it is ours or not; raises a `LockfileError`."""
        content = _content(self.path)
        if content is None:
            return Found(Lockfile(), None)
        return Found(_parsed(content, self.path), hashlib.sha256(content).hexdigest())

    def is_ours(self, found: Found) -> bool:
        """Say whether it is the one that was last written or trusted."""
        return found.sha256 == self._witness.last()

    def untrusted(self, found: Found) -> LockfileUntrustedError:
        """Give what is raised for one that is not ours."""
        return LockfileUntrustedError(self.path, self._witness.last(), found.sha256)

    def last_good(self) -> Lockfile | None:
        """Give the last one that was ours, as far as it was kept; to show, never to use."""
        try:
            content = _content(self._state / _COPY)
            expected = self._witness.last()
            if content is None or hashlib.sha256(content).hexdigest() != expected:
                return Lockfile() if expected is None else None
            return _parsed(content, self.path)
        except LockfileError:
            return None

    def update(self, change: Change) -> Lockfile:
        """Change what is there now, whoever else is changing it; give what is there then.

        Raises a `LockfileError`, or what `change` raises: then nothing was written. What cannot be
        recorded must not be used.
        """
        with self._held(fcntl.LOCK_EX):
            old = self._checked()
            new = change(old)
            if new != old:
                self._write(new)
        return new

    def adopt(self, found: Found, change: Change) -> Lockfile:
        """Take a file that is not ours, changed or not, after a human at a terminal said yes.

        Only if it is still the one that was shown; raises a `LockfileError` otherwise.
        """
        with self._held(fcntl.LOCK_EX):
            there = self.found()
            if there.sha256 != found.sha256:
                raise LockfileUntrustedError(self.path, found.sha256, there.sha256)
            new = change(there.lockfile)
            self._write(new)
        return new

    def _load(self) -> Lockfile:
        now = _signature(self.path)
        # the kernel sets a file's change time: nobody can put it back
        if self._seen is not None and self._seen[0] == now and now is not None:
            return self._seen[1]
        if now is None and not self._state.exists():
            return self._checked()
        with self._held(fcntl.LOCK_SH):
            signature = _signature(self.path)
            lockfile = self._checked()
            self._keep_copy()
            self._seen = (signature, lockfile)
        return lockfile

    def _keep_copy(self) -> None:
        """Keep one that the human trusted too, so that the next edit of it can be shown."""
        with contextlib.suppress(OSError, LockfileError):
            content = _content(self.path)
            if content is not None and content != _content(self._state / _COPY):
                write_whole(self._state / _COPY, content, _MODE)

    def _checked(self) -> Lockfile:
        found = self.found()
        if not self.is_ours(found):
            raise self.untrusted(found)
        return found.lockfile

    def _write(self, lockfile: Lockfile) -> None:
        if self._frozen:
            raise LockfileFrozenError(self.path, "it would have to be written")
        content, before = self._readable(lockfile), _content(self.path)
        try:
            _made_folder(self.path.parent)
            write_whole(self._state / _COPY, content, _MODE)
            write_whole(self.path, content, _MODE)
        except OSError as error:
            reason = error.strerror or str(error)
            raise LockfileUnwritableError(self.path, reason) from None
        try:
            self._witness.wrote(hashlib.sha256(content).hexdigest())
        except PmlError as error:
            self._put_back(before)
            raise LockfileUnwritableError(self.path, error.message, hint=error.hint) from None
        self._seen = None

    def _put_back(self, before: bytes | None) -> None:
        """Leave the file as it was: what nobody remembers must not lie there."""
        with contextlib.suppress(OSError):
            if before is None:
                self.path.unlink()
            else:
                write_whole(self.path, before, _MODE)

    def _readable(self, lockfile: Lockfile) -> bytes:
        """Give the bytes to write; raise if we could not read them again."""
        content = lockfile.content()
        if len(content) > MOST_BYTES:
            reason = f"it would be larger than {MOST_BYTES >> 20} MiB"
            raise LockfileUnwritableError(self.path, reason)
        try:
            _parsed(content, self.path)
        except LockfileInvalidError as error:
            reason = f"an entry is not what an entry must be: {error.fact}"
            raise LockfileUnwritableError(self.path, reason) from None
        return content

    @contextlib.contextmanager
    def _held(self, how: int) -> Iterator[None]:
        """Keep other processes from writing, or wait until none does."""
        folder = private_folder(self._state)
        descriptor = os.open(folder / _MUTEX, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _MODE)
        try:
            fcntl.flock(descriptor, how)
            yield
        finally:
            os.close(descriptor)


def _parsed(content: bytes, path: Path) -> Lockfile:
    return Lockfile(MappingProxyType(parse(content, path)))


def _content(path: Path) -> bytes | None:
    """Read a file, None if it is not there; never through a link, never more than is too much."""
    if path.parent.is_symlink():
        raise LockfileUnreadableError(path, f"{path.parent} is a link")
    try:
        # a named pipe planted in the workspace must not make us wait for its writer
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = "it is a link" if path.is_symlink() else error.strerror or str(error)
        raise LockfileUnreadableError(path, reason) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise LockfileUnreadableError(path, "it is no file")
        with open(descriptor, "rb", closefd=False) as stream:
            content = stream.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(content) > MOST_BYTES:
        raise LockfileUnreadableError(path, f"it is larger than {MOST_BYTES >> 20} MiB")
    return content


def _signature(path: Path) -> Signature | None:
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _made_folder(folder: Path) -> None:
    if folder.is_symlink():
        raise LockfileUnreadableError(folder, "it is a link")
    folder.mkdir(mode=_FOLDER_MODE, exist_ok=True)
