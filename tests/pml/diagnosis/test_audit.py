import os
from pathlib import Path

import pytest

from pml.audit import Audit, AuditKeyLostError
from pml.diagnosis.audit import look_at_audit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "state" / "workspaces" / "app-0123456789abcdef"
    audit = Audit(folder)
    for number in range(3):
        audit.write("call", {"number": number})
    audit.close()
    return folder


def test_a_whole_audit_is_well(folder: Path) -> None:
    found = look_at_audit(folder)
    assert (found.level, found.fact) == ("ok", "4 lines, none changed")


def test_no_audit_yet_is_well(tmp_path: Path) -> None:
    assert look_at_audit(tmp_path / "state" / "workspaces" / "new").fact == "no lines yet"


def test_a_changed_line_is_an_error_that_names_it(folder: Path) -> None:
    path = folder / "audit.jsonl"
    path.write_text(path.read_text().replace('"number":1', '"number":7'))
    found = look_at_audit(folder)
    assert found.level == "error"
    assert "audit.jsonl" in found.fact
    assert "2 lines before it are whole" in found.fact
    assert "pml audit verify" in str(found.fix)


def test_half_a_line_is_a_warning(folder: Path) -> None:
    path = folder / "audit.jsonl"
    before = path.stat().st_size
    audit = Audit(folder)
    audit.write("call", {"number": 3})
    os.truncate(path, before + 20)  # as a crash leaves it
    found = look_at_audit(folder)
    assert (found.level, found.fact.partition(";")[0]) == ("warning", "4 lines are whole")


def test_a_lost_key_is_no_empty_audit(folder: Path) -> None:
    (folder.parent.parent / "audit.key").unlink()
    with pytest.raises(AuditKeyLostError):
        look_at_audit(folder)
