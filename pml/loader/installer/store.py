"""The packages of a user: one folder for each, all of it there or none of it.

A package is made in a draft, under a lock that dies with its holder, and gets its place by one
rename together with its receipt. So a process that is killed leaves at most a draft, which the
next one that installs the same package removes; and of two at once the second finds the work done.

    packages/npm/NAME@VERSION-HASH/{tree,receipt,stamp}
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import os
import platform
import re
import secrets
import shutil
import sys
import sysconfig
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio

from pml.loader.installer.packages import Kind, Package
from pml.loader.installer.sealing import read_sealed, write_sealed
from pml.places import private_folder

TREE = "tree"
_RECEIPT, _STAMP = "receipt", "stamp"
_LOOK_SECONDS = 0.1  # while another process installs the same
_NAME_CHARACTERS = 80  # of a name in a folder's; the hash tells them apart


@dataclasses.dataclass(frozen=True, slots=True)
class Installed:
    """A package in the store, as it was when it was installed. Not yet verified."""

    package: Package
    tree: Path
    integrity: str
    """Of what the package itself brought: the same on every machine, so a registry can name it."""

    tree_integrity: str
    """Of all that would run, dependencies included."""


class Store:
    """Where packages lie."""

    def __init__(self, packages: Path, key: bytes) -> None:
        """Name the folder; nothing is made before something is installed."""
        self._packages = packages
        self._key = key

    def find(self, package: Package) -> Installed | None:
        """Give a package that was installed; raise `RecordDamagedError` for a forged receipt."""
        folder = self.folder(package)
        facts = read_sealed(folder / _RECEIPT, self._key)
        if facts is None:
            return None
        return Installed(package, folder / TREE, facts["integrity"], facts["tree"])

    def folder(self, package: Package) -> Path:
        """Give a package's own folder; another machine's or Python's packages are others."""
        runs_on: tuple[str, ...] = (sys.platform, platform.machine())
        if package.kind is Kind.PYPI:
            runs_on += (sys.base_prefix, sysconfig.get_python_version())
        facts = "\0".join((package.kind, package.name, package.version, package.extras, *runs_on))
        digest = hashlib.sha256(facts.encode()).hexdigest()[:16]
        shown = f"{package.name}@{package.version}".replace("/", "+")[:_NAME_CHARACTERS]
        name = re.sub(r"[^\w.@+-]", "_", shown)
        return self._packages / package.kind / f"{name}-{digest}"

    @contextlib.asynccontextmanager
    async def held(self, package: Package) -> AsyncIterator[None]:
        """Keep others from installing the same package; clear what a dead one left behind."""
        folder = self.folder(package)
        private_folder(folder.parent)
        lock = folder.with_name(f".{folder.name}.lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not _locked(descriptor):  # noqa: ASYNC110 - another process tells nobody when it ends
                await anyio.sleep(_LOOK_SECONDS)
            for left in folder.parent.glob(f".{folder.name}.draft-*"):
                await anyio.to_thread.run_sync(_remove, left)
            yield
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def draft(self, package: Package) -> Iterator[Path]:
        """Give a folder to make a package in; what is left of it at the end is removed."""
        folder = self.folder(package)
        draft = folder.with_name(f".{folder.name}.draft-{secrets.token_hex(4)}")
        private_folder(draft / TREE)
        try:
            yield draft
        finally:
            _remove(draft)

    def adopt(self, draft: Path, installed: Installed) -> Installed:
        """Give a finished draft its place, instead of what was there; the lock is held."""
        folder = self.folder(installed.package)
        ready = draft / folder.name  # the receipt is sealed for this name
        private_folder(ready)
        (draft / TREE).rename(ready / TREE)
        facts = {"integrity": installed.integrity, "tree": installed.tree_integrity}
        write_sealed(ready / _RECEIPT, facts, self._key)
        if folder.exists():  # damaged, or it would have been found good
            folder.rename(draft / "before")
        ready.rename(folder)
        return dataclasses.replace(installed, tree=folder / TREE)

    def stamp(self, installed: Installed) -> str | None:
        """Give the stamp of a tree that had this hash; None if none was kept."""
        facts = read_sealed(installed.tree.with_name(_STAMP), self._key)
        known = facts is not None and facts["tree"] == installed.tree_integrity
        return str(facts["stamp"]) if facts and known else None

    def keep_stamp(self, installed: Installed, stamp: str) -> None:
        """Remember that a tree with this stamp has its hash; a disk that is full costs time."""
        facts = {"tree": installed.tree_integrity, "stamp": stamp}
        with contextlib.suppress(OSError):
            write_sealed(installed.tree.with_name(_STAMP), facts, self._key)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
