"""Real processes, really killed or stopped by the kernel in the middle of a line."""

import subprocess
import sys
import threading
from pathlib import Path

from pml.audit import Audit, verify

from .conftest import Lines

ENDLESS = """
import sys
from pathlib import Path
from pml.audit import Audit
audit = Audit(Path(sys.argv[1]))
number = 0
while True:
    audit.write("call", {"number": number, "words": "x" * 3000})
    number += 1
    if number == 200:
        print("under way", flush=True)
"""

BEGUN = """
import sys
from pathlib import Path
from pml.audit import Audit
Audit(Path(sys.argv[1])).begin("call", {"tool": "git:push"})
print("begun", flush=True)
sys.stdin.read()
"""

LIMITED = """
import resource, sys
from pathlib import Path
from pml.audit import Audit, AuditUnavailableError
folder = Path(sys.argv[1])
audit = Audit(folder)
audit.write("call", {})
size = (folder / "audit.jsonl").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 600, size + 600))  # two lines and a part
done = 0
try:
    while True:
        audit.begin("call", {})
        done += 1
except AuditUnavailableError as error:
    print(done, error.code, error.message.rpartition(": ")[2])
"""


def _child(program: str, folder: Path) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", program, str(folder)]
    pipe = subprocess.PIPE
    return subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True)


def test_a_process_that_is_killed_while_writing_leaves_a_whole_chain(folder: Path) -> None:
    for _ in range(3):
        with _child(ENDLESS, folder) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "under way\n"
            child.kill()
        report = verify(folder)
        assert report.broken is None
        assert report.count >= 200
    before = report.count
    Audit(folder).write("call", {})
    assert verify(folder).broken is None
    assert verify(folder).count > before


def test_a_call_under_way_when_the_process_dies_is_written_down(
    folder: Path, lines: Lines
) -> None:
    with _child(BEGUN, folder) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begun\n"
        child.kill()
    assert lines()[-1]["event"] == "call_executing"
    assert verify(folder).ok


def test_of_ten_thousand_events_none_is_lost(folder: Path, lines: Lines) -> None:
    audit = Audit(folder)
    for number in range(10_000):
        audit.write("call", {"number": number})
    audit.close()
    assert [line["facts"]["number"] for line in lines()[1:]] == list(range(10_000))
    assert verify(folder).count == 10_001


def test_a_write_that_the_kernel_cuts_short_stops_the_call_and_is_told_later(
    folder: Path, lines: Lines
) -> None:
    with _child(LIMITED, folder) as child:
        assert child.communicate()[0] == "2 audit_unavailable File too large\n"
    assert not (folder / "audit.jsonl").read_bytes().endswith(b"\n")
    report = verify(folder)
    assert (report.count, report.broken) == (4, None)
    assert [place.line for place in report.partial] == [5]
    Audit(folder).write("call", {})
    text = (folder / "audit.jsonl").read_text(encoding="ascii").splitlines()
    assert '"event":"recovered"' in text[5]
    report = verify(folder)
    assert (report.count, report.broken) == (6, None)
    assert [place.line for place in report.partial] == [5]


def test_the_chain_can_be_checked_while_it_grows(folder: Path) -> None:
    stop = threading.Event()
    audit = Audit(folder)

    def write() -> None:
        while not stop.is_set():
            audit.write("call", {})

    thread = threading.Thread(target=write)
    thread.start()
    try:
        reports = [verify(folder) for _ in range(20)]
    finally:
        stop.set()
        thread.join()
    audit.close()
    assert [report.broken for report in reports] == [None] * 20
    assert verify(folder).ok
