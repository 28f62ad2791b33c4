"""Files that are read and then written together: all of them, or none.

A file of the workspace is never reached through a link, and what is written is what was read plus
our entry: a file that changed meanwhile is left alone. Knows nothing of what is in the files.
"""

import contextlib
import dataclasses
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pml.config.editing import check_unchanged, replace_file, write_whole
from pml.config.errors import ConfigError, ConfigNotTextError, ConfigTooLargeError
from pml.config.spots import Spot
from pml.onboarding.errors import FileRefusedError, WriteFailedError

MOST_BYTES = 1 << 20
"""Of a file that we change; what is larger was not written by hand."""

SHARED_MODE, PRIVATE_MODE = 0o644, 0o600
_MARK = b"\xef\xbb\xbf"
_MOST_BACKUPS = 1000

Action = Literal["created", "changed", "unchanged", "skipped"]


@dataclasses.dataclass(frozen=True, slots=True)
class FileChange:
    """What one file is, and what it is to be."""

    path: Path
    before: bytes | None = dataclasses.field(repr=False)
    after: bytes | None = dataclasses.field(repr=False)
    """None: the file is left as it is, whatever we would have liked."""

    mode: int = SHARED_MODE
    """Of a new file; an existing one keeps its own."""

    backup: Path | None = None
    """Where the old content is kept."""

    added: str = ""
    """What is new in it, fit to be shown: nothing of the file, whose other lines may hold keys."""

    @property
    def action(self) -> Action:
        """Say what happens to the file."""
        if self.after is None:
            return "skipped"
        if self.before is None:
            return "created"
        return "unchanged" if self.before == self.after else "changed"

    @property
    def is_written(self) -> bool:
        """Say whether anything is done."""
        return self.action in ("created", "changed")


def read_own(path: Path, root: Path | None, *, most_bytes: int = MOST_BYTES) -> bytes | None:
    """Read a file that may be changed, None if there is none; `root`: it must lie in there.

    Raises `FileRefusedError` for a link, a folder, or a way that leads out of `root`.
    """
    folder = Path(os.path.realpath(path.parent))
    if root is not None and not folder.is_relative_to(os.path.realpath(root)):
        raise FileRefusedError(path, "a link leads out of the workspace")
    if not os.path.lexists(path):
        return None
    if path.is_symlink():
        raise FileRefusedError(path, "it is a link", "replace it by a file")
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileRefusedError(path, "it is no file")
            content = stream.read(most_bytes + 1)
    except OSError as error:
        raise FileRefusedError(path, error.strerror or str(error)) from None
    if len(content) > most_bytes:
        raise ConfigTooLargeError(Spot(path), most_bytes)
    return content


def text_of(content: bytes | None, path: Path) -> str:
    """Give a file's text, empty if there is none."""
    if content is None:
        return ""
    if content.startswith(_MARK):
        raise ConfigNotTextError(Spot(path, 1, 1), has_mark=True)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        good = content[: error.start].decode()
        line = good.count("\n") + 1
        spot = Spot(path, line, len(good) - good.rfind("\n"))
        raise ConfigNotTextError(spot, has_mark=False) from None


def free_backup(path: Path) -> Path:
    """Give the name of a backup that overwrites no other: `.backup`, `.backup.2`, ..."""
    for number in range(1, _MOST_BACKUPS):
        end = ".backup" if number == 1 else f".backup.{number}"
        candidate = path.with_name(f"{path.name}{end}")
        if not os.path.lexists(candidate):
            return candidate
    raise FileRefusedError(path, "it has too many backups", "remove some of them")


def write_all(changes: Sequence[FileChange]) -> None:
    """Write what is to be written, in order; on any trouble take all of it back.

    Raises `WriteFailedError`.
    """
    writing = _Writing()
    for change in changes:
        if not change.is_written:
            continue
        try:
            writing.write(change)
        except (ConfigError, OSError) as error:
            left = writing.take_back()
            raise WriteFailedError(change.path, _reason(error), left=left) from None
        except BaseException:
            writing.take_back()
            raise


class _Writing:
    """What was done so far, to be undone in the other order."""

    def __init__(self) -> None:
        self._made: list[Path] = []
        self._written: list[FileChange] = []

    def write(self, change: FileChange) -> None:
        self._make_folders(change.path.parent)
        if change.backup is not None and change.before is not None:
            mode = check_unchanged(change.path, change.before)
            write_whole(change.backup, change.before, mode or PRIVATE_MODE, new=True)
            self._made.append(change.backup)
        replace_file(change.path, change.after or b"", change.before, new_mode=change.mode)
        self._written.append(change)

    def take_back(self) -> tuple[Path, ...]:
        """Put everything back; give what could not be."""
        left = [one.path for one in reversed(self._written) if not _put_back(one)]
        for path in reversed(self._made):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        return tuple(left)

    def _make_folders(self, folder: Path) -> None:
        missing = [one for one in (folder, *folder.parents) if not one.exists()]
        for one in reversed(missing):
            one.mkdir()
            self._made.append(one)


def _put_back(change: FileChange) -> bool:
    """Undo one change, unless somebody has written the file since."""
    try:
        if change.before is not None:
            replace_file(change.path, change.before, change.after)
        elif check_unchanged(change.path, change.after) is not None:
            change.path.unlink()
    except (ConfigError, OSError):
        return False
    return True


def _reason(error: ConfigError | OSError) -> str:
    if isinstance(error, ConfigError):
        return error.fact
    return error.strerror or str(error)
