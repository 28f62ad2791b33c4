"""Where the chain goes on, when a file is opened or somebody else has changed it.

Compares three witnesses: the end of the file, the head, and what this process wrote itself. The
next line follows the one that knows most, so that lines which were removed leave a gap for
`verify`; what does not fit is told in a record of its own.
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import blake3

from pml.audit import files
from pml.audit.records import START, Link, is_cut

OPENED, RECOVERED = "opened", "recovered"
"""Events: the first line of every file; a line that tells what was found wrong."""

PARTIAL = "partial"
"""The problem that a crash or a full disk leaves; every other one is somebody's doing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Resumption:
    """What to write first, and after which line."""

    last: Link
    noted: Link | None
    """What the head says, if it says anything."""

    glue: bytes = b""
    """Ends a line that was left half written."""

    event: str | None = None
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def resumption(folder: Path, descriptor: int, key: bytes, written: Link) -> Resumption:
    """Look at the witnesses; `written` is the last line of this process."""
    found, rest = files.last_link(descriptor, key)
    numbers = files.set_aside(folder)
    before = found
    if before is None:
        before, older = _last_aside(folder, numbers, key)
        rest = older + rest
    head = files.read_head(folder, key)
    if head == "missing" and max(before, written) == START and not rest:
        head = START  # nothing was ever written
        files.write_head(folder, key, head)
    noted = head if isinstance(head, Link) else None
    last = max((before, written, noted or START), key=lambda link: link.number)
    problems = _problems(rest, before, last, head)
    facts: dict[str, Any] = {} if found else {"file": max(numbers, default=0) + 1}
    if problems:
        facts |= {"problems": problems, "after": before.number, **rest_facts(rest)}
    event = OPENED if found is None else RECOVERED if problems else None
    glue = b"\n" if files.ends_open(descriptor) else b""
    return Resumption(last, noted, glue, event, facts)


def rest_facts(rest: bytes) -> dict[str, Any]:
    """Tell what stands after the last line, so that it cannot be changed later."""
    return {"bytes": len(rest), "rest": blake3.blake3(rest).hexdigest()}


def _problems(rest: bytes, before: Link, last: Link, head: Link | str) -> list[str]:
    problems = []
    if rest:
        problems.append(PARTIAL if is_cut(rest, before) else "damaged")
    if last != before:
        problems.append("missing")
    if isinstance(head, str):
        problems.append(f"head {head}")
    return problems


def _last_aside(folder: Path, numbers: list[int], key: bytes) -> tuple[Link, bytes]:
    if not numbers:
        return START, b""
    descriptor = files.open_log(files.aside_path(folder, numbers[-1]))
    try:
        found, rest = files.last_link(descriptor, key)
        return found or START, rest
    finally:
        os.close(descriptor)
