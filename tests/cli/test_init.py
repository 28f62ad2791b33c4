"""`pml init`: what it writes, what it keeps, and what it must not trust."""

import json
from pathlib import Path

import pytest

from .projects import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path.resolve())


def test_a_new_workspace_is_set_up_trusted_and_usable(project: Project) -> None:
    done = project.pml("init", "--yes")
    assert done.returncode == 0, done.stderr
    entry = json.loads((project.path / ".mcp.json").read_text("utf-8"))["mcpServers"]["pml"]
    assert (entry["type"], entry["args"][-1], entry["alwaysLoad"]) == ("stdio", "stdio", True)
    assert ".pml/*\n!.pml/mcp.lock\n.env\n" in (project.path / ".gitignore").read_text("utf-8")
    (project.path / "a.txt").write_text("hello", encoding="utf-8")
    read = "(await mcp.filesystem.read_text_file({path: 'a.txt'})).content"
    ran = project.pml("run", "-e", read)
    assert (ran.returncode, ran.stdout) == (0, "hello\n")
    write = project.pml("run", "-e", "await mcp.filesystem.write_file({path: 'b', content: ''})")
    assert write.returncode == 3
    assert not (project.path / "b").exists()


def test_a_second_run_changes_nothing(project: Project) -> None:
    (project.path / ".mcp.json").write_text('{"mcpServers": {}}', encoding="utf-8")
    project.pml("init", "--yes")
    before = project.files()
    assert [one["action"] for one in project.facts("--yes")["files"]] == ["unchanged"] * 3
    assert project.files() == before


def test_no_entry_of_a_client_is_lost_and_the_file_is_backed_up(project: Project) -> None:
    old = '{\n    "mcpServers": {\n        "other": {"command": "x"}\n    },\n    "more": [1, 2]\n}\n'
    (project.path / ".mcp.json").write_text(old, encoding="utf-8")
    facts = project.facts("--yes")
    assert (project.path / ".mcp.json.backup").read_text("utf-8") == old
    assert facts["files"][1]["backup"] == str(project.path / ".mcp.json.backup")
    found = json.loads((project.path / ".mcp.json").read_text("utf-8"))
    assert found["more"] == [1, 2]
    assert list(found["mcpServers"]) == ["other", "pml"]
    assert found["mcpServers"]["other"] == {"command": "x"}


def test_without_a_terminal_nothing_is_written_unless_yes_is_given(project: Project) -> None:
    done = project.pml("init")
    assert done.returncode == 1
    assert "needs a terminal" in done.stderr
    assert project.files() == {}


def test_a_dry_run_shows_and_writes_nothing(project: Project) -> None:
    done = project.pml("init", "--dry-run")
    assert done.returncode == 0
    assert "+++ " in done.stdout
    assert '"alwaysLoad": true' in done.stdout
    assert project.files() == {}


@pytest.mark.parametrize(
    ("client", "file", "section"),
    [("cursor", ".cursor/mcp.json", "mcpServers"), ("vscode", ".vscode/mcp.json", "servers")],
)
def test_each_client_has_its_own_file(
    project: Project, client: str, file: str, section: str
) -> None:
    assert project.pml("init", "--yes", "--client", client).returncode == 0
    entry = json.loads((project.path / file).read_text("utf-8"))[section]["pml"]
    assert entry["env"] == {"PML_WORKSPACE": "${workspaceFolder}"}
    assert not (project.path / ".mcp.json").exists()


def test_codex_has_toml_and_keeps_what_is_in_it(project: Project) -> None:
    file = project.home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text('# mine\nmodel = "x"  # why\n', encoding="utf-8")
    assert project.pml("init", "--yes", "--client", "codex").returncode == 0
    text = file.read_text("utf-8")
    assert text.startswith('# mine\nmodel = "x"  # why\n')
    assert "[mcp_servers.pml]" in text


def test_an_unknown_client_is_a_mistake_of_the_command_line(project: Project) -> None:
    done = project.pml("init", "--yes", "--client", "emacs")
    assert done.returncode == 2
    assert "claude, cursor, vscode, codex" in done.stderr


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"mcpServers": []}', '{"mcpServers": {"pml": 1}}']
)
def test_a_file_that_cannot_be_added_to_is_an_error_and_nothing_is_written(
    project: Project, content: str
) -> None:
    (project.path / ".mcp.json").write_text(content, encoding="utf-8")
    before = project.files()
    done = project.pml("init", "--yes")
    assert done.returncode == 1
    assert ".mcp.json" in done.stderr
    assert project.files() == before


def test_another_server_called_pml_is_not_overwritten(project: Project) -> None:
    (project.path / ".mcp.json").write_text(
        '{"mcpServers": {"pml": {"command": "evil"}}}', encoding="utf-8"
    )
    before = project.files()
    done = project.pml("init", "--yes")
    assert done.returncode == 1
    assert "is not PML: it runs evil" in done.stderr
    assert project.files() == before


@pytest.mark.parametrize(
    "command", ["./tools/pml", "tools/pml", "{folder}/pml", "${CLAUDE_PROJECT_DIR:-.}/bin/pml"]
)
def test_a_program_of_the_clone_is_not_taken_for_pml(project: Project, command: str) -> None:
    """Attack: the clone's `.mcp.json` starts its own program under our name."""
    entry = {"command": command.replace("{folder}", str(project.path)), "args": ["stdio"]}
    project.write(".mcp.json", {"mcpServers": {"pml": entry}})
    done = project.pml("init", "--yes")
    assert done.returncode == 1
    assert "is not PML: it runs " in done.stderr


def test_an_entry_that_starts_pml_in_another_way_stays_and_is_told(project: Project) -> None:
    entry = {"command": "uvx", "args": ["pml", "stdio", "--expose", "time:*"]}
    project.write(".mcp.json", {"mcpServers": {"pml": entry}})
    done = project.pml("init", "--yes")
    assert done.returncode == 0
    assert "which stays: it runs uvx pml stdio --expose time:*" in done.stderr


def test_links_are_not_written_through(project: Project) -> None:
    """Attack: the repository's `.mcp.json` is a link to a file of the user."""
    target = project.home / "precious.json"
    target.write_text("{}", encoding="utf-8")
    (project.path / ".mcp.json").symlink_to(target)
    done = project.pml("init", "--yes")
    assert done.returncode == 1
    assert "it is a link" in done.stderr
    assert target.read_text("utf-8") == "{}"
    assert not (project.path / ".pml.json").exists()


def test_a_clones_own_configuration_is_not_trusted(project: Project) -> None:
    """Attack: a model runs `pml init --yes` in a hostile clone, which allows itself everything."""
    hostile = {"permissions": {"allow": ["*"]}, "mcpServers": {"x": {"command": "/bin/sh"}}}
    (project.path / ".pml.json").write_text(json.dumps(hostile), encoding="utf-8")
    done = project.pml("init", "--yes")
    assert done.returncode == 3
    assert "pml trust" in done.stderr
    assert json.loads((project.path / ".pml.json").read_text("utf-8")) == hostile
    ran = project.pml("run", "-e", "await mcp.filesystem.write_file({path: 'b', content: ''})")
    assert ran.returncode != 0
    assert not (project.path / "b").exists()


def test_a_clones_lockfile_is_not_trusted(project: Project) -> None:
    """Attack: the clone has no `.pml.json`, so that init makes one, but brings a lockfile."""
    (project.path / ".pml").mkdir()
    (project.path / ".pml" / "mcp.lock").write_text("{}", encoding="utf-8")
    done = project.pml("init", "--yes")
    assert done.returncode == 3
    assert "pml trust" in done.stderr


def test_a_configuration_that_cannot_be_used_is_an_error_before_anything_is_written(
    project: Project,
) -> None:
    project.write(".pml.json", '{"permisions": {}}')
    before = project.files()
    done = project.pml("init", "--yes")
    assert done.returncode == 1
    assert "did you mean `permissions`?" in done.stderr
    assert project.files() == before


def test_a_backup_is_ignored_by_git_as_it_may_hold_keys(project: Project) -> None:
    project.write(".gitignore", ".mcp.json\n")
    project.write(".mcp.json", {"mcpServers": {"x": {"command": "x", "env": {"KEY": "secret"}}}})
    project.pml("init", "--yes")
    assert "\n/.mcp.json.backup\n" in project.read(".gitignore")


def test_a_dry_run_shows_what_is_added_and_nothing_of_the_file(project: Project) -> None:
    """Attack: a model reads the keys in a client's file through the lines around ours."""
    project.write(".mcp.json", {"mcpServers": {"x": {"command": "x", "env": {"KEY": "hunter2"}}}})
    done = project.pml("init", "--dry-run")
    assert '+      "alwaysLoad": true' in done.stdout
    assert "hunter2" not in done.stdout + done.stderr


def test_enter_is_yes_only_where_nothing_is_changed(project: Project) -> None:
    first = project.terminal("init")
    first.read_until("Enter for none")
    first.answer("\n")
    first.read_until("write these files? [Y/n] ")
    first.answer("\n")
    assert first.end()[0] == 0
    (project.path / ".mcp.json").write_text('{"mcpServers": {}}', encoding="utf-8")
    second = project.terminal("init")
    second.read_until("write these files? [y/N] ")
    second.answer("\n")
    code, words = second.end()
    assert (code, "nothing was written" in words) == (1, True)


def test_a_question_that_is_interrupted_or_left_writes_nothing(project: Project) -> None:
    for keys, code in (("\x03", 130), ("\x04", 1)):
        asked = project.terminal("init")
        asked.read_until("Enter for none")
        asked.answer("\n")
        asked.read_until("[Y/n] ")
        asked.answer(keys)
        assert asked.end()[0] == code
    assert project.files() == {}


@pytest.mark.parametrize("file", ["", "workspaces", "generations"])
@pytest.mark.parametrize("below", ["", "/below"])
def test_a_state_that_cannot_be_kept_is_an_error_before_anything_is_written(
    project: Project, file: str, below: str
) -> None:
    """Or the workspace is half set up: written, and not trusted."""
    state = project.path.parent / "state"
    project.environ["PML_STATE"] = f"{state}{below}"
    in_the_way = Path(f"{state}{below}", file) if file else state
    in_the_way.parent.mkdir(parents=True, exist_ok=True)
    in_the_way.write_text("a file", encoding="utf-8")
    done = project.pml("init", "--yes")
    assert done.returncode == 1
    assert f"{in_the_way} cannot hold private state: it is no folder\n" in done.stderr
    assert "hint: remove it, or name another folder in PML_STATE" in done.stderr
    assert project.files() == {}
    in_the_way.unlink()
    assert project.pml("init", "--yes").returncode == 0


def test_a_state_inside_the_workspace_is_an_error_before_anything_is_written(
    project: Project,
) -> None:
    project.environ["PML_STATE"] = str(project.path / "state")
    done = project.pml("init", "--yes")
    assert done.returncode == 1
    assert "it lies in the workspace, which servers may write" in done.stderr
    assert project.files() == {}
