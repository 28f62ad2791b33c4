"""Reads lines for people: the newest of them, or all that fit. Judges nothing: `verify` does.

Without the key a line's truth cannot be told; with it, what is not authentic is marked.
"""

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


def _of_file(path: Path, key: bytes) -> Iterator[Entry]:
    try:
        descriptor = files.open_log(path)
    except FileNotFoundError:
        return  # set aside meanwhile
    except OSError as error:
        raise AuditUnavailableError(path, error.strerror or str(error)) from None
    size = os.fstat(descriptor).st_size
    with os.fdopen(descriptor, "rb") as stream:
        while stream.tell() < size:
            line = stream.readline(MOST_LINE_BYTES)
            entry = _entry(line.removesuffix(b"\n"), key)
            if entry is not None:
                yield entry


def _entry(line: bytes, key: bytes) -> Entry | None:
    try:
        record = json.loads(line)
        number, at, event = int(record["n"]), str(record["at"]), str(record["event"])
        facts = dict(record["facts"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Entry(number, at, event, facts, opened(key, line) is not None)
