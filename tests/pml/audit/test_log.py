import datetime
import errno
import multiprocessing
import os
import re
import threading
from pathlib import Path

import pytest

from pml.audit import Audit, AuditKeyLostError, AuditUnavailableError, files, log, verify
from pml.redaction import Redactor

from .conftest import Lines, written


def test_lines_are_numbered_dated_chained_and_for_the_user_alone(
    folder: Path, lines: Lines
) -> None:
    now = datetime.datetime(2026, 11, 18, 6, 0, tzinfo=datetime.UTC)
    for number in (1, 2):  # a second process goes on where the first stopped
        audit = Audit(folder, clock=lambda: now)
        audit.write("server_started", {"server": "git", "pid": number})
        audit.close()
    opened, first, second = lines()
    assert [line["n"] for line in (opened, first, second)] == [1, 2, 3]
    assert (first["event"], first["facts"]) == ("server_started", {"server": "git", "pid": 1})
    assert first["at"] == "2026-11-18T06:00:00.000Z"
    assert opened["prev"] == "0" * 64
    assert (first["prev"], second["prev"]) == (opened["hash"], first["hash"])
    assert verify(folder).count == 3
    for path in (
        folder / "audit.jsonl",
        folder / "audit.head",
        folder.parent.parent / "audit.key",
    ):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_call_is_written_before_and_after(folder: Path, lines: Lines) -> None:
    audit = Audit(folder)
    begun = audit.begin("call", {"tool": "git:push"})
    assert lines()[-1]["event"] == "call_executing"
    audit.end(begun, "ok", {"tool": "git:push", "began": "not this"})
    last = lines()[-1]
    assert last["event"] == "call_ended"
    assert last["facts"] == {"tool": "git:push", "began": begun.number, "outcome": "ok"}


def test_facts_are_redacted_by_value_whatever_their_name(folder: Path, lines: Lines) -> None:
    audit = Audit(folder, Redactor({"TOKEN": "hunter2hunter2"}, shapes=True))
    audit.write("refusal", {"data": {"hunter2hunter2": ["say hunter2hunter2"]}})
    audit.write("refusal", {"words": "Bearer abcdefgh12345678"})
    assert lines()[-2]["facts"] == {"data": {"[secret TOKEN]": ["say [secret TOKEN]"]}}
    assert lines()[-1]["facts"] == {"words": "Bearer [token]"}


def test_what_a_guest_wrote_cannot_steer_a_terminal_or_forge_a_line(
    folder: Path, lines: Lines
) -> None:
    words = '\x1b[2J\u202e\r\n{"n":3}\ud800'
    Audit(folder).write("refusal", {"path": words})
    content = (folder / "audit.jsonl").read_bytes()
    assert re.fullmatch(rb"[\x20-\x7e\n]*", content)
    assert content.count(b"\n") == 2
    assert lines()[-1]["facts"]["path"] == words


def test_facts_that_are_too_long_keep_what_is_short(folder: Path, lines: Lines) -> None:
    audit = Audit(folder)
    audit.write(
        "refusal", {"tool": "a:b", "huge": "x" * 100_000, **{f"f{n}": n for n in range(90)}}
    )
    facts = lines()[-1]["facts"]
    assert facts["tool"] == "a:b"
    assert "huge" in facts["leftOut"]
    assert len((folder / "audit.jsonl").read_bytes()) < 10_000
    assert verify(folder).ok


@pytest.mark.parametrize("odd", [float("nan"), {("a", "b"): 1}], ids=["nan", "key"])
def test_facts_that_are_no_json_still_leave_a_line(
    folder: Path, lines: Lines, odd: object
) -> None:
    Audit(folder).write("call", {"odd": odd, "tool": "a:b"})
    assert lines()[-1]["facts"] == {"tool": "a:b", "leftOut": ["odd"]}


def test_paths_are_written_as_text(folder: Path, lines: Lines) -> None:
    Audit(folder).write("server_started", {"home": Path("/home/ada")})
    assert lines()[-1]["facts"] == {"home": "/home/ada"}


def test_a_full_file_is_set_aside_and_the_chain_goes_on(
    folder: Path, lines: Lines, small_files: None
) -> None:
    written(folder, 20)
    numbers = files.set_aside(folder)
    assert len(numbers) >= 3
    last = (folder / f"audit.{numbers[-1]}.jsonl").read_text(encoding="ascii").splitlines()[-1]
    first = lines()[0]
    assert (first["event"], first["facts"]) == ("opened", {"file": numbers[-1] + 1})
    assert first["prev"] in last
    report = verify(folder)
    assert report.ok
    assert report.count == 20 + len(numbers) + 1


def test_only_so_many_files_are_kept_and_still_verify(folder: Path, small_files: None) -> None:
    written(folder, 100)
    numbers = files.set_aside(folder)
    assert len(numbers) == log.KEPT_FILES
    assert numbers[0] > 1
    assert verify(folder).ok


def _append_many(folder: Path, who: int) -> None:
    audit = Audit(folder)
    for number in range(200):
        audit.write("call", {"who": who, "number": number})
    audit.close()


def test_processes_and_threads_that_append_at_once_lose_nothing(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_append_many, args=(folder, who)) for who in range(3)]
    for process in processes:
        process.start()
    shared = Audit(folder)
    threads = [
        threading.Thread(target=lambda: [shared.write("call", {}) for _ in range(200)])
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for one in (*processes, *threads):
        one.join(60)
    shared.close()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    report = verify(folder)
    assert report.broken is None
    assert report.count == 1 + 5 * 200


def _append_many_to_small_files(folder: Path) -> None:
    log.MOST_BYTES = 4000
    _append_many(folder, 0)


def test_files_that_several_processes_set_aside_verify_at_every_moment(folder: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_append_many_to_small_files, args=(folder,)) for _ in range(3)
    ]
    for process in processes:
        process.start()
    broken = []
    while any(process.is_alive() for process in processes):
        broken.append(verify(folder).broken)
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert set(broken) == {None}
    assert verify(folder).ok


def test_setting_aside_while_others_append_loses_nothing(folder: Path, small_files: None) -> None:
    audits = [Audit(folder) for _ in range(3)]
    for number in range(10):
        for audit in audits:
            audit.write("call", {"number": number})
    for audit in audits:
        audit.close()
    report = verify(folder)
    assert report.broken is None
    assert report.count == 30 + len(files.set_aside(folder)) + 1


class FullDisk:
    """Takes some bytes, then none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self._write = os.write
        monkeypatch.setattr(files.os, "write", self.write)

    def write(self, descriptor: int, content: bytes) -> int:
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        taken = self._write(descriptor, content[: self.room])
        self.room -= taken
        return taken


@pytest.mark.parametrize("room", [0, 1, 30, 200])
def test_a_full_disk_stops_the_call_and_nothing_is_lost(
    folder: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    audit = Audit(folder)
    audit.write("call", {"number": 1})
    disk = FullDisk(monkeypatch, room)
    with pytest.raises(AuditUnavailableError, match="No space left on device"):
        audit.begin("call", {"number": 2, "words": "x" * 100})
    disk.room = 10_000
    audit.write("call", {"number": 3})
    audit.close()
    report = verify(folder)
    assert report.broken is None
    assert [place.line for place in report.partial] == ([3] if room else [])
    content = (folder / "audit.jsonl").read_bytes()
    assert (b'"event":"recovered"' in content) == (room > 0)
    assert content.endswith(b"\n")


def test_a_disk_that_is_full_again_and_again_leaves_several_halves(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = Audit(folder)
    audit.write("call", {})
    disk = FullDisk(monkeypatch, 0)
    for room in (20, 1, 40, 3):
        disk.room = room
        with pytest.raises(AuditUnavailableError):
            audit.write("call", {})
    disk.room = 10_000
    audit.write("call", {})
    audit.close()
    report = verify(folder)
    assert report.broken is None
    assert report.count == 4  # opened, call, recovered, call
    assert len(report.partial) == 1


def test_a_line_that_only_lacks_its_break_counts(folder: Path) -> None:
    written(folder, 2)
    path = folder / "audit.jsonl"
    path.write_bytes(path.read_bytes()[:-1])
    assert verify(folder).count == 3
    written(folder, 1)
    report = verify(folder)
    assert (report.count, report.broken, report.partial) == (4, None, ())


def test_a_read_only_folder_stops_the_call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(files.os, "open", refuse)
    with pytest.raises(AuditUnavailableError, match="Read-only file system"):
        Audit(folder).write("call", {})


def test_what_has_happened_is_written_when_the_disk_takes_it_again(
    folder: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    audit = Audit(folder)
    audit.write("call", {})
    disk = FullDisk(monkeypatch, 0)
    audit.note("server_stopped", {"server": "git"})
    assert audit.problem is not None
    with pytest.raises(AuditUnavailableError):
        audit.begin("call", {})
    disk.room = 10_000
    audit.close()
    assert audit.problem is None
    assert lines()[-1]["facts"] == {"server": "git"}
    assert verify(folder).ok


def test_more_than_memory_should_hold_is_counted(
    folder: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_MOST_WAITING", 2)
    audit = Audit(folder)
    audit.write("call", {})
    disk = FullDisk(monkeypatch, 0)
    for number in range(5):
        audit.note("server_stopped", {"number": number})
    disk.room = 10_000
    audit.close()
    assert [line["facts"] for line in lines()[-3:]] == [{"lines": 3}, {"number": 0}, {"number": 1}]


def test_a_process_that_holds_the_file_for_ever_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(folder, 1)
    monkeypatch.setattr(files, "_LOCK_SECONDS", 0.01)
    descriptor = os.open(folder / "audit.jsonl", os.O_RDONLY)
    files.lock(descriptor, folder)
    with pytest.raises(AuditUnavailableError, match="another process holds it"):
        Audit(folder).write("call", {})
    os.close(descriptor)
    Audit(folder).write("call", {})


@pytest.mark.parametrize("damage", ["missing", "short", "readable", "link"])
def test_a_key_that_is_lost_is_told_and_not_replaced(folder: Path, damage: str) -> None:
    written(folder, 1)
    key = folder.parent.parent / "audit.key"
    good = key.read_bytes()
    if damage == "short":
        key.write_bytes(good[:-1])
    elif damage == "readable":
        key.chmod(0o644)
    else:
        key.unlink()
    if damage == "link":
        (key.parent / "elsewhere").write_bytes(good)
        key.symlink_to("elsewhere")
    for attempt in (lambda: Audit(folder).write("call", {}), lambda: verify(folder)):
        with pytest.raises(AuditUnavailableError) as caught:
            attempt()
        if damage in ("missing", "short"):
            assert isinstance(caught.value, AuditKeyLostError)
    assert key.is_symlink() or not key.exists() or key.read_bytes() in (good, good[:-1])


def test_another_workspace_with_logs_needs_the_key_too(folder: Path) -> None:
    written(folder, 1)
    (folder.parent.parent / "audit.key").unlink()
    with pytest.raises(AuditKeyLostError):
        Audit(folder.with_name("other-1")).write("call", {})


def test_two_workspaces_of_a_user_share_the_key(folder: Path) -> None:
    other = folder.with_name("other-1")
    written(folder, 1)
    key = (folder.parent.parent / "audit.key").read_bytes()
    written(other, 1)
    assert (folder.parent.parent / "audit.key").read_bytes() == key
    assert verify(other).ok


def test_a_file_that_was_only_just_made_is_no_break(folder: Path) -> None:
    written(folder, 1)
    (folder / "audit.head").unlink()
    (folder / "audit.jsonl").write_bytes(b"")
    assert verify(folder).ok


def test_where_nothing_was_written_there_is_nothing_to_verify(folder: Path) -> None:
    assert verify(folder) == type(verify(folder))()
    assert not folder.exists()
