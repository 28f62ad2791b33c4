"""The user's state folder: whether it and what is in it are the user's alone.

What servers keep in their private folders is not looked at, as its modes are theirs to choose and
the folder above keeps others out.
"""

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pml.diagnosis.finding import Finding, error, ok, warning

MOST_ENTRIES = 20_000
"""More are not looked at: a hundred runs of a hundred workspaces have fewer."""

_SERVERS, _OF_SERVERS = "servers", frozenset({"home", "tmp"})
_OTHERS, _OTHERS_WRITE = 0o077, 0o022

Fault = Literal["owner", "link", "write", "read"]


def look_at_state(state: Path, most_entries: int = MOST_ENTRIES) -> list[Finding]:
    """Look at owner and mode of all that PML keeps."""
    if not os.path.lexists(state):
        return [ok("state", f"{state} is made when it is needed")]
    faults: dict[Fault, list[Path]] = {}
    count = 0
    for path in _entries(state):
        count += 1
        if count > most_entries:
            break
        fault = _fault(path, is_root=path == state)
        if fault is not None:
            faults.setdefault(fault, []).append(path)
    found = [_told(state, fault, paths) for fault, paths in faults.items()]
    if count > most_entries:
        fact = f"only {most_entries} entries of {state} were looked at"
        found.append(warning("state", fact, "remove folders of `workspaces` that are gone"))
    return found or [ok("state", f"{state}: {count} files and folders, yours alone")]


def _entries(folder: Path) -> Iterator[Path]:
    """Give a folder and all below it, without following links or entering those of servers."""
    yield folder
    with os.scandir(folder) as listing:
        entries = [(Path(entry.path), entry.is_dir(follow_symlinks=False)) for entry in listing]
    for path, is_folder in entries:
        if not is_folder or (path.name in _OF_SERVERS and folder.parent.name == _SERVERS):
            yield path
        elif os.access(path, os.R_OK | os.X_OK):
            yield from _entries(path)
        else:
            yield path


def _fault(path: Path, *, is_root: bool) -> Fault | None:
    try:
        facts = path.stat() if is_root else path.lstat()
    except FileNotFoundError:
        return None  # another process has just removed it
    if stat.S_ISLNK(facts.st_mode):
        return "link"
    if facts.st_uid != os.getuid():
        return "owner"
    if facts.st_mode & _OTHERS_WRITE:
        return "write"
    return "read" if facts.st_mode & _OTHERS else None


def _told(state: Path, fault: Fault, paths: list[Path]) -> Finding:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    where, named = f"{paths[0]}{more}", shlex.quote(str(paths[0]))
    close = f"chmod -R go-rwx {shlex.quote(str(state))}"
    match fault:
        case "owner":
            fact = f"belongs to another user: {where}"
            return error("state", fact, f"move it away and see what it is: ls -ld {named}")
        case "link":
            fact = f"a link, where pml makes none: {where}"
            return error("state", fact, f"see where it leads, then remove it: ls -l {named}")
        case "write":
            return error("state", f"others can change it: {where}", close)
    return warning("state", f"others can read it: {where}", close)
