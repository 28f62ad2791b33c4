"""The clients' own files: whether one starts PML here, by a command that is there."""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pml.config.rewriting import parsed
from pml.diagnosis.finding import Finding, error, of_problem, ok, warning
from pml.diagnosis.surroundings import Surroundings
from pml.errors import PmlError
from pml.onboarding import Client, codex
from pml.onboarding import Surroundings as Place
from pml.onboarding.clients import NAME, file_of, runs_pml, section_of
from pml.onboarding.files import read_own, text_of

_FOLDER = re.compile(r"\$\{(?:workspaceFolder|CLAUDE_PROJECT_DIR(?::-[^}]*)?)\}")
"""What clients fill in for the workspace."""

_INIT = "pml init --client {}"


def look_at_clients(workspace: Path, around: Surroundings) -> list[Finding]:
    """Look into the files of all clients that `pml init` can set up."""
    place = Place(workspace, around.environ, around.home, sys.platform)
    found = [one for client in Client for one in _of_client(client, place)]
    if found:
        return found
    return [warning("client", "no client starts pml here", _INIT.format("|".join(Client)))]


def _of_client(client: Client, place: Place) -> list[Finding]:
    path, subject = file_of(client, place), f"client {client}"
    try:
        entry = _entry(client, path, place)
    except PmlError as problem:
        return [of_problem(subject, problem, f"correct {path}")]
    if entry is None:
        return []
    if not runs_pml(entry):
        fix = f"rename that entry in {path}, then {_INIT.format(client)}"
        return [warning(subject, f"`{NAME}` of {path} starts something else", fix)]
    command = str(entry["command"])
    if _found(command, place) is None:
        fix = f"remove the entry `{NAME}` from {path}, then {_INIT.format(client)}"
        return [error(subject, f"{path} starts {command}, which is not there", fix)]
    return [ok(subject, f"{path} starts {command}")]


def _entry(client: Client, path: Path, place: Place) -> Mapping[str, Any] | None:
    content = read_own(path, None if client is Client.CODEX else place.workspace)
    text = text_of(content, path)
    if not text.strip():
        return None
    if client is Client.CODEX:
        return codex.present(text, path)
    root = parsed(text, path, relaxed=True).root
    servers = root.value.get(section_of(client)) if root and isinstance(root.value, dict) else None
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    return entry if isinstance(entry, dict) or entry is None else {}


def _found(command: str, place: Place) -> str | None:
    """Look a command up as the client would, in the workspace."""
    filled = _FOLDER.sub(lambda _: str(place.workspace), command)
    named = str(place.workspace / filled) if "/" in filled else filled
    return shutil.which(named, path=place.environ.get("PATH", os.defpath))
