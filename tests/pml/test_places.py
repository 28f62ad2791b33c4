from pathlib import Path

import pytest

from pml.errors import PlaceUnsafeError
from pml.places import emptied_folder, private_folder, state_folder, workspace_state


def test_state_is_where_the_user_says() -> None:
    home = Path("/home/ada")
    assert state_folder({}, home) == Path("/home/ada/.local/state/pml")
    assert state_folder({"XDG_STATE_HOME": "/s"}, home) == Path("/s/pml")
    assert state_folder({"XDG_STATE_HOME": "relative"}, home) == Path("/home/ada/.local/state/pml")
    assert state_folder({"PML_STATE": "/mine", "XDG_STATE_HOME": "/s"}, home) == Path("/mine")


def test_two_workspaces_of_one_name_have_two_folders() -> None:
    one, other = (workspace_state(Path("/s"), Path(path)) for path in ("/a/app", "/b/app"))
    assert one != other
    assert one.parent == other.parent == Path("/s/workspaces")
    assert one.name.startswith("app-")


def test_a_private_folder_is_for_the_user_alone(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "a" / "b")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_others_can_enter_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)
    assert private_folder(tmp_path / "open").stat().st_mode & 0o777 == 0o700


def test_a_link_or_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(PlaceUnsafeError, match="it is no folder"):
            private_folder(tmp_path / name)


def test_an_emptied_folder_holds_nothing_of_before(tmp_path: Path) -> None:
    folder = emptied_folder(tmp_path / "tmp")
    (folder / "left").write_text("over", encoding="utf-8")
    assert list(emptied_folder(tmp_path / "tmp").iterdir()) == []
