"""A folder as a value: what lies in it, its hash, and a stamp that is quicker to look at.

The hash covers every path, what kind of thing it is, whether it can be executed, and all content:
`sha256-` over the sorted entries, each with its length in front so that no two trees read alike.
Links must stay inside, but for a virtual environment's interpreter, whose target counts as text.

The stamp covers size, times, inode and mode instead of content. The kernel sets a file's change
time (ctime) with every write, truncation, rename and change of mode, and no program can set it
back, as it can the modification time; so a tree with the same stamp has the same content, if the
stamp was taken when the newest change was a while ago (`is_settled`): the clock of a file system
has ticks, and what is written twice in one tick looks like once. Not seen: a disk that rots, root.
"""

import dataclasses
import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from pml.loader.installer.errors import TreeUnsafeError

MOST_ENTRIES = 300_000
"""Files, folders and links; the largest real server tried has 40,000."""

MOST_BYTES = 4 << 30
_SETTLED_NS = 2_000_000_000
"""Longer than a tick of any file system: the coarsest, FAT, has 2 s."""

_CHUNK_BYTES = 1 << 20


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One thing in a tree."""

    path: str
    """Below the tree's root, with slashes."""

    facts: os.stat_result
    target: str = ""
    """Of a link."""

    @property
    def kind(self) -> bytes:
        """Say what it is: a file, a file that can be executed, a folder or a link."""
        mode = self.facts.st_mode
        if stat.S_ISDIR(mode):
            return b"d"
        if stat.S_ISLNK(mode):
            return b"l"
        return b"x" if mode & 0o111 else b"f"


def entries(root: Path, *, leading_out: Collection[str] = ()) -> list[Entry]:
    """Give all that is in a tree, sorted; raise `TreeUnsafeError` for what must not be there.

    `leading_out` names the links that may point outside.
    """
    found: list[Entry] = []
    size = 0
    for entry in _walk(str(root), ""):
        _check(entry, leading_out)
        size += entry.facts.st_size
        found.append(entry)
        if len(found) > MOST_ENTRIES or size > MOST_BYTES:
            raise TreeUnsafeError(entry.path, f"is one too many: over {len(found)} files")
    return sorted(found, key=lambda entry: os.fsencode(entry.path))


def tree_hash(root: Path, found: Iterable[Entry]) -> str:
    """Give `sha256-` and the hash of these entries with their content as it is now."""
    whole = hashlib.sha256(b"pml tree 1\n")
    for entry in found:
        content = os.fsencode(entry.target)
        if entry.kind in b"fx":
            content = _content_hash(root / entry.path)
        for part in (entry.kind, os.fsencode(entry.path), content):
            whole.update(len(part).to_bytes(8) + part)
    return f"sha256-{whole.hexdigest()}"


def stamp(found: Iterable[Entry]) -> str:
    """Give a hash of what the kernel says of these entries, without reading them."""
    whole = hashlib.sha256()
    for entry in found:
        facts = entry.facts
        numbers = (
            facts.st_dev, facts.st_ino, facts.st_mode, facts.st_uid, facts.st_size,
            facts.st_mtime_ns, facts.st_ctime_ns,
        )  # fmt: skip
        whole.update(f"{entry.path}\0{entry.target}\0{numbers}\0".encode(errors="surrogateescape"))
    return whole.hexdigest()


def is_settled(found: Sequence[Entry], now_ns: int) -> bool:
    """Say whether the newest change is so long ago that a later one would have another time."""
    return all(entry.facts.st_ctime_ns < now_ns - _SETTLED_NS for entry in found)


def _walk(folder: str, below: str) -> Iterator[Entry]:
    """Go through a folder; plain strings, as a path object per file would take half the time."""
    inner: list[str] = []
    with os.scandir(folder) as listing:
        for one in listing:
            target = os.readlink(one.path) if one.is_symlink() else ""  # noqa: PTH115
            yield Entry(below + one.name, one.stat(follow_symlinks=False), target)
            if one.is_dir(follow_symlinks=False):
                inner.append(one.name)
    for name in inner:
        yield from _walk(f"{folder}/{name}", f"{below}{name}/")


def _check(entry: Entry, leading_out: Collection[str]) -> None:
    mode = entry.facts.st_mode
    if stat.S_ISDIR(mode):
        return
    if stat.S_ISLNK(mode):
        if entry.path not in leading_out and _leads_out(entry):
            raise TreeUnsafeError(entry.path, "is a link that leads out of the package")
    elif not stat.S_ISREG(mode):
        raise TreeUnsafeError(entry.path, "is neither a file nor a folder")
    elif mode & (stat.S_ISUID | stat.S_ISGID):
        raise TreeUnsafeError(entry.path, "would run as another user")


def _leads_out(entry: Entry) -> bool:
    if os.path.isabs(entry.target):  # noqa: PTH117 - a text, not a path of this process
        return True
    led = os.path.normpath(os.path.join(os.path.dirname(entry.path), entry.target))  # noqa: PTH118, PTH120
    return led == ".." or led.startswith("../")


def _content_hash(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(descriptor, "rb", buffering=0) as file:  # noqa: PTH123 - a descriptor
        digest = hashlib.sha256()
        while content := file.read(_CHUNK_BYTES):
            digest.update(content)
        return digest.digest()
