"""What is found to be protected in a writable folder."""

from pathlib import Path

import pytest

from pml.confinement import SecretsTooManyError
from pml.confinement.protected import MOST_HIDDEN, protect
from sandbox_host.mounts import PROTECTED


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


def test_no_protected_name_is_longer_than_what_is_looked_at() -> None:
    assert max(map(len, PROTECTED)) == 2


def test_files_that_look_secret_are_found_only_where_they_are_to_be_hidden(folder: Path) -> None:
    _made(folder, ".env", "a/b/server.key", "a/.aws/x/config", ".vscode/.env", ".git/.env", "a/c")
    assert protect([folder], []).hidden == ()
    found = protect([folder], [], hides_secrets=True)
    names = (".env", "a/b/server.key", "a/.aws", ".vscode/.env")
    assert found.hidden == tuple(sorted(folder / name for name in names))
    assert found.read_only == (folder / ".git", folder / ".vscode")
    assert found.pinned == (folder / "a", folder / "a/b")


def test_what_a_secret_link_stands_for_is_hidden_unless_that_is_the_folder_itself(
    folder: Path,
) -> None:
    _made(folder, "real.txt", ".ssh/id_rsa")
    (folder / ".env").symlink_to("real.txt")
    (folder / "a.pem").symlink_to(".ssh/id_rsa")
    (folder / ".aws").symlink_to(".")
    (folder / "b.pem").symlink_to("/etc/passwd")
    (folder / "c.pem").symlink_to("nowhere")
    found = protect([folder], [], hides_secrets=True)
    assert found.hidden == (folder / ".ssh", folder / "real.txt")


def test_more_secrets_than_can_be_hidden_are_an_error_and_not_shown(folder: Path) -> None:
    """Attack: decoys fill the list, so that the real key stays in sight."""
    _made(folder, *(f"{number}.pem" for number in range(MOST_HIDDEN)))
    assert len(protect([folder], [], hides_secrets=True).hidden) == MOST_HIDDEN
    _made(folder, "z.pem")
    with pytest.raises(SecretsTooManyError) as caught:
        protect([folder], [], hides_secrets=True)
    assert f"{MOST_HIDDEN + 1} files" in caught.value.message
