"""What exists inside a writable folder and must stay as it is: only bubblewrap can keep that.

Landlock is allow-only: within a folder it lets write it protects nothing. A read-only mount does,
if its parents are mounts of their own: otherwise `mv .git .git2` carries the mount away and leaves
the name free. Only what exists is mounted: creating placeholders would litter the workspace.
"""

import dataclasses
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from sandbox_host.mounts import protected_name

_OF_GIT = ("hooks", "config", "config.worktree", "modules")
"""What runs programs, within a `.git` that was granted for writing by name."""

_NOT_SEARCHED = frozenset({"node_modules", "__pycache__", "site-packages"})
_MOST_FOLDERS = 2000  # a workspace may be huge; some 50 ms
_DEEPEST = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Protection:
    """Mounts inside the writable folders."""

    read_only: tuple[Path, ...] = ()
    pinned: tuple[Path, ...] = ()
    """Folders above those: writable, but not to be moved."""

    complete: bool = True
    """Whether the search came to its end."""


def protect(writable: Sequence[Path], code: Sequence[Path]) -> Protection:
    """Find what to protect in writable folders: names that tools obey, `code` that will run."""
    found: set[Path] = set()
    complete = True
    for folder in writable:
        search = _Search(folder, frozenset(writable))
        found.update(search.run())
        complete &= search.complete
        found.update(path for path in code if path != folder and path.is_relative_to(folder))
    kept = {path for path in found if not any(parent in found for parent in path.parents)}
    pinned = {parent for path in kept for parent in _between(path, writable)} - set(writable)
    return Protection(tuple(sorted(kept)), tuple(sorted(pinned)), complete)


def _between(path: Path, writable: Sequence[Path]) -> Iterator[Path]:
    """Give the parents of a path that lie inside a writable folder."""
    for parent in path.parents:
        if any(parent != folder and parent.is_relative_to(folder) for folder in writable):
            yield parent


class _Search:
    """Breadth first, so that what is left out when it gets too much is the deepest."""

    def __init__(self, top: Path, granted: frozenset[Path]) -> None:
        self._top = top
        self._granted = granted
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
            entries = sorted(folder.iterdir()) if folder.is_dir() else []
        except OSError:
            return  # not ours to read, so not the server's to write
        for entry in entries:
            if entry in self._granted or entry.is_symlink():
                continue  # granted by name; or a link, which cannot be mounted on
            if protected_name(entry.relative_to(self._top).parts):
                yield entry
            elif entry.name not in _NOT_SEARCHED and entry.is_dir():
                self._enter(entry, waiting)

    def _enter(self, folder: Path, waiting: deque[Path]) -> None:
        if len(folder.relative_to(self._top).parts) < _DEEPEST:
            waiting.append(folder)
        else:
            self.complete = False
