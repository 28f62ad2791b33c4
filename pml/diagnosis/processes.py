"""Processes that outlived their gateway. Linux only; looks, and ends nothing.

A server's TMPDIR is `<state>/workspaces/<workspace>/servers/<server>/tmp/<pid of the gateway>`,
and what it starts inherits that. So whoever carries such a path of a gateway that is gone is a
stray. The supervisor above it hides its environment, and is known by its command line.
"""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

from pml.confinement.confining import CHILD
from pml.diagnosis.finding import Finding, ok, warning

_ENTER = os.fsencode(CHILD / "enter.py")
_VARIABLE = b"TMPDIR="
_COMMAND_CHARACTERS = 80
_MOST_ANCESTORS = 4  # supervisor, bubblewrap's two, and one to spare
_STATE, _PARENT, _START = 0, 1, 19  # fields of /proc/PID/stat after the name
_MOST_TOLD = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Stray:
    """A process whose gateway is gone."""

    pid: int
    server: str
    gateway: int
    command: str


def look_for_strays(processes: Path, state: Path) -> list[Finding]:
    """Name what outlived its gateway, and the command that ends it."""
    if not (processes / "self").exists():
        return []
    found = list(strays(processes, state))
    if not found:
        return [ok("processes", "none of an ended pml")]
    told = [
        warning(
            "processes",
            f"{one.pid} of server {one.server} outlived its pml {one.gateway}: {one.command}",
            f"kill -9 {' '.join(map(str, [one.pid, *_supervisors(processes, one.pid)]))}",
        )
        for one in found[:_MOST_TOLD]
    ]
    if len(found) > _MOST_TOLD:
        rest = " ".join(str(one.pid) for one in found[_MOST_TOLD:])
        told.append(warning("processes", f"{len(found) - _MOST_TOLD} more", f"kill -9 {rest}"))
    return told


def strays(processes: Path, state: Path) -> Iterator[Stray]:
    """Give the processes of this user whose gateway is gone."""
    root = Path(os.path.realpath(state)) / "workspaces"
    for pid in sorted(int(path.name) for path in processes.iterdir() if path.name.isdigit()):
        owner = _owner(processes / str(pid), root)
        if owner is None:
            continue
        server, gateway = owner
        if not is_alive(processes, gateway, as_of=pid):
            yield Stray(pid, server, gateway, _command(processes / str(pid)))


def is_alive(processes: Path, pid: int, *, as_of: int | None = None) -> bool:
    """Say whether a process runs; with `as_of`, whether it can be that one's ancestor.

    Process ids are used again: one that began later is another.
    """
    facts = _facts(processes / str(pid))
    if not facts or facts[_STATE] in "ZX":
        return False
    later = _facts(processes / str(as_of)) if as_of is not None else []
    return not later or int(facts[_START]) <= int(later[_START])


def _owner(process: Path, root: Path) -> tuple[str, int] | None:
    """Give server and gateway, as the process's environment tells; None for all others."""
    try:
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return None  # another user's, or gone
    for variable in variables:
        if not variable.startswith(_VARIABLE):
            continue
        path = Path(os.path.realpath(os.fsdecode(variable.removeprefix(_VARIABLE))))
        if path.is_relative_to(root):
            return _named(path.relative_to(root).parts)
    return None


def _named(parts: tuple[str, ...]) -> tuple[str, int] | None:
    match parts:
        case (_, "servers", server, "tmp", gateway, *_) if gateway.isdecimal():
            return server, int(gateway)
    return None


def _supervisors(processes: Path, pid: int) -> Iterator[int]:
    """Give the processes of ours above one, which would otherwise wait for it for ever."""
    for _ in range(_MOST_ANCESTORS):
        facts = _facts(processes / str(pid))
        pid = int(facts[_PARENT]) if facts else 0
        if pid and _ENTER in _words(processes / str(pid)):
            yield pid


def _facts(process: Path) -> list[str]:
    """Give the fields of `stat` after the name, which is the process's own choice."""
    try:
        text = (process / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _words(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _command(process: Path) -> str:
    """Give the program alone: what follows may be a key."""
    return os.fsdecode(next(iter(_words(process)), b""))[:_COMMAND_CHARACTERS]
