import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pml.diagnosis import Finding, Surroundings
from pml.diagnosis.clients import look_at_clients

FILES = {"claude": (".mcp.json", "mcpServers"), "cursor": (".cursor/mcp.json", "mcpServers"),
         "vscode": (".vscode/mcp.json", "servers")}  # fmt: skip


def wrote(around: Surroundings, client: str, entry: Any) -> Finding:
    name, section = FILES[client]
    path = around.cwd / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({section: {"pml": entry}}), encoding="utf-8")
    [found] = look_at_clients(around.cwd, around)
    return found


@pytest.mark.parametrize("client", FILES)
def test_a_client_that_starts_pml_is_well(around: Surroundings, client: str) -> None:
    found = wrote(around, client, {"command": sys.executable, "args": ["-m", "pml", "stdio"]})
    assert (found.level, found.subject) == ("ok", f"client {client}")


@pytest.mark.parametrize("client", FILES)
def test_a_command_that_is_not_there_is_an_error(around: Surroundings, client: str) -> None:
    found = wrote(around, client, {"command": "/nowhere/pml", "args": ["stdio"]})
    assert found.level == "error"
    assert "/nowhere/pml, which is not there" in found.fact
    assert f"pml init --client {client}" in str(found.fix)


@pytest.mark.parametrize("folder", ["${workspaceFolder}", "${CLAUDE_PROJECT_DIR:-.}", "."])
def test_a_command_in_the_workspace_is_found_as_the_client_finds_it(
    around: Surroundings, folder: str
) -> None:
    program = around.cwd / "bin" / "pml"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    entry = {"command": f"{folder}/bin/pml", "args": ["stdio"]}
    assert wrote(around, "claude", entry).level == "error"  # it cannot be executed
    program.chmod(0o755)
    assert wrote(around, "claude", entry).level == "ok"


def test_an_entry_that_starts_something_else_is_a_warning(around: Surroundings) -> None:
    assert wrote(around, "claude", {"command": "node", "args": ["x.js"]}).level == "warning"
    assert wrote(around, "claude", 7).level == "warning"


def test_a_file_that_cannot_be_read_is_an_error_with_its_place(around: Surroundings) -> None:
    (around.cwd / ".mcp.json").write_text('{\n  "mcpServers": {,}\n}', encoding="utf-8")
    [found] = look_at_clients(around.cwd, around)
    assert (found.level, ".mcp.json:2:" in found.fact) == ("error", True)


def test_codex_has_its_own_file(around: Surroundings) -> None:
    path: Path = around.home / ".codex" / "config.toml"
    path.parent.mkdir()
    path.write_text(f'[mcp_servers.pml]\ncommand = "{sys.executable}"\nargs = ["-m", "pml"]\n')
    [found] = look_at_clients(around.cwd, around)
    assert (found.level, found.subject) == ("ok", "client codex")


def test_without_a_client_the_human_is_told_how_to_set_one_up(around: Surroundings) -> None:
    [found] = look_at_clients(around.cwd, around)
    assert found.level == "warning"
    assert found.fix == "pml init --client claude|cursor|vscode|codex"
