import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from pml.diagnosis import Finding, Surroundings
from pml.diagnosis.configuration import find_workspace, read_configuration
from pml.workspace import WorkspaceMissingError

from .conftest import Configure

Trusted = Callable[[], None]


def findings(around: Surroundings) -> dict[str, Finding]:
    known = read_configuration(around, find_workspace(around))
    return {one.subject: one for one in known.findings}


def test_a_trusted_configuration_is_well(around: Surroundings, configure: Configure) -> None:
    path = configure(servers={"time": {"command": "mcp-server-time"}})
    found = findings(around)
    assert {one.level for one in found.values()} == {"ok"}
    assert found["configuration"].fact == f"{path}: 1 server"
    assert found["workspace"].fact == f"{around.cwd} (from .git)"


def test_a_broken_file_is_an_error_for_each_mistake_with_its_place(around: Surroundings) -> None:
    text = '{\n  "mcpServer": {},\n  "permissions": 7\n}'
    (around.cwd / ".pml.json").write_text(text, encoding="utf-8")
    known = read_configuration(around, find_workspace(around))
    workspace, *wrong = known.findings
    assert (workspace.level, known.prepared) == ("ok", None)
    assert [one.level for one in wrong] == ["error", "error"]
    assert ".pml.json:2:3" in wrong[0].fact
    assert ".pml.json:3:" in wrong[1].fact
    assert all(one.fix for one in wrong)


def test_without_a_file_the_human_is_told_how_to_make_one(around: Surroundings) -> None:
    found = findings(around)["configuration"]
    assert (found.level, found.fix) == ("warning", "pml init")


def test_a_workspace_that_nobody_trusted_says_so(
    around: Surroundings, configure: Configure
) -> None:
    configure(servers={"time": {"command": "mcp-server-time"}}, trust=False)
    found = findings(around)["trust"]
    assert (found.level, found.fix) == ("warning", "pml trust")
    assert found.fact == "this workspace is not trusted yet"


def test_changes_that_wait_are_counted_and_named(
    around: Surroundings, configure: Configure
) -> None:
    configure(servers={"time": {"command": "mcp-server-time"}})
    configure(
        servers={"time": {"command": "other"}}, permissions={"allow": ["git:*"]}, trust=False
    )
    found = findings(around)["trust"]
    assert (found.level, found.fix) == ("warning", "pml trust")
    assert found.fact.startswith("2 changes wait for you, not used so far: ")
    assert "mcpServers.time" in found.fact
    assert "permissions.allow" in found.fact


def test_a_state_folder_in_the_workspace_is_no_place_for_trust(
    around: Surroundings, configure: Configure
) -> None:
    configure(servers={"time": {"command": "x"}}, trust=False)
    inside = {**around.environ, "PML_STATE": str(around.cwd / ".pml" / "state")}
    found = findings(dataclasses.replace(around, environ=inside))["trust"]
    assert found.level == "warning"
    assert "the state folder lies in the workspace" in found.fact


def test_an_env_file_that_cannot_be_used_is_told(
    around: Surroundings, configure: Configure
) -> None:
    configure(servers={"a": {"command": "x", "env": {"KEY": "${A_KEY}"}}}, trust=False)
    (around.cwd / ".env").symlink_to("/etc/hostname")
    found = findings(around)["configuration"]
    assert (found.level, "leads out of the workspace" in found.fact) == ("error", True)


def test_a_folder_without_a_project_is_a_warning(around: Surroundings, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    assert findings(dataclasses.replace(around, cwd=bare))["workspace"].level == "warning"


def test_a_workspace_that_is_not_there_is_an_error(around: Surroundings) -> None:
    environ = {**around.environ, "PML_WORKSPACE": "/nowhere/at/all"}
    with pytest.raises(WorkspaceMissingError):
        find_workspace(dataclasses.replace(around, environ=environ))
