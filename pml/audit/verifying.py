"""Checks the whole audit of a workspace; names the first line that is not as it was written.

Files are opened under the lock and read without it, so that calls go on meanwhile.
"""

import contextlib
import dataclasses
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from pml.audit import files
from pml.audit.chain import Chain, ChainBrokenError, Place
from pml.audit.errors import AuditUnavailableError
from pml.audit.key import existing_key
from pml.audit.log import KEPT_FILES
from pml.audit.records import MOST_LINE_BYTES

Progress = Callable[[int, int], None]
"""Told how many of how many bytes were read."""

_PROGRESS_LINES = 5000  # about 50 ms
_MOST_LOOKS = 200  # for a file that is being set aside
_LOOK_SECONDS = 0.0005


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What `verify` found."""

    count: int = 0
    """Lines that are as they were written, up to the break if there is one."""

    broken: Place | None = None
    """The first one that is not."""

    partial: tuple[Place, ...] = ()
    """Half lines, left by a crash or a full disk; the chain goes on after them."""

    @property
    def ok(self) -> bool:
        """Say whether nothing was changed."""
        return self.broken is None


@dataclasses.dataclass(frozen=True, slots=True)
class _Opened:
    name: str
    number: int
    stream: BinaryIO
    size: int
    """When the lock was held: later lines are not looked at."""


def verify(folder: Path, progress: Progress | None = None) -> Report:
    """Check all lines of a workspace's folder; raises `AuditKeyLostError` without the key."""
    key = existing_key(folder)
    if key is None:
        return Report()
    chain = Chain(key)
    try:
        with contextlib.ExitStack() as stack:
            opened = _opened(folder, chain, stack)
            _check_names(opened)
            _read_all(opened, chain, progress)
            chain.finish(files.NAME)
    except ChainBrokenError as broken:
        return Report(chain.count, broken.place, tuple(chain.partial))
    return Report(chain.count, None, tuple(chain.partial))


def _opened(folder: Path, chain: Chain, stack: contextlib.ExitStack) -> list[_Opened]:
    """Open all files at one moment between two lines."""
    for _ in range(_MOST_LOOKS):
        try:
            current = _locked(folder / files.NAME, stack) if files.log_files(folder) else None
            return _at_this_moment(folder, chain, stack, current)
        except FileNotFoundError:
            stack.close()  # set aside while we looked: the next one is about to be made
            time.sleep(_LOOK_SECONDS)
    return _at_this_moment(folder, chain, stack, None)


def _at_this_moment(
    folder: Path, chain: Chain, stack: contextlib.ExitStack, current: BinaryIO | None
) -> list[_Opened]:
    """Open the files that were set aside too; note the head."""
    numbers = files.set_aside(folder)
    opened = [
        _as_opened(number, _open(files.aside_path(folder, number), stack)) for number in numbers
    ]
    chain.head = files.read_head(folder, chain.key)
    if current is not None:
        opened.append(_as_opened(max(numbers, default=0) + 1, current, files.NAME))
        fcntl.flock(current, fcntl.LOCK_UN)
    return opened


def _locked(path: Path, stack: contextlib.ExitStack) -> BinaryIO:
    """Give the newest file, with no line under way."""
    stream = _open(path, stack)
    files.lock(stream.fileno(), path, shared=True)
    if not os.path.samestat(os.lstat(path), os.fstat(stream.fileno())):
        raise FileNotFoundError
    return stream


def _open(path: Path, stack: contextlib.ExitStack) -> BinaryIO:
    try:
        descriptor = files.open_log(path)
    except FileNotFoundError:
        raise
    except (OSError, AuditUnavailableError):
        reason = "it is a link, or no plain file of yours"
        raise ChainBrokenError(path.name, 0, reason) from None
    return stack.enter_context(os.fdopen(descriptor, "rb"))


def _as_opened(number: int, stream: BinaryIO, name: str | None = None) -> _Opened:
    size = os.fstat(stream.fileno()).st_size
    return _Opened(name or files.aside_path(Path(), number).name, number, stream, size)


def _check_names(opened: list[_Opened]) -> None:
    """Files are set aside one after the other, and only the oldest are ever removed."""
    numbers = [one.number for one in opened]
    newest = numbers[-1] if numbers else 0
    for number in range(max(1, newest - KEPT_FILES), newest):
        if number not in numbers:
            raise ChainBrokenError(files.aside_path(Path(), number).name, 0, "it is missing")


def _read_all(opened: list[_Opened], chain: Chain, progress: Progress | None) -> None:
    total, before = sum(one.size for one in opened), 0
    for one in opened:
        chain.begin_file(one.number)
        for count, position in enumerate(_read(one, chain)):
            if progress is not None and count % _PROGRESS_LINES == 0:
                progress(before + position, total)
        before += one.size


def _read(one: _Opened, chain: Chain) -> Iterator[int]:
    """Give the lines of a file to the chain; tell the position after each."""
    position, number = 0, 1
    while position < one.size:
        line = one.stream.readline(min(MOST_LINE_BYTES, one.size - position))
        if not line:
            return  # cut short while we read: the next check tells
        position += len(line)
        chain.add(one.name, number, line)
        number += line.endswith(b"\n")
        yield position
