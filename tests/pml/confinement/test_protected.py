"""What is found to be protected in a writable folder."""

from pathlib import Path

import pytest

from pml.confinement.protected import protect


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def _made(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")


def test_names_that_tools_obey_are_found_at_any_depth_with_their_parents(folder: Path) -> None:
    _made(
        folder, ".git/config", "a/b/.envrc", "a/b/plain", ".config/fish/config.fish", ".mcp.json"
    )
    found = protect([folder], [])
    assert found.read_only == tuple(
        sorted(folder / name for name in (".git", "a/b/.envrc", ".config/fish", ".mcp.json"))
    )
    assert found.pinned == tuple(sorted(folder / name for name in ("a", "a/b", ".config")))
    assert found.complete


def test_what_does_not_exist_is_not_mounted(folder: Path) -> None:
    assert protect([folder], []).read_only == ()


def test_links_are_left_out(folder: Path) -> None:
    """They cannot be mounted on, and following them would lead elsewhere."""
    (folder / ".vscode").symlink_to("/etc")
    (folder / "loop").symlink_to(folder)
    assert protect([folder], []).read_only == ()


def test_what_is_granted_by_name_stays_writable_but_for_what_runs_programs(folder: Path) -> None:
    _made(folder, ".git/config", ".git/hooks/pre-commit", ".git/HEAD")
    found = protect([folder, folder / ".git"], [])
    assert found.read_only == (folder / ".git/config", folder / ".git/hooks")
    assert found.pinned == ()


def test_code_that_will_run_is_protected_like_a_protected_name(folder: Path) -> None:
    _made(folder, "app/node_modules/server/index.js", "app/node_modules/server/.vscode/x")
    found = protect([folder], [folder / "app" / "node_modules", Path("/usr"), folder])
    assert found.read_only == (folder / "app" / "node_modules",)
    assert found.pinned == (folder / "app",)


def test_a_search_that_gets_too_much_says_so(folder: Path) -> None:
    _made(folder, "1/2/3/4/5/6/.envrc")
    found = protect([folder], [])
    assert found.read_only == ()
    assert not found.complete


def test_a_single_file_can_be_granted(folder: Path) -> None:
    _made(folder, "notes.txt")
    assert protect([folder / "notes.txt"], []).read_only == ()
