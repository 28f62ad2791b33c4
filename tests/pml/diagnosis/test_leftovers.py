import os
from pathlib import Path

import pytest

from pml.diagnosis.leftovers import look_at_runs, look_for_folders
from pml.execution.workflows import RunStore, StoredRun
from pml.places import private_folder
from pml.trust.key import made_key

PROC = Path("/proc")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "workspaces" / "my app-0123456789abcdef"


@pytest.fixture
def ended() -> int:
    """The number of a process that is gone."""
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(child, 0)
    return child


def saved(folder: Path, run: str, *, expires: float) -> RunStore:
    store = RunStore(folder / "runs", made_key(folder.parent.parent))
    store.save(StoredRun(run, 0, 1.0, expires, "hash", "-e", {}, ()), b"frozen")
    return store


def test_folders_of_a_killed_gateway_are_named_with_the_command_that_removes_them(
    folder: Path, ended: int
) -> None:
    tmp = folder / "servers" / "files" / "tmp"
    dead, alive = private_folder(tmp / str(ended)), private_folder(tmp / str(os.getpid()))
    [found] = look_for_folders(folder.parent.parent, PROC)
    assert (found.level, found.fix) == ("warning", f"rm -r -- '{dead}'")
    assert os.system(str(found.fix)) == 0  # noqa: S605 - what the human is told to do
    assert alive.exists()
    [found] = look_for_folders(folder.parent.parent, PROC)
    assert found.level == "ok"


def test_a_run_that_waits_is_told_and_is_well(folder: Path) -> None:
    saved(folder, "aaaaaaaaaa", expires=1e12)
    [found] = look_at_runs(folder, folder.parent.parent)
    assert (found.level, found.fact) == ("ok", "1 waits for you: pml approvals")


def test_a_run_that_expired_is_a_warning_with_its_id(folder: Path) -> None:
    saved(folder, "aaaaaaaaaa", expires=2.0)
    [found] = look_at_runs(folder, folder.parent.parent)
    assert (found.level, found.fix) == ("warning", "pml workflows abort aaaaaaaaaa")
    assert "aaaaaaaaaa" in found.fact


def test_a_run_that_somebody_changed_is_an_error(folder: Path) -> None:
    saved(folder, "aaaaaaaaaa", expires=1e12)
    path = folder / "runs" / "aaaaaaaaaa" / "run.json"
    path.write_bytes(path.read_bytes().replace(b"1000000000000", b"2000000000000"))
    [found] = look_at_runs(folder, folder.parent.parent)
    assert found.level == "error"
    assert "changed" in found.fact


def test_looking_makes_no_key_and_no_folder(tmp_path: Path) -> None:
    [found] = look_at_runs(tmp_path / "state" / "workspaces" / "a", tmp_path / "state")
    assert found.level == "ok"
    assert not (tmp_path / "state").exists()
