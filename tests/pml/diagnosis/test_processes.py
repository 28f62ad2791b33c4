"""A server that really outlives its gateway: the supervisor that would end it is stopped."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pml.confinement import Level, Support
from pml.diagnosis.processes import is_alive, look_for_strays, strays

PROC = Path("/proc")
END_SECONDS = 30.0

GATEWAY = """if True:
    import json, os, subprocess, sys
    from pathlib import Path
    from pml.confinement import *
    from pml.places import private_folder
    state, level = Path(sys.argv[1]), Level(sys.argv[2])
    folder = state / "workspaces" / "app-0123456789abcdef" / "servers" / "files"
    workspace, home, tmp = state.parent / "app", folder / "home", folder / "tmp" / str(os.getpid())
    for path in (workspace, home, tmp):
        private_folder(path)
    places = Places(workspace, home, tmp, state.parent)
    code = "import os, sys; print(os.getpid(), flush=True); sys.stdin.read()"
    planned = confine(
        Program(os.path.realpath(sys.executable), ("-I", "-S", "-c", code, "sk-secret")), Grants(), places,
        support=probe(os.environ), environ=os.environ, level=level,
    )
    started = subprocess.Popen(
        planned.argv, env=planned.environment, cwd=planned.cwd, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )
    started.stdout.readline()
    print(json.dumps([os.getpid(), started.pid]), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def gateway(
    tmp_path: Path, support: Support, request: pytest.FixtureRequest
) -> Iterator[tuple[Path, "subprocess.Popen[str]", int]]:
    """State, a gateway with one server, and the server's supervisor; nothing is left behind."""
    level = request.param
    if not support.best.at_least(level) or (level is Level.LANDLOCK and not support.landlock_abi):
        pytest.skip(f"level {level} does not work here: {support.reason}")
    state = tmp_path / "state"
    with subprocess.Popen(
        [sys.executable, "-c", GATEWAY, str(state), str(level)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        pid, supervisor = json.loads(process.stdout.readline())
        assert pid == process.pid
        watched = os.pidfd_open(supervisor)
        yield state, process, supervisor
        process.kill()
        process.wait()
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(watched, signal.SIGCONT)
        # now it ends what it watches, and itself
        assert select.select([watched], [], [], END_SECONDS)[0]
        os.close(watched)


LEVELS = pytest.mark.parametrize("gateway", [Level.LANDLOCK, Level.FULL], indirect=True)


@LEVELS
def test_what_outlived_its_gateway_is_named_with_the_command_that_ends_it(gateway) -> None:
    state, process, supervisor = gateway
    os.kill(supervisor, signal.SIGSTOP)
    process.kill()
    process.wait()
    found = look_for_strays(PROC, state)
    assert found
    assert {one.level for one in found} == {"warning"}
    assert f"of server files outlived its pml {process.pid}" in found[-1].fact
    assert "sk-secret" not in str(found)
    pids = {int(word) for one in found for word in str(one.fix).split() if word.isdigit()}
    assert supervisor in pids
    assert all(str(one.fix).startswith("kill -9 ") for one in found)


@LEVELS
def test_what_a_living_gateway_runs_is_no_stray(gateway) -> None:
    state, _, _ = gateway
    assert [one.level for one in look_for_strays(PROC, state)] == ["ok"]


def test_a_process_that_began_later_is_another_with_the_same_number() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as later:
        assert is_alive(PROC, os.getpid(), as_of=later.pid)
        assert is_alive(PROC, later.pid)
        assert not is_alive(PROC, later.pid, as_of=os.getpid())


def test_an_ended_process_that_nobody_collected_is_not_alive() -> None:
    child = os.posix_spawn("/bin/true", ["true"], {})
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert not is_alive(PROC, child)
    os.waitpid(child, 0)
    assert not is_alive(PROC, child)


def test_paths_of_others_in_tmpdir_are_not_ours(tmp_path: Path) -> None:
    for given in (
        "/tmp", str(tmp_path / "state" / "workspaces" / "a" / "servers" / "b" / "tmp" / "now"),
        str(tmp_path / "state" / "workspaces" / ".." / "servers" / "b" / "tmp" / "1"),
    ):  # fmt: skip
        with subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={"TMPDIR": given}
        ):
            assert list(strays(PROC, tmp_path / "state")) == []


def test_where_there_is_no_list_of_processes_nothing_is_said(tmp_path: Path) -> None:
    assert look_for_strays(tmp_path, tmp_path / "state") == []
