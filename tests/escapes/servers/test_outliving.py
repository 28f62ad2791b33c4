"""Attack: leave a daemon behind (setsid, double fork) that lives on after the server or the gateway has ended."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pml.confinement import Grants, Level

LEVELS = [Level.FULL, Level.LANDLOCK, Level.PARTIAL, Level.OFF]
ROOT = Path(__file__).resolve().parents[3]
DEAD_AFTER_SECONDS = 2.0
_BEAT_SECONDS = 0.02

DAEMON = textwrap.dedent("""
    import os, sys, time, signal
    beat = sys.argv[1]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (0, 1, 2):
                os.close(number)
            while True:
                with open(beat, "a") as file:
                    file.write(".")
                if "hopping" not in sys.argv:
                    time.sleep(0.02)
                elif os.fork():
                    os._exit(0)
        os._exit(0)
    for line in sys.stdin:
        print("pong", flush=True)
    if "stubborn" in sys.argv:
        while True:
            time.sleep(1)
""")


@pytest.fixture
def daemon(world) -> Path:
    """A server that leaves a daemon, in a package of its own."""
    package = world.outside.parent / "packages" / "daemon"
    package.mkdir(parents=True)
    (package / "daemon.py").write_text(DAEMON)
    return package / "daemon.py"


@pytest.fixture
def gateway(world, daemon, needs):
    """Starts a stand-in for the gateway, which starts the server."""
    running = []

    def gateway(level: Level, *args: str) -> "subprocess.Popen[bytes]":
        needs(level)
        beat = world.workspace / "beat"
        told = {
            "command": os.path.realpath(sys.executable), "args": [str(daemon), str(beat), *args], "spawn": True,
            "level": str(level), "workspace": str(world.workspace), "home": str(world.places.home),
            "tmp": str(world.places.tmp), "user_home": str(world.places.user_home),
        }  # fmt: skip
        found = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
        environ = {**os.environ, "PYTHONPATH": found}
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).parent / "gateway.py"), json.dumps(told)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, start_new_session=True,
        )  # fmt: skip
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().strip().isdigit()
        return process

    yield gateway
    for process in running:
        process.kill()
        process.communicate()


def _size(beat: Path) -> int:
    return beat.stat().st_size if beat.exists() else 0


def _until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(_BEAT_SECONDS)


def _beating(beat: Path) -> None:
    before = _size(beat)
    _until(lambda: _size(beat) > before + 3)


def _silent(beat: Path) -> None:
    """No beat for many times its interval, soon enough."""
    deadline = time.monotonic() + DEAD_AFTER_SECONDS
    last, since = _size(beat), time.monotonic()
    while time.monotonic() - since < 15 * _BEAT_SECONDS:
        if _size(beat) != last:
            last, since = _size(beat), time.monotonic()
            assert since < deadline, "the daemon lives"
        time.sleep(_BEAT_SECONDS)


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_outlives_a_gateway_that_was_killed(gateway, world, level) -> None:
    process = gateway(level)
    _beating(world.workspace / "beat")
    process.kill()
    _silent(world.workspace / "beat")


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_outlives_a_server_whose_stdin_was_closed(start_daemon, world, level) -> None:
    evil = start_daemon(level)
    evil.process.stdin.close()
    assert evil.process.wait(10) == 0
    _silent(world.workspace / "beat")


@pytest.mark.parametrize("manner", ["resting", "hopping"])
@pytest.mark.parametrize("level", LEVELS)
def test_nothing_outlives_a_server_that_ignores_being_asked(
    start_daemon, world, level, manner
) -> None:
    evil = start_daemon(level, "stubborn", manner)
    evil.process.stdin.close()
    evil.ask_to_end()
    assert evil.process.wait(10) in {-signal.SIGKILL, 128 + signal.SIGKILL}
    _silent(world.workspace / "beat")


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_outlives_a_server_that_is_ended_at_once(start_daemon, world, level) -> None:
    evil = start_daemon(level)
    assert evil.end_now() is False
    evil.process.wait(10)
    _silent(world.workspace / "beat")


@pytest.mark.parametrize("level", LEVELS)
def test_a_daemon_that_hops_from_process_to_process_is_caught(start_daemon, world, level) -> None:
    """Attack: no process lives long enough to be found in a list and killed."""
    evil = start_daemon(level, "hopping")
    evil.process.stdin.close()
    assert evil.process.wait(20) == 0
    _silent(world.workspace / "beat")


@pytest.mark.parametrize("level", LEVELS)
def test_even_if_the_supervisor_is_killed_the_server_itself_ends(start, level) -> None:
    """What may stay then is only what the server left behind: hence `end_now`."""
    evil = start(level)
    assert evil.ask("kill", 0, 0) == "OPEN"
    evil.process.kill()
    assert evil.process.stdout.read() == b""  # nobody holds the pipe any more


@pytest.mark.parametrize("level", LEVELS)
def test_a_server_that_is_ended_while_it_starts_leaves_nothing(start, world, level) -> None:
    """Attack by accident: bubblewrap's inner process ends with the outer one only once it is set up."""
    for number in range(25):
        evil = start(level)
        time.sleep(number * 0.002)
        evil.end_now()
        evil.process.wait(10)
        assert _processes_of(world) == [], number


@pytest.mark.parametrize("level", LEVELS)
def test_a_gateway_that_is_killed_while_a_server_starts_leaves_nothing(
    gateway, world, level
) -> None:
    for number in range(6):
        process = gateway(level)
        time.sleep(number * 0.005)
        process.kill()
        process.wait(10)
        _until(lambda: _processes_of(world) == [])


@pytest.mark.parametrize("level", LEVELS)
def test_being_asked_reaches_the_server_itself(start, level) -> None:
    evil = start(level, grants=Grants(spawn=True))
    assert evil.ask("kill", 0, 0) == "OPEN"
    evil.ask_to_end()
    assert evil.process.wait(10) == 128 + signal.SIGTERM


def test_without_any_of_this_the_daemon_lives_on(world, daemon) -> None:
    """The canary: what the tests above end is something that otherwise stays."""
    beat = world.workspace / "beat"
    process = subprocess.Popen(
        [sys.executable, daemon, beat], stdin=subprocess.PIPE, start_new_session=True
    )
    _beating(beat)
    assert process.stdin is not None
    process.stdin.close()
    process.wait(10)
    _beating(beat)
    _kill_writer(daemon)


def _kill_writer(daemon: Path) -> None:
    """End exactly the daemon of this test, known by its own file in a fresh folder."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and str(daemon).encode() in _command_line(entry):
            os.kill(int(entry.name), signal.SIGKILL)


def _processes_of(world) -> list[str]:
    """Every process that was told a folder of this test, but for the stand-in."""
    told = str(world.outside.parent).encode()
    lines = (_command_line(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [str(line) for line in lines if told in line and b"gateway.py" not in line]


def _command_line(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def start_daemon(start, world, daemon):
    def start_daemon(level: Level, *args: str):
        beat = world.workspace / "beat"
        grants = Grants(fs_write=(world.workspace,), spawn=True)
        evil = start(level, grants=grants, script=(daemon, str(beat), *args))
        _beating(beat)
        return evil

    return start_daemon
