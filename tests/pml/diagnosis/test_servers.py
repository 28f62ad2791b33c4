"""Real servers: one that works, and every way in which one does not."""

import json
import sys
from typing import Any

import anyio
import pytest

from pml.assembly import Setup
from pml.confinement import Level, Support
from pml.diagnosis import Finding, Surroundings, servers
from pml.diagnosis.configuration import find_workspace, read_configuration

from .conftest import Configure

DYING = (
    "import sys; print('first', file=sys.stderr); sys.exit('no \\x1b[2J disk for ' + sys.argv[1])"
)


@pytest.fixture(autouse=True)
def confines(support: Support) -> None:
    if not support.best.at_least(Level.LANDLOCK):
        pytest.skip(f"no server can be started here: {support.reason}")


def setup_of(around: Surroundings) -> Setup:
    known = read_configuration(around, find_workspace(around))
    assert known.prepared is not None, known.findings
    return known.prepared.setup


async def started(around: Surroundings) -> dict[str, Finding]:
    setup = setup_of(around)
    with anyio.fail_after(servers.seconds_for(setup)):
        return {one.subject: one for one in await servers.start_servers(setup)}


async def test_each_server_is_told_by_itself(
    around: Surroundings, configure: Configure, support: Support, installed: Any
) -> None:
    program = installed.python("mcp-server-time")
    python = {"command": sys.executable, "args": ["-c", DYING, "sk-1234567890abcdef"]}
    configure(
        servers={
            "time": {"command": program},
            "dying": {**python, "env": {"SOME_TOKEN": "sk-1234567890abcdef"}},
            "absent": {"command": "no-such-program-anywhere"},
            "keyless": {"command": "x", "env": {"KEY": "${NO_SUCH_KEY}"}},
        }
    )
    found = await started(around)
    assert list(found) == ["server time", "server dying", "server absent", "server keyless"]
    time, dying, absent, keyless = found.values()
    assert (time.level, time.fact) == ("ok", f"starts, 2 tools, sandbox {support.best}")
    assert dying.level == "error"
    assert "exit code 1" in dying.fact
    assert r"its last words: no \u{1b}[2J disk for" in dying.fact
    assert "first" not in dying.fact
    assert "sk-1234567890abcdef" not in str(found)
    assert "pml tools dying --verbose" in str(dying.fix)
    assert (absent.level, "no-such-program-anywhere" in absent.fact) == ("error", True)
    assert "install it" in str(absent.fix)
    assert (keyless.level, keyless.fact) == ("error", "not started, keys missing: NO_SUCH_KEY")
    assert "set NO_SUCH_KEY" in str(keyless.fix)
    assert list(around.state.glob("workspaces/*/servers/*/tmp/*")) == []


async def test_a_server_that_nobody_trusted_is_never_started(
    around: Surroundings, configure: Configure
) -> None:
    mark = around.cwd / "started"
    code = f"open({str(mark)!r}, 'w')"
    evil = {
        "command": sys.executable,
        "args": ["-c", code],
        "sandbox": {"fsWrite": ["${workspace}"]},
    }
    configure(servers={"evil": evil}, trust=False)
    [found] = (await started(around)).values()
    assert (found.level, found.fix) == ("warning", "pml trust")
    assert found.fact == "not started: this workspace is not trusted yet"
    assert not mark.exists()
    configure(servers={"evil": evil})
    [found] = (await started(around)).values()
    assert found.level == "error"
    assert mark.exists()  # trusted, it would have been


async def test_a_server_that_never_answers_is_told_within_its_time(
    around: Surroundings, configure: Configure
) -> None:
    silent = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
    configure(servers={"silent": silent}, limits={"startTimeoutSeconds": 0.3})
    assert servers.seconds_for(setup_of(around)) == 0.6 + servers.CLOSING_SECONDS
    [found] = (await started(around)).values()
    assert found.level == "error"
    assert "did not answer" in found.fact


async def test_a_server_that_nothing_confines_is_a_warning(
    around: Surroundings, configure: Configure, installed: Any
) -> None:
    program = installed.python("mcp-server-time")
    configure(servers={"time": {"command": program, "sandbox": {"mode": "off"}}})
    [found] = (await started(around)).values()
    assert (found.level, found.fact) == (
        "warning", "starts, 2 tools, sandbox off: nothing confines it",
    )  # fmt: skip


async def test_a_tool_that_had_to_be_left_out_is_a_warning(
    around: Surroundings, configure: Configure
) -> None:
    server = around.cwd / "server.py"
    answers = {
        "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}},
        "tools/list": {"tools": [{"name": "good", "inputSchema": {"type": "object"}}, {"name": 7}]},
    }  # fmt: skip
    server.write_text(
        f"import json, sys\nanswers = json.loads({json.dumps(json.dumps(answers))})\n"
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    if 'id' in request:\n"
        "        answer = {'jsonrpc': '2.0', 'id': request['id'], 'result': answers[request['method']]}\n"
        "        print(json.dumps(answer), flush=True)\n"
    )
    configure(servers={"odd": {"command": sys.executable, "args": [str(server)]}})
    [found] = (await started(around)).values()
    assert found.level == "warning"
    assert found.fact.startswith("starts, 1 tool, ")
    assert "left out: " in found.fact


def test_what_is_configured_can_be_told_without_starting_it(
    around: Surroundings, configure: Configure, support: Support
) -> None:
    mark = around.cwd / "started"
    code = f"open({str(mark)!r}, 'w')"
    configure(
        servers={
            "local": {"command": sys.executable, "args": ["-c", code]},
            "absent": {"command": "no-such-program-anywhere"},
            "remote": {"type": "http", "url": "https://example.com/mcp"},
            "keyless": {"command": "x", "env": {"KEY": "${NO_SUCH_KEY}"}},
        }
    )
    found = {one.subject: one for one in servers.name_servers(setup_of(around))}
    assert {name: one.level for name, one in found.items()} == {
        "server local": "ok", "server absent": "error", "server remote": "ok", "server keyless": "error",
    }  # fmt: skip
    assert found["server local"].fact == f"not started, sandbox {support.best}"
    assert not mark.exists()
    assert list(around.state.glob("workspaces/*/servers/*/tmp/*")) == []
