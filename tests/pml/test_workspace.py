"""Which folder becomes the workspace, and what the user is told about it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pml.workspace import (
    MARKERS,
    WorkspaceMissingError,
    WorkspaceTooWideError,
    resolve_workspace,
)


def made(folder: Path, *markers: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for marker in markers:
        (folder / marker).touch()
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return made(tmp_path / "home")


def env(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), **more}


def test_the_variable_wins_over_every_marker(home: Path) -> None:
    project, other = made(home / "project", ".git"), made(home / "other")
    found = resolve_workspace(environ=env(home, PML_WORKSPACE=str(other)), cwd=project)
    assert (found.path, found.source, found.warning) == (other, "PML_WORKSPACE", None)


def test_the_variable_may_be_relative_and_is_made_real(home: Path) -> None:
    project = made(home / "project")
    (home / "link").symlink_to(project)
    found = resolve_workspace(environ=env(home, PML_WORKSPACE="../link"), cwd=project)
    assert found.path == project


@pytest.mark.parametrize("value", ["nowhere", "file", "nul\0byte"])
def test_a_variable_that_names_no_folder_is_an_error(home: Path, value: str) -> None:
    (home / "file").touch()
    with pytest.raises(WorkspaceMissingError, match="^PML_WORKSPACE is no folder"):
        resolve_workspace(environ=env(home, PML_WORKSPACE=value), cwd=home)


@pytest.mark.parametrize(
    ("value", "hint"),
    [("${workspaceFolder}", "the client did not fill in"), ("~/x", "write the whole path")],
)
def test_the_hint_says_why_the_folder_may_be_missing(home: Path, value: str, hint: str) -> None:
    with pytest.raises(WorkspaceMissingError) as caught:
        resolve_workspace(environ=env(home, PML_WORKSPACE=value), cwd=home)
    assert hint in (caught.value.hint or "")


def test_an_empty_variable_is_as_none(home: Path) -> None:
    project = made(home / "project", "go.mod")
    assert resolve_workspace(environ=env(home, PML_WORKSPACE=""), cwd=project).source == "go.mod"


@pytest.mark.parametrize("marker", MARKERS)
def test_each_marker_makes_a_project(home: Path, marker: str) -> None:
    project = made(home / "project", marker)
    found = resolve_workspace(environ=env(home), cwd=made(project / "src" / "deep"))
    assert (found.path, found.source, found.warning) == (project, marker, None)


def test_the_nearest_folder_wins_over_the_better_marker(home: Path) -> None:
    made(home / "repository", ".git")
    package = made(home / "repository" / "package", "package.json")
    assert resolve_workspace(environ=env(home), cwd=package).path == package


def test_of_several_markers_the_first_in_order_is_named(home: Path) -> None:
    project = made(home / "project", "go.mod", ".pml.json", "package.json")
    assert resolve_workspace(environ=env(home), cwd=project).source == ".pml.json"


def test_a_marker_that_is_a_broken_link_counts(home: Path) -> None:
    project = made(home / "project")
    (project / ".pml.json").symlink_to("nowhere")
    assert resolve_workspace(environ=env(home), cwd=project).source == ".pml.json"


def test_a_configuration_above_the_project_is_pointed_out(home: Path) -> None:
    outer = made(home / "outer", ".pml.json")
    inner = made(outer / "inner", "package.json")
    warning = resolve_workspace(environ=env(home), cwd=inner).warning or ""
    assert str(outer / ".pml.json") in warning
    assert f"PML_WORKSPACE={outer}" in warning


def test_without_a_marker_it_is_the_current_folder_with_a_warning(home: Path) -> None:
    folder = made(home / "folder")
    found = resolve_workspace(environ=env(home), cwd=folder)
    assert (found.path, found.source) == (folder, "cwd")
    assert "set PML_WORKSPACE" in (found.warning or "")


def test_a_stray_marker_in_the_home_folder_does_not_give_the_home_folder_away(home: Path) -> None:
    made(home, ".git", "package.json", ".pml.json")
    folder = made(home / "downloads")
    assert resolve_workspace(environ=env(home), cwd=folder).path == folder


def test_a_stray_marker_above_the_home_folder_does_not_count(tmp_path: Path, home: Path) -> None:
    made(tmp_path, ".git")
    assert resolve_workspace(environ=env(home), cwd=made(home / "a")).path == home / "a"
    assert resolve_workspace(environ=env(home), cwd=tmp_path).source == "cwd"


def test_the_home_folder_is_taken_only_when_the_user_says_so_and_with_a_warning(
    home: Path,
) -> None:
    made(home, ".git")
    standing = resolve_workspace(environ=env(home), cwd=home)
    named = resolve_workspace(environ=env(home, PML_WORKSPACE=str(home)), cwd=home / "..")
    assert (standing.source, named.source) == ("cwd", "PML_WORKSPACE")
    for found in (standing, named):
        assert found.path == home
        assert "is your home folder" in (found.warning or "")


def test_a_folder_that_holds_the_home_folder_is_warned_about(tmp_path: Path, home: Path) -> None:
    found = resolve_workspace(environ=env(home), cwd=tmp_path)
    assert "holds your home folder" in (found.warning or "")


def test_the_root_of_the_file_system_is_never_the_workspace(home: Path) -> None:
    # some clients start their servers in `/`
    with pytest.raises(WorkspaceTooWideError, match="^the current folder is the root"):
        resolve_workspace(environ=env(home), cwd=Path("/"))
    with pytest.raises(WorkspaceTooWideError, match="^PML_WORKSPACE is the root"):
        resolve_workspace(environ=env(home, PML_WORKSPACE="/"), cwd=home)


def test_a_marker_in_a_shared_temporary_folder_does_not_count(tmp_path: Path) -> None:
    # attack: another user puts `/tmp/.git` there, and `/tmp` becomes everybody's workspace
    shared = made(tmp_path / "tmp", ".git")
    shared.chmod(0o1777)
    mine = made(shared / "mine")
    assert resolve_workspace(environ={}, cwd=mine).path == mine


def test_a_current_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceMissingError, match="^the current folder is no folder"):
        resolve_workspace(environ={}, cwd=tmp_path / "gone")


def test_it_imports_neither_pydantic_nor_the_configuration() -> None:
    code = "import sys, pml.workspace; print({'pydantic', 'pml.config'} & set(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert ran.stdout.strip() == "set()"
