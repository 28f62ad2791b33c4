import shutil
from pathlib import Path

import pytest

from pml.diagnosis.machine import look_at_disk, look_at_python


@pytest.mark.parametrize(
    ("version", "level"),
    [((3, 11, 0), "ok"), ((3, 13, 9), "ok"), ((3, 10, 9), "warning"), ((3, 14, 0), "warning")],
)
def test_a_python_that_was_never_tried_is_a_warning(
    version: tuple[int, int, int], level: str
) -> None:
    found = look_at_python(version, "Linux")
    assert found.level == level
    assert found.fact.startswith(".".join(map(str, version)))


def test_too_little_room_is_a_warning_and_nearly_none_an_error(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    state = tmp_path / "not" / "made" / "yet"
    assert look_at_disk(state, enough_bytes=1, least_bytes=1).level == "ok"
    assert look_at_disk(state, enough_bytes=2 * free, least_bytes=1).level == "warning"
    found = look_at_disk(state, enough_bytes=2 * free, least_bytes=2 * free)
    assert found.level == "error"
    assert str(state) in found.fact
    assert "PML_STATE" in str(found.fix)
    assert not state.exists()
