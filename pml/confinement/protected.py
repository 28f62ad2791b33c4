"""What exists inside a writable folder and must stay as it is, or not be seen at all.

Only bubblewrap can keep that. Landlock is allow-only: within a folder it lets write it protects
nothing. A mount does, if its parents are mounts of their own: otherwise `mv .git .git2` carries it
away and leaves the name free. Only what exists is mounted: placeholders would be litter.
"""

import dataclasses
import os
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from pml.confinement.errors import SecretsTooManyError
from pml.secret_files import is_secret_path
from sandbox_host.mounts import protected_name

_OF_GIT = ("hooks", "config", "config.worktree", "modules")
"""What runs programs, within a `.git` that was granted for writing by name."""

_NOT_SEARCHED = frozenset({"node_modules", "__pycache__", "site-packages"})
_MOST_FOLDERS = 2000  # a workspace may be huge; with 20 files in each some 0.3 s
_DEEPEST = 5
MOST_HIDDEN = 500
"""Each is a mount, and so may be four folders above it; bwrap takes 9,000 arguments."""


@dataclasses.dataclass(frozen=True, slots=True)
class Protection:
    """Mounts inside the writable folders."""

    read_only: tuple[Path, ...] = ()
    pinned: tuple[Path, ...] = ()
    """Folders above those: writable, but not to be moved."""

    complete: bool = True
    """Whether the search came to its end."""

    hidden: tuple[Path, ...] = ()
    """Files and folders that look secret: to be covered."""


def protect(
    writable: Sequence[Path], code: Sequence[Path], *, hides_secrets: bool = False
) -> Protection:
    """Find what to protect in writable folders: names that tools obey, `code` that will run.

    `hides_secrets` finds what looks secret, too. Raises `SecretsTooManyError`.
    """
    found: set[Path] = set()
    hidden: set[Path] = set()
    complete = True
    for folder in writable:
        search = _Search(folder, frozenset(writable), hidden if hides_secrets else None)
        found.update(search.run())
        complete &= search.complete
        found.update(path for path in code if path != folder and path.is_relative_to(folder))
    hidden = {path for path in hidden if not any(one in hidden for one in path.parents)}
    if len(hidden) > MOST_HIDDEN:
        raise SecretsTooManyError(len(hidden), MOST_HIDDEN)
    kept = {path for path in found - hidden if not any(one in found for one in path.parents)}
    within = {path for path in hidden if any(one in kept for one in path.parents)}
    moved = (kept | hidden) - within  # what lies in a read-only folder is not moved anyway
    pinned = {parent for path in moved for parent in _between(path, writable)} - set(writable)
    return Protection(tuple(sorted(kept)), tuple(sorted(pinned)), complete, tuple(sorted(hidden)))


def _between(path: Path, writable: Sequence[Path]) -> Iterator[Path]:
    """Give the parents of a path that lie inside a writable folder."""
    for parent in path.parents:
        if any(parent != folder and parent.is_relative_to(folder) for folder in writable):
            yield parent


class _Search:
    """Breadth first, so that what is left out when it gets too much is the deepest."""

    def __init__(self, top: Path, granted: frozenset[Path], hidden: set[Path] | None) -> None:
        self._top = top
        self._granted = frozenset(map(str, granted))
        self._hidden = hidden
        self.complete = True

    def run(self) -> Iterator[Path]:
        if self._top.name == ".git":
            yield from (self._top / name for name in _OF_GIT if (self._top / name).exists())
            return
        waiting = deque([self._top])
        for _ in range(_MOST_FOLDERS):
            if not waiting:
                return
            yield from self._look(waiting.popleft(), waiting)
        self.complete = False

    def _look(self, folder: Path, waiting: deque[Path]) -> Iterator[Path]:
        try:
            with os.scandir(folder) as found:  # tells kinds without a look at each file
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError:
            return  # a file; or not ours to read, so not the server's to write
        above = folder.relative_to(self._top).parts
        for entry in entries:
            if entry.path in self._granted or self._hide(entry, above) or entry.is_symlink():
                continue  # granted by name; or a link, which cannot be mounted on
            if protected_name((*above[-1:], entry.name)):  # the longest are two parts
                yield folder / entry.name
                if self._hidden is None or entry.name == ".git":
                    continue
            if entry.name not in _NOT_SEARCHED and entry.is_dir():
                self._enter(folder / entry.name, waiting)

    def _hide(self, entry: os.DirEntry[str], above: tuple[str, ...]) -> bool:
        """Note what looks secret, of a link what it stands for; say whether that is all of it."""
        if self._hidden is None:
            return False
        # of folders only known ones hold secrets: `id_card/` is no key
        within = ("_",) if entry.is_dir() else ()
        if not is_secret_path("/".join((*above, entry.name, *within))):
            return False
        real = Path(entry.path).resolve()
        if self._top in real.parents and real.exists():
            self._hidden.add(real)
        return True

    def _enter(self, folder: Path, waiting: deque[Path]) -> None:
        if len(folder.relative_to(self._top).parts) < _DEEPEST:
            waiting.append(folder)
        else:
            self.complete = False
