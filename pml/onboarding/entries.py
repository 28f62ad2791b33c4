"""Our entry in a client's own file: added, or found there and looked at.

An entry `pml` that was there before is kept, but it may be anything: a clone's file may start a
program of the clone under our name, and the user is about to be told to allow it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pml.config.rewriting import parsed, with_member
from pml.config.spots import shown
from pml.onboarding import codex
from pml.onboarding.clients import (
    NAME,
    Client,
    Program,
    Surroundings,
    entry_of,
    file_of,
    runs_pml,
    section_of,
)
from pml.onboarding.errors import EntryTakenError
from pml.onboarding.files import FileChange, free_backup, read_own, text_of
from pml.redaction.shapes import masked

_HOMES = ("~/", "${HOME}/", "${userHome}/")


def client_change(
    around: Surroundings, client: Client, program: Program
) -> tuple[FileChange, str | None]:
    """Give what becomes of the client's file, and what the user should know about it."""
    path = file_of(client, around)
    before = read_own(path, None if client is Client.CODEX else around.workspace)
    entry, text = entry_of(client, program, around), text_of(before, path)
    there = _present(text, client, path)
    if there is not None:
        note = _checked(there, entry, path, around.workspace)
        return FileChange(path, before, before), note
    after = _with_entry(text, client, entry, path)
    added = _with_entry("", client, entry, path)
    backup = free_backup(path) if before is not None else None
    return FileChange(path, before, after.encode(), backup=backup, added=added), None


def json_text(value: Mapping[str, Any]) -> str:
    """Write a whole file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _checked(
    there: Mapping[str, Any], entry: Mapping[str, Any], path: Path, workspace: Path
) -> str | None:
    """Raise if the entry is not PML, or a PML of the workspace; tell if it is not quite ours."""
    command, args = there.get("command"), there.get("args", [])
    if (command, args) == (entry["command"], entry["args"]):
        return None
    if not runs_pml(there) or _is_inside(str(command), workspace):
        raise EntryTakenError(path, str(there.get("command", "nothing")))
    words = masked(" ".join(map(str, (command, *args))))
    return f"{path} has had an entry `pml`, which stays: it runs {shown(words)}"


def _is_inside(command: str, workspace: Path) -> bool:
    """Tell a program of the workspace: also one that is named from where the client starts it."""
    if "/" not in command or command.startswith(_HOMES):
        return False
    path = Path(command)
    return not path.is_absolute() or path.is_relative_to(workspace)


def _present(text: str, client: Client, path: Path) -> Mapping[str, Any] | None:
    if client is Client.CODEX:
        return codex.present(text, path)
    if not text.strip():
        return None
    root = parsed(text, path, relaxed=True).root
    servers = root.value.get(section_of(client)) if root and isinstance(root.value, dict) else None
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    return entry if isinstance(entry, dict) or entry is None else {}


def _with_entry(text: str, client: Client, entry: Mapping[str, Any], path: Path) -> str:
    if client is Client.CODEX:
        return codex.with_entry(text, entry, path)
    if not text.strip():
        return json_text({section_of(client): {NAME: entry}})
    return with_member(text, (section_of(client), NAME), dict(entry), file=path)
