"""A server's life: one process for all, stopped when idle, given up after too many crashes."""

import os
from pathlib import Path

import anyio
import pytest

from pml.backends.errors import ServerEndedError, ServerGivenUpError, ServerStartError
from pml.backends.stdio import Patience
from pml.model import ServerState

from .conftest import Open

CRASHY = Patience(start_seconds=20, backoff_seconds=(0.0, 0.01), crashes=3, last_words_seconds=2)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return not Path(f"/proc/{pid}/stat").read_text().split(") ")[1].startswith("Z")


async def gone(pid: int) -> bool:
    with anyio.move_on_after(5):
        while is_alive(pid):
            await anyio.sleep(0.01)
        return True
    return False


async def test_nothing_is_started_before_the_first_call(start: Open) -> None:
    async with start("pid") as subject:
        status = subject.backend.status()
        assert (status.state, status.pid) == (ServerState.IDLE, None)
    assert subject.witness.starts == []


async def test_concurrent_first_calls_share_one_start(start: Open) -> None:
    async with start("pid") as subject:
        found: set[str] = set()

        async def ask() -> None:
            found.add(await subject.text())

        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(ask)
        assert len(found) == 1
        status = subject.backend.status()
        assert (status.state, status.protocol) == (ServerState.RUNNING, "2025-11-25")
    assert len(subject.witness.starts) == 1
    assert await gone(int(found.pop()))


async def test_a_first_caller_that_gives_up_takes_nothing_from_the_others(start: Open) -> None:
    async with start("pid") as subject, anyio.create_task_group() as tasks:
        found: list[str] = []

        async def ask() -> None:
            found.append(await subject.text())

        with anyio.CancelScope() as scope:

            async def cancel_soon() -> None:
                scope.cancel()

            tasks.start_soon(ask)
            tasks.start_soon(cancel_soon)
            await subject.text()
        assert scope.cancelled_caught
    assert len(found) == 1
    assert len(subject.witness.starts) == 1


async def test_an_idle_server_is_stopped_and_started_again_unnoticed(start: Open) -> None:
    async with start("pid", Patience(idle_seconds=0.1)) as subject:
        first = int(await subject.text())
        assert await gone(first)
        second = int(await subject.text())
        assert second != first
    assert subject.witness.ends[0] == "idle"


async def test_a_server_with_a_call_under_way_is_not_idle(start: Open) -> None:
    async with start("silent", Patience(idle_seconds=0.1)) as subject:
        with pytest.raises(Exception, match="within 0.6 s"):
            await subject.backend.call_tool("good", {"quiet": True}, timeout_seconds=0.6)
        assert len(subject.witness.starts) == 1
        assert subject.witness.ends == []


async def test_too_many_crashes_give_a_server_up(start: Open) -> None:
    async with start("exits", CRASHY) as subject:
        for _ in range(2):
            with pytest.raises(ServerEndedError):
                await subject.text()
        with pytest.raises((ServerEndedError, ServerGivenUpError)):
            await subject.text()
        with pytest.raises(ServerGivenUpError, match="crashed 3 times") as caught:
            await subject.text()
        assert "exit code 7" in caught.value.message
        assert subject.backend.status().state == ServerState.GIVEN_UP
    assert len(subject.witness.starts) == 3


async def test_a_start_that_fails_fails_all_who_wait_for_it_at_once(start: Open) -> None:
    async with start("dies-at-start", CRASHY) as subject:
        codes: list[str] = []

        async def ask() -> None:
            with pytest.raises(ServerStartError) as caught:
                await subject.text()
            codes.append(caught.value.code)

        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(ask)
        assert codes == ["server_start_failed"] * 30
    assert len(subject.witness.starts) == 1


async def test_crashes_long_ago_are_forgiven(start: Open) -> None:
    patience = Patience(backoff_seconds=(0.0,), crashes=3, window_seconds=0.0)
    async with start("exits", patience) as subject:
        for _ in range(5):
            with pytest.raises(ServerEndedError):
                await subject.text()
    assert len(subject.witness.starts) == 5


async def test_a_server_that_refuses_to_end_is_killed(start: Open) -> None:
    async with start("refuses-to-end") as subject:
        await subject.text()
        pid = subject.backend.status().pid
        assert pid is not None
    assert await gone(pid)


async def test_a_daemon_that_left_its_session_ends_with_its_server(
    start: Open, tmp_path: Path
) -> None:
    heartbeat = tmp_path / "heartbeat"
    async with start("forks-a-daemon") as subject:
        await subject.text(file=str(heartbeat))
        with anyio.fail_after(5):
            while not (heartbeat.exists() and heartbeat.read_text()):
                await anyio.sleep(0.01)
        daemon = int(heartbeat.read_text().split()[0])
        assert is_alive(daemon)
    assert await gone(daemon)


async def test_closing_while_it_starts_does_not_wait_for_the_start(start: Open) -> None:
    async with start("silent-start") as subject, anyio.create_task_group() as tasks:

        async def ask() -> None:
            with pytest.raises(ServerEndedError):
                await subject.text()

        tasks.start_soon(ask)
        with anyio.fail_after(10):
            while not subject.witness.starts:
                await anyio.sleep(0.01)
            await subject.backend.aclose()


async def test_after_closing_nothing_is_started(start: Open) -> None:
    async with start("pid") as subject:
        await subject.backend.aclose()
        await subject.backend.aclose()
        with pytest.raises(ServerEndedError, match="it was closed"):
            await subject.text()
    assert subject.witness.starts == []
