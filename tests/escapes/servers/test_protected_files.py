"""Attack: write what the developer's tools obey (`.git/hooks`, `.pml.json`, ...) inside a writable workspace, also by moving it away."""

import shutil
import subprocess

import pytest

from pml.confinement import Grants, Level

LANGUAGES = ["python", "node"]
REFUSED = {"EROFS", "EBUSY", "EACCES", "EXDEV"}


@pytest.fixture
def project(world):
    workspace = world.workspace
    for folder in (".git/hooks", "sub/.git/hooks", ".vscode", "sub/deeper"):
        (workspace / folder).mkdir(parents=True)
    for file in (
        ".git/config",
        ".git/hooks/pre-commit",
        "sub/.git/config",
        ".pml.json",
        ".mcp.json",
        ".envrc",
    ):
        (workspace / file).write_text("as it was")
    return workspace


def _attempts(project) -> list[tuple]:
    return [
        ("write", project / ".git/hooks/pre-commit"), ("write", project / ".git/hooks/post-checkout"),
        ("write", project / ".git/config"), ("write", project / ".git/commondir"),
        ("write", project / "sub/.git/config"), ("write", project / ".vscode/tasks.json"),
        ("write", project / ".pml.json"), ("truncate", project / ".mcp.json"),
        ("rename", project / "plain.txt", project / ".envrc"), ("unlink", project / ".pml.json"),
        ("rename", project / ".git", project / ".git2"), ("rename", project / "sub", project / "sub2"),
        ("rename", project / "sub/.git", project / "sub/taken"), ("rename", project / ".vscode", project / "vs"),
    ]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("number", range(14))
def test_what_tools_obey_stays_as_it_is(start, project, number, language) -> None:
    attempt = _attempts(project)[number]
    evil = start(Level.FULL, language)
    assert evil.ask(*attempt) in REFUSED, attempt
    assert (project / ".git/hooks/pre-commit").read_text() == "as it was"
    assert (project / ".pml.json").read_text() == "as it was"
    assert evil.ask("write", project / "sub/deeper/new.txt") == "OPEN"  # the rest is writable


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("number", range(14))
def test_without_confinement_the_same_attempt_works(start, project, number, language) -> None:
    assert start(Level.OFF, language).ask(*_attempts(project)[number]) == "OPEN"


def test_at_level_landlock_this_is_said_to_be_missing(start, project) -> None:
    assert any("protected files" in words for words in start(Level.LANDLOCK).confined.missing)


def test_a_repository_granted_by_name_can_be_committed_to_but_its_hooks_stay(start, world) -> None:
    workspace = world.workspace
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    subprocess.run([git, "init", "-q", workspace], check=True)
    evil = start(
        Level.FULL, "python", Grants(fs_write=(workspace, workspace / ".git"), spawn=True)
    )
    assert evil.ask("write", workspace / ".git" / "index.lock") == "OPEN"
    assert evil.ask("write", workspace / ".git" / "config") in REFUSED
    assert evil.ask("write", workspace / ".git" / "hooks" / "pre-commit") in REFUSED
    assert evil.ask("rename", workspace / ".git" / "hooks", workspace / ".git" / "h") in REFUSED
    assert evil.ask("rename", workspace / ".git", workspace / ".git2") in REFUSED


def test_a_package_inside_the_workspace_cannot_change_itself(start, world, support, needs) -> None:
    """Attack: the server rewrites its own code, to be run outside at the next start by someone else."""
    modules = world.workspace / "node_modules"
    (modules / "evil").mkdir(parents=True)
    (modules / "evil" / "package.json").write_text("{}")
    evil = start(Level.FULL, "node", package=modules / "evil")
    assert evil.ask("read", modules / "evil" / "package.json") == "OPEN"
    assert evil.ask("write", modules / "evil" / "evil.mjs") in REFUSED
    assert evil.ask("rename", modules, world.workspace / "elsewhere") in REFUSED
    assert evil.ask("write", world.workspace / "new") == "OPEN"
    off = start(Level.OFF, "node", package=modules / "evil")
    assert off.ask("write", modules / "evil" / "evil.mjs") == "OPEN"
