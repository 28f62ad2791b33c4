"""No check can hang the doctor or break it."""

import subprocess
import sys
import threading
from pathlib import Path

import anyio

from pml.diagnosis.bounded import bounded, on_a_thread
from pml.diagnosis.examination import Check, carried_out
from pml.diagnosis.finding import MOST_CHARACTERS, Finding, error, ok
from pml.errors import PmlError


async def good() -> Finding:
    return ok("good", "as it should be")


async def test_a_check_that_hangs_is_an_error_and_the_next_one_is_carried_out() -> None:
    never = threading.Event()
    hanging = Check("hanging", lambda: on_a_thread(lambda: ok("x", str(never.wait()))), 0.05)
    with anyio.fail_after(10):
        first, second = await carried_out([hanging, Check("good", good)])
    assert (first.level, first.subject) == ("error", "hanging")
    assert first.fact == "the check did not end within 0.05 s"
    assert first.fix
    assert second == await good()


def test_a_check_that_hangs_does_not_keep_the_process_alive() -> None:
    code = """if True:
        import anyio, threading
        from pml.diagnosis.bounded import bounded, on_a_thread
        forever = lambda: on_a_thread(threading.Event().wait)
        print(anyio.run(bounded, "hanging", forever, 0.05).level)
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("error\n", "")


async def test_a_check_that_crashes_is_an_error_and_no_traceback() -> None:
    async def crash() -> Finding:
        raise ZeroDivisionError("1 / 0")

    [found] = await carried_out([Check("crashing", crash)])
    assert (found.level, found.subject) == ("error", "crashing")
    assert found.fact == "the check failed: ZeroDivisionError: 1 / 0"
    assert "report" in str(found.fix)


async def test_what_blocks_raises_where_it_is_waited_for() -> None:
    def crash() -> Finding:
        raise PmlError("the fact", hint="the step")

    found = await bounded("blocking", lambda: on_a_thread(crash))
    assert found == error("blocking", "the fact", "the step")


async def test_an_error_of_the_system_names_the_file() -> None:
    found = await bounded("file", lambda: on_a_thread(Path("/nowhere/at/all").read_bytes))
    assert isinstance(found, Finding)
    assert found.fact == "No such file or directory: /nowhere/at/all"


async def test_the_human_is_told_what_is_looked_at() -> None:
    seen: list[str] = []
    await carried_out([Check("one", good), Check("two", good)], seen.append)
    assert seen == ["one", "two"]


def test_words_of_others_steer_no_terminal_and_stay_short() -> None:
    found = error("a\x1b[2J", f"one\n  two\n\n\u202e{'x' * 5000}", "fix\r\n it")
    assert found.subject == r"a\u{1b}[2J"
    assert found.fact.startswith(r"one; two; \u{202e}xxx")
    assert len(found.fact) < MOST_CHARACTERS + 50
    assert found.fix == "fix; it"
