"""The files of the audit and how they are opened: never through a link, never another's.

    audit.jsonl        the newest lines
    audit.7.jsonl      older ones, set aside; the highest number is the newest
    audit.head         how many lines there were, and the hash of the last: what a cut tail breaks

Whether lines are true is not known here.
"""

import contextlib
import fcntl
import json
import os
import re
import stat
import time
from pathlib import Path

import blake3

from pml.audit.errors import AuditUnavailableError
from pml.audit.records import MOST_LINE_BYTES, Link, opened

NAME = "audit.jsonl"
HEAD = "audit.head"

_SET_ASIDE = re.compile(r"audit\.([1-9][0-9]{0,8})\.jsonl")
_WINDOW_BYTES = 2 * MOST_LINE_BYTES  # of the end of a file: has at least one whole line
_LOCK_SECONDS = 2.0  # a line takes microseconds: whoever holds it longer is stuck
_LOOK_SECONDS = 0.0005
_MOST_HEAD_BYTES = 1000


def open_flags() -> int:
    """Give what every opening here has: no links, no waiting for a pipe, not for children."""
    return os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def set_aside(folder: Path) -> list[int]:
    """Give the numbers of the files set aside, the oldest first."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are all we need
    except FileNotFoundError:
        return []
    return sorted(int(match[1]) for name in names if (match := _SET_ASIDE.fullmatch(name)))


def aside_path(folder: Path, number: int) -> Path:
    """Give the name of a file set aside."""
    return folder / f"audit.{number}.jsonl"


def log_files(folder: Path) -> list[Path]:
    """Give the files of a folder, the oldest first."""
    paths = [aside_path(folder, number) for number in set_aside(folder)]
    return [*paths, folder / NAME] if os.path.lexists(folder / NAME) else paths


def open_log(path: Path, *, to_write: bool = False) -> int:
    """Open a file of lines; refuse what is no plain file of the user alone."""
    mode = os.O_RDWR | os.O_APPEND | os.O_CREAT if to_write else os.O_RDONLY
    descriptor = os.open(path, mode | open_flags(), 0o600)
    facts = os.fstat(descriptor)
    if stat.S_ISREG(facts.st_mode) and facts.st_uid == os.getuid() and facts.st_nlink <= 1:
        if facts.st_mode & 0o077:
            os.fchmod(descriptor, 0o600)
        return descriptor
    os.close(descriptor)
    raise AuditUnavailableError(path, "it is no plain file of yours, with one name")


def lock(descriptor: int, path: Path, *, shared: bool = False) -> None:
    """Wait for other processes' lines to be whole, for a bounded time."""
    mode = (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB
    until = None
    while True:
        try:
            fcntl.flock(descriptor, mode)
        except BlockingIOError:
            until = until or time.monotonic() + _LOCK_SECONDS
            if time.monotonic() > until:
                raise AuditUnavailableError(path, "another process holds it") from None
            time.sleep(_LOOK_SECONDS)
        else:
            return


def write_all(descriptor: int, content: bytes) -> None:
    """Write all of it, or raise: a nearly full disk takes a part."""
    written = os.write(descriptor, content)
    while written < len(content):
        written += os.write(descriptor, content[written:])


def last_link(descriptor: int, key: bytes) -> tuple[Link | None, bytes]:
    """Give the last authentic line of a file, and what stands after it and its line break."""
    size = os.fstat(descriptor).st_size
    start = max(0, size - _WINDOW_BYTES)
    window = os.pread(descriptor, size - start, start)
    stop = len(window)
    while stop > 0:
        begin = window.rfind(b"\n", 0, stop) + 1
        found = opened(key, window[begin:stop])
        if found is not None:
            return found[0], window[stop + 1 :]
        stop = begin - 1
    return None, window


def ends_open(descriptor: int) -> bool:
    """Tell whether a file ends without a line break."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def read_head(folder: Path, key: bytes) -> Link | str:
    """Give the place in the chain that was last noted, or what is wrong with the note."""
    try:
        descriptor = os.open(folder / HEAD, os.O_RDONLY | open_flags())
    except FileNotFoundError:
        return "missing"
    except OSError:
        return "damaged"
    try:
        content = os.read(descriptor, _MOST_HEAD_BYTES)
        facts = json.loads(content)
        link = Link(facts["lines"], facts["last"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "damaged"
    finally:
        os.close(descriptor)
    return link if content == _head(link, key) else "damaged"


def write_head(folder: Path, key: bytes, link: Link) -> None:
    """Note a place in the chain; another process sees the old note or the new one."""
    draft = folder / f"{HEAD}.{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        draft.unlink()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | open_flags(), 0o600)
    try:
        write_all(descriptor, _head(link, key))
    finally:
        os.close(descriptor)
    draft.replace(folder / HEAD)


def _head(link: Link, key: bytes) -> bytes:
    body = f'{{"lines":{link.number},"last":"{link.hash}"'.encode()
    digest = blake3.blake3(body, key=key).hexdigest()
    return b'%b,"hash":"%b"}\n' % (body, digest.encode())
