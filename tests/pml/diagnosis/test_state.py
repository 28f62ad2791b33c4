import os
from pathlib import Path

import pytest

from pml.audit import Audit
from pml.diagnosis.state import look_at_state
from pml.places import private_folder


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder as `pml` makes it, with a server that wrote what it liked."""
    state = tmp_path / "state"
    folder = state / "workspaces" / "app-0123456789abcdef"
    Audit(folder).write("call", {})
    home = private_folder(folder / "servers" / "files" / "home")
    (home / "open to all").write_text("x")
    (home / "open to all").chmod(0o666)
    (home / "link").symlink_to("/")
    return state


def test_what_pml_makes_is_the_users_alone(state: Path) -> None:
    [found] = look_at_state(state)
    assert found.level == "ok"
    assert found.fact.endswith("files and folders, yours alone")


def test_a_folder_that_is_not_made_yet_is_no_fault(tmp_path: Path) -> None:
    [found] = look_at_state(tmp_path / "state")
    assert found.level == "ok"
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("mode", "level"), [(0o640, "warning"), (0o604, "warning"), (0o660, "error"), (0o602, "error")]
)
def test_a_file_that_others_reach_is_named_with_the_command_that_closes_it(
    state: Path, mode: int, level: str
) -> None:
    (state / "audit.key").chmod(mode)
    [found] = look_at_state(state)
    assert found.level == level
    assert str(state / "audit.key") in found.fact
    assert found.fix == f"chmod -R go-rwx {state}"
    assert os.system(str(found.fix)) == 0  # noqa: S605 - what the human is told to do
    assert look_at_state(state)[0].level == "ok"


def test_several_are_counted_and_folders_too(state: Path) -> None:
    for path in (state, state / "workspaces"):
        path.chmod(0o755)
    [found] = look_at_state(state)
    assert (found.level, found.fact) == ("warning", f"others can read it: {state} and 1 more")


def test_a_link_in_the_state_is_an_error(state: Path) -> None:
    (state / "key").symlink_to("/dev/null")
    [found] = look_at_state(state)
    assert (found.level, found.fact) == ("error", f"a link, where pml makes none: {state / 'key'}")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_file_of_another_user_is_an_error(state: Path) -> None:
    os.chown(state / "audit.key", 65534, 65534)
    [found] = look_at_state(state)
    assert (found.level, "belongs to another user" in found.fact) == ("error", True)


def test_it_ends_in_a_folder_with_very_many_files(state: Path) -> None:
    found = look_at_state(state, most_entries=3)
    assert [one.level for one in found] == ["warning"]
    assert "only 3 entries" in found[0].fact
