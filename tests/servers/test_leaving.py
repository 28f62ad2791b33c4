"""Whatever ends the gateway, none of its servers is left, a double-forked daemon included."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pml.confinement import Level, probe

from .conftest import block, core_set

HERE = Path(__file__).parent
BAD = HERE.parent / "pml" / "backends" / "stdio" / "bad_server.py"
GONE_SECONDS = 2.0


def descendants(pid: int) -> Iterator[int]:
    """Give all processes below one, as the kernel knows them."""
    try:
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return  # it has ended meanwhile
    for child in children:
        yield child
        yield from descendants(child)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    return state not in "ZX"


def wait_until(ready: Any, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if ready():
            return True
        time.sleep(0.01)
    return bool(ready())


def levels() -> list[Level]:
    best = probe({"PATH": "/usr/bin:/bin"}).best
    return [level for level in (Level.FULL, Level.LANDLOCK) if best.at_least(level)]


@pytest.fixture
def running(
    request: pytest.FixtureRequest, workspace: Path, installed: Any
) -> Iterator["subprocess.Popen[str]"]:
    """A gateway with five servers, all of them up."""
    level: Level = request.param
    chosen = ("filesystem", "memory", "time", "git")
    servers = {name: one for name, one in core_set(installed).items() if name in chosen}
    grants = {"spawn": True, "fs_write": ["${workspace}"]}
    servers["bad"] = block(sys.executable, str(BAD), "forks-a-daemon", sandbox=grants)
    text = json.dumps({"mcpServers": servers})
    (workspace / ".pml.json").write_text(text, encoding="utf-8")
    path = "/usr/bin:/bin" if level is Level.FULL else str(without_bwrap(workspace.parent))
    gateway = subprocess.Popen(
        [sys.executable, str(HERE / "gateway.py"), str(workspace)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={"PATH": path, "HOME": str(Path.home())},
    )  # fmt: skip
    with gateway:
        assert gateway.stdout is not None
        assert gateway.stdout.readline() == "ready\n"
        yield gateway
        if gateway.poll() is None:
            gateway.kill()


def without_bwrap(folder: Path) -> Path:
    """Give a PATH on which bubblewrap is not found, but git and a shell are."""
    programs = folder / "programs"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    return programs


@pytest.mark.parametrize("running", levels(), indirect=True, ids=str)
@pytest.mark.parametrize("end", ["kill", "interrupt", "close stdin"])
def test_no_process_is_left(running: "subprocess.Popen[str]", end: str, workspace: Path) -> None:
    heartbeat = workspace / "heartbeat"
    assert wait_until(lambda: heartbeat.exists() and heartbeat.read_text(), 5)
    # what a server starts for a moment may be gone by now
    below = [pid for pid in descendants(running.pid) if is_alive(pid)]
    assert len(below) >= 6  # five servers and a daemon, besides what holds them
    if end == "kill":
        running.kill()
    elif end == "interrupt":
        running.send_signal(signal.SIGINT)
    else:
        assert running.stdin is not None
        running.stdin.close()
    assert wait_until(lambda: not any(is_alive(pid) for pid in below), GONE_SECONDS), [
        (pid, Path(f"/proc/{pid}/cmdline").read_bytes()[-100:]) for pid in below if is_alive(pid)
    ]
    last = heartbeat.read_text()
    time.sleep(0.1)
    assert heartbeat.read_text() == last
