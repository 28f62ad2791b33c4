"""Reads lines for people: the newest, or all. Judges single lines; the whole is for `verify`."""

import collections
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pml.audit import files
from pml.audit.errors import AuditUnavailableError
from pml.audit.key import existing_key
from pml.audit.records import MOST_LINE_BYTES, opened


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One line; its facts may be a server's or a guest's words."""

    number: int
    at: str
    event: str
    facts: Mapping[str, Any]
    authentic: bool
    """Written with the user's key, and not changed since."""


def entries(folder: Path) -> Iterator[Entry]:
    """Give all lines, the oldest first; what is no line at all is left out."""
    key = existing_key(folder)
    if key is None:
        return
    for path in files.log_files(folder):
        yield from _of_file(path, key)


def newest(folder: Path, count: int) -> list[Entry]:
    """Give the last lines, the oldest of them first; reads no file that is not needed."""
    key = existing_key(folder)
    found: list[Entry] = []
    for path in reversed(files.log_files(folder) if key else []):
        lines = collections.deque(_lines(path), maxlen=count - len(found))
        found[:0] = [entry for line in lines if (entry := _entry(line, key or b""))]
        if len(found) >= count:
            break
    return found


def _of_file(path: Path, key: bytes) -> Iterator[Entry]:
    for line in _lines(path):
        entry = _entry(line, key)
        if entry is not None:
            yield entry


def _lines(path: Path) -> Iterator[bytes]:
    try:
        descriptor = files.open_log(path)
    except FileNotFoundError:
        return  # set aside meanwhile
    except OSError as error:
        raise AuditUnavailableError(path, error.strerror or str(error)) from None
    size = os.fstat(descriptor).st_size
    with os.fdopen(descriptor, "rb") as stream:
        while stream.tell() < size:
            yield stream.readline(MOST_LINE_BYTES).removesuffix(b"\n")


def _entry(line: bytes, key: bytes) -> Entry | None:
    try:
        record = json.loads(line)
        number, at, event = int(record["n"]), str(record["at"]), str(record["event"])
        facts = dict(record["facts"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Entry(number, at, event, facts, opened(key, line) is not None)
