"""The audit cannot be changed unseen.

Attack: a process that can write the audit's files, but has not the user's key, edits a line,
removes one, swaps two, cuts the tail off, adds a line of its own, repeats an old one, removes a
file, or puts a link in its place. `verify` names the place each time, also after PML has gone on
writing; and nothing is ever written through a link.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pml.audit import Audit, AuditUnavailableError, log, verify

Attack = Callable[[list[bytes]], list[bytes]]


@pytest.fixture(autouse=True)
def bystander() -> None:
    """No guest runs here that could hurt another."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten lines: number 1 opens the file."""
    folder = tmp_path / "state" / "workspaces" / "app-1"
    audit = Audit(folder)
    for number in range(2, 11):
        audit.write("call", {"number": number, "outcome": "denied"})
    audit.close()
    assert verify(folder).ok
    return folder


def _forged(lines: list[bytes]) -> bytes:
    """A line as PML would write it, with a hash that is made up."""
    previous = re.findall(rb'"hash":"([0-9a-f]{64})"', lines[-1])[0]
    return (
        b'{"n":11,"at":"2026-11-18T06:00:00.000Z","event":"call","facts":{},"prev":"%b",'
        b'"hash":"%b"}\n' % (previous, b"0" * 64)
    )


ATTACKS: dict[str, tuple[Attack, str]] = {
    "edit": (
        lambda lines: [*lines[:4], lines[4].replace(b"denied", b"allowed"), *lines[5:]],
        r"audit.jsonl:5: it was changed, or written without the key",
    ),
    "edit the hash": (
        lambda lines: [*lines[:4], lines[4][:-4] + b'x"}\n', *lines[5:]],
        r"audit.jsonl:5: it was changed",
    ),
    "renumber": (
        lambda lines: [*lines[:4], lines[4].replace(b'"n":5', b'"n":6'), *lines[5:]],
        r"audit.jsonl:5: it was changed",
    ),
    "remove one": (
        lambda lines: [*lines[:4], *lines[5:]],
        r"audit.jsonl:5: line 5 is missing before it",
    ),
    "remove the first": (
        lambda lines: lines[1:],
        r"audit.jsonl:1: it is not how this file began",
    ),
    "swap": (
        lambda lines: [*lines[:3], lines[4], lines[3], *lines[5:]],
        r"audit.jsonl:4: line 4 is missing before it",
    ),
    "cut the tail": (
        lambda lines: lines[:7],
        r"audit.jsonl: lines 8 to 10 are missing at the end",
    ),
    "empty": (lambda _: [], r"audit.jsonl: lines 1 to 10 are missing at the end"),
    "forge": (
        lambda lines: [*lines, _forged(lines)],
        r"audit.jsonl:11: it was changed, or written without the key",
    ),
    "repeat": (lambda lines: [*lines, lines[3]], r"audit.jsonl:11: it is line 4 where 11 is due"),
    "blank line": (
        lambda lines: [*lines[:3], b"\n", *lines[3:]],
        r"audit.jsonl:4: it was changed",
    ),
    "add half a line in the middle": (
        lambda lines: [*lines[:3], b'{"n":4,"at":"\n', *lines[3:]],
        r"audit.jsonl:4: it was changed",
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_verify_names_the_line(folder: Path, name: str) -> None:
    attack, wanted = ATTACKS[name]
    path = folder / "audit.jsonl"
    path.write_bytes(b"".join(attack(path.read_bytes().splitlines(keepends=True))))
    report = verify(folder)
    assert not report.ok
    assert re.match(wanted, str(report.broken))


def test_no_byte_can_be_changed(folder: Path) -> None:
    path = folder / "audit.jsonl"
    content = path.read_bytes()
    for position in range(0, len(content), 3):
        path.write_bytes(
            content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]
        )
        assert verify(folder).broken is not None, position
    path.write_bytes(content)
    assert verify(folder).ok


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("alive", [False, True], ids=["after a restart", "while it runs"])
def test_it_is_still_named_after_pml_went_on_writing(folder: Path, name: str, alive: bool) -> None:
    audit = Audit(folder)
    if alive:
        audit.write("call", {"number": 11})
    attack, wanted = ATTACKS[name]
    path = folder / "audit.jsonl"
    path.write_bytes(b"".join(attack(path.read_bytes().splitlines(keepends=True))))
    for _ in range(3):
        audit.write("call", {})
    audit.close()
    report = verify(folder)
    assert report.broken is not None
    if not alive and "missing at the end" not in wanted:
        assert re.match(wanted, str(report.broken))


def test_a_tail_that_is_cut_while_pml_runs_is_found_although_the_head_is_old(folder: Path) -> None:
    audit = Audit(folder)
    for _ in range(5):  # fewer than the head is noted after
        audit.write("call", {})
    path = folder / "audit.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:12]))
    audit.write("call", {})
    assert str(verify(folder).broken) == "audit.jsonl:13: lines 13 to 15 are missing before it"


def test_half_a_line_in_place_of_real_ones_is_found(folder: Path) -> None:
    path = folder / "audit.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:8]) + b'{"n":9,"at":"')
    assert "lines 9 to 10 are missing" in str(verify(folder).broken)
    audit = Audit(folder)
    audit.write("call", {})
    audit.close()
    assert str(verify(folder).broken).startswith("audit.jsonl:9: ")


@pytest.mark.parametrize("content", [None, b"", b'{"lines":1,"last":"","hash":""}\n', b"[" * 900])
def test_a_head_that_was_removed_or_changed_is_found(folder: Path, content: bytes | None) -> None:
    head = folder / "audit.head"
    head.unlink()
    if content is not None:
        head.write_bytes(content)
    assert str(verify(folder).broken).startswith("audit.head: it is ")
    path = folder / "audit.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:7]))
    audit = Audit(folder)
    audit.write("call", {})
    audit.close()
    words = str(verify(folder).broken)
    assert words.startswith("audit.jsonl:8: when it was written, audit.head was ")


def test_files_that_were_removed_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "MOST_BYTES", 1000)
    audit = Audit(folder)
    for _ in range(20):
        audit.write("call", {})
    audit.close()
    assert verify(folder).ok
    (folder / "audit.1.jsonl").rename(folder / "kept")
    assert str(verify(folder).broken) == "audit.1.jsonl: it is missing"
    (folder / "kept").rename(folder / "audit.1.jsonl")
    (folder / "audit.jsonl").unlink()
    assert "missing at the end" in str(verify(folder).broken)
    audit.write("call", {})
    audit.close()
    assert verify(folder).broken is not None


def test_lines_of_another_workspace_do_not_pass(folder: Path) -> None:
    other = folder.with_name("other-1")
    audit = Audit(other)
    for _ in range(3):
        audit.write("call", {})
    audit.close()
    (other / "audit.jsonl").replace(folder / "audit.jsonl")
    assert verify(folder).broken is not None


@pytest.mark.parametrize("kind", ["symlink", "hard link", "pipe", "folder"])
@pytest.mark.parametrize("alive", [False, True], ids=["after a restart", "while it runs"])
def test_what_is_no_plain_file_is_never_written_to(
    folder: Path, tmp_path: Path, kind: str, alive: bool
) -> None:
    audit = Audit(folder)
    if alive:
        audit.write("call", {})
    path, target = folder / "audit.jsonl", tmp_path / "precious"
    target.write_text("keep", encoding="utf-8")
    path.unlink()
    if kind == "symlink":
        path.symlink_to(target)
    elif kind == "hard link":
        path.hardlink_to(target)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(AuditUnavailableError):
        audit.write("call", {})
    audit.close()
    assert target.read_text(encoding="utf-8") == "keep"
    assert str(verify(folder).broken) == "audit.jsonl: it is a link, or no plain file of yours"


def test_a_link_in_place_of_the_head_is_not_written_through(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("keep", encoding="utf-8")
    (folder / "audit.head").unlink()
    (folder / "audit.head").symlink_to(target)
    (folder / f"audit.head.{os.getpid()}").symlink_to(target)
    audit = Audit(folder)
    audit.write("call", {})
    audit.close()
    assert target.read_text(encoding="utf-8") == "keep"
    assert verify(folder).broken is not None


def test_a_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    folder = tmp_path / "workspaces" / "app"
    folder.parent.mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuditUnavailableError, match="it is no folder"):
        Audit(folder).write("call", {})
    assert list((tmp_path / "elsewhere").iterdir()) == []
