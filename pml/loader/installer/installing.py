"""Installs a package once, and verifies it whenever it is to be started.

    package = await installer.resolve(wanted)            # an exact version; what a human is shown
    installed = await installer.install(package, "npm")  # after the human's yes
    verified = installer.verify(installed, wanted)       # at every start; runs nothing

Nobody is asked here, and nothing of a package runs here: `VerifiedPackage` says what to run.
"""

import dataclasses
import time

import anyio

from pml.loader.installer import npm, pypi
from pml.loader.installer.errors import InstallFailedError, IntegrityError
from pml.loader.installer.packages import Kind, Package, Wanted
from pml.loader.installer.settings import Machine
from pml.loader.installer.store import TREE, Installed, Store
from pml.loader.installer.trees import Entry, entries, is_settled, stamp, tree_hash
from pml.model import Progress
from pml.ports import OnProgress

_RESOLVED, _FETCHED, _HASHED, _DONE = 5, 80, 95, 100
"""How far along each step is when it ends, in hundredths."""

_HALF_LINES = 60  # of a package manager's words, after which half of its work is taken as done


@dataclasses.dataclass(frozen=True, slots=True)
class VerifiedPackage:
    """What may be started: the tree was compared with its hash just now. Made here alone."""

    package: Package
    command: tuple[str, ...]
    tree_integrity: str


class Installer:
    """Installs into a user's store."""

    def __init__(self, machine: Machine, key: bytes) -> None:
        """Know where; nothing is made yet."""
        self._machine = machine
        self._store = Store(machine.packages, key)

    async def resolve(self, wanted: Wanted, on_progress: OnProgress | None = None) -> Package:
        """Give the one version that is meant; asks the registry only if it must."""
        if wanted.exact is not None:
            return wanted.exact
        steps = _Steps(on_progress)
        steps.at(0, f"looking up {wanted}")
        asked = Package(wanted.kind, wanted.name, wanted.spec, wanted.extras)
        async with self._store.held(asked):
            version = await self._version(asked, wanted)
        steps.at(_RESOLVED, f"{wanted} is {version}")
        return Package(wanted.kind, wanted.name, version, wanted.extras)

    async def install(
        self,
        package: Package,
        manager: str,
        *,
        name: str | None = None,
        expected: str | None = None,
        on_progress: OnProgress | None = None,
    ) -> Installed:
        """Give a package that is in the store, whole and as hashed; install it if it is not.

        `expected` is the hash that a registry gives for it: `IntegrityError` if it is another.
        `name` is what the user calls it, for that error.
        """
        steps, promise = _Steps(on_progress), _Promise(name or package.name, expected)
        async with self._store.held(package):
            found = await anyio.to_thread.run_sync(self._good, package)
            if found is None:
                found = await self._make(package, manager, promise, steps)
            promise.compare(found)
        steps.at(_DONE, f"installed {package}")
        return found

    def verify(
        self, installed: Installed, wanted: Wanted, *, name: str | None = None
    ) -> VerifiedPackage:
        """Compare a tree with its hash; give the command that starts its program.

        Blocks: 40 ms for 4,000 files whose stamp is known, three times that otherwise. What is
        changed after this by somebody who may write the user's state is not seen.
        """
        actual = self._actual(installed)
        if actual != installed.tree_integrity:
            label, version = name or installed.package.name, installed.package.version
            raise IntegrityError(label, version, installed.tree_integrity, actual)
        start = npm.entry if installed.package.kind is Kind.NPM else pypi.entry
        command = start(installed.tree, installed.package, wanted.program)
        words = (*command, *wanted.args)
        return VerifiedPackage(installed.package, words, installed.tree_integrity)

    def find(self, package: Package, integrity: str, tree_integrity: str) -> Installed:
        """Give a package that somebody remembers with these hashes; `verify` compares them."""
        tree = self._store.folder(package) / TREE
        return Installed(package, tree, integrity, tree_integrity)

    async def _version(self, asked: Package, wanted: Wanted) -> str:
        with self._store.draft(asked) as draft:
            if wanted.kind is Kind.NPM:
                return await npm.resolve(self._machine, wanted, draft, _silent)
            return await pypi.resolve(self._machine, wanted, draft, _silent)

    def _actual(self, installed: Installed) -> str:
        """Give a tree's hash as it is now, or in words why there is none."""
        began = time.time_ns()
        try:
            found = _entries(installed)
            now = stamp(found)
            if self._store.stamp(installed) == now:
                return installed.tree_integrity
            actual = tree_hash(installed.tree, found)
        except OSError as error:
            return f"no hash ({error.strerror})"
        if actual == installed.tree_integrity and is_settled(found, began):
            self._store.keep_stamp(installed, now)
        return actual

    def _good(self, package: Package) -> Installed | None:
        """Give what is in the store if it is still what was installed; else it is made anew."""
        found = self._store.find(package)
        if found is None or not found.tree.is_dir():
            return None
        is_same = tree_hash(found.tree, _entries(found)) == found.tree_integrity
        return found if is_same else None

    async def _make(
        self, package: Package, manager: str, promise: "_Promise", steps: "_Steps"
    ) -> Installed:
        with self._store.draft(package) as draft:
            steps.at(_RESOLVED, f"fetching {package}")
            if package.kind is Kind.NPM:
                await npm.install(self._machine, package, draft, steps.tick)
            else:
                await pypi.install(self._machine, package, manager, draft, steps.tick)
            steps.at(_FETCHED, f"hashing {package}")
            made = Installed(package, draft / TREE, "", "")
            hashed = await anyio.to_thread.run_sync(_hashed, made)
            promise.compare(hashed)  # before it gets its place
            steps.at(_HASHED, f"storing {package}")
            return self._store.adopt(draft, hashed)


@dataclasses.dataclass(frozen=True, slots=True)
class _Promise:
    """What a registry says of a package."""

    name: str
    integrity: str | None

    def compare(self, installed: Installed) -> None:
        if self.integrity not in (None, installed.integrity):
            version, actual = installed.package.version, installed.integrity
            raise IntegrityError(self.name, version, str(self.integrity), actual)


class _Steps:
    """Tells how far an installation is; never backwards."""

    def __init__(self, on_progress: OnProgress | None) -> None:
        self._tell = on_progress or _ignored
        self._lines = 0
        self._words = ""

    def at(self, done: float, words: str) -> None:
        self._words = words
        self._tell(Progress(done, _DONE, words))

    def tick(self) -> None:
        """Take a line of the package manager as a sign of life: it says no more than that."""
        self._lines += 1
        share = self._lines / (self._lines + _HALF_LINES)
        self._tell(Progress(_RESOLVED + (_FETCHED - _RESOLVED) * share, _DONE, self._words))


def _silent() -> None:
    """Let pass: a resolution has no steps."""


def _ignored(progress: Progress) -> None:
    """Let pass: nobody listens."""


def _entries(installed: Installed) -> list[Entry]:
    links = pypi.LINKS if installed.package.kind is Kind.PYPI else ()
    return entries(installed.tree, leading_out=links)


def _hashed(made: Installed) -> Installed:
    """Hash a new tree, and what in it is the package's own."""
    package, tree = made.package, made.tree
    found = _entries(made)
    if package.kind is Kind.NPM:
        version, own = npm.version_in(tree, package), npm.own_entries(found, package)
    else:
        version, own = pypi.version_in(tree, package), pypi.own_entries(tree, found, package)
    if version != package.version or not own:
        said = f"it gave version {version or 'none'} instead"
        raise InstallFailedError(str(package), "the package manager", [said])
    return dataclasses.replace(
        made, integrity=tree_hash(tree, own), tree_integrity=tree_hash(tree, found)
    )
