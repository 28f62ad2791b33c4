"""`pml run`, `servers`, `tools` and `call` with real servers, in processes of their own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pml.confinement import probe

from .conftest import Configure, trusted
from .terminal import Terminal

BEST = str(probe(os.environ).best)

TOGETHER = """
const [text, now, log] = await Promise.all([
  mcp.filesystem.read_text_file({path: `${args.workspace}/hello.txt`}),
  mcp.time.get_current_time({timezone: "Europe/Paris"}),
  mcp.git.git_log({repo_path: `${args.workspace}/repo`}),
]);
await mcp.memory.create_entities({entities: [
  {name: "file", entityType: "text", observations: [text.content]},
]});
const graph = await mcp.memory.read_graph({});
return {zone: now.timezone, log, seen: graph.entities[0].observations};
"""


def pml(
    workspace: Path, *arguments: str, **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pml", *arguments], cwd=workspace, capture_output=True, text=True,
        env={**os.environ, "PML_STATE": str(workspace.parent / "state"), **environment},
        stdin=subprocess.DEVNULL, check=False, timeout=120, start_new_session=True,
    )  # fmt: skip


def test_four_servers_work_together_in_one_run(configure: Configure) -> None:
    workspace = configure("filesystem", "memory", "time", "git")
    given = json.dumps({"workspace": str(workspace)})
    done = pml(workspace, "run", "--json", "--yes", "--args", given, "-e", TOGETHER)
    report = json.loads(done.stdout)
    assert done.returncode == 0, report
    assert report["result"]["zone"] == "Europe/Paris"
    assert report["result"]["seen"] == ["hello"]
    assert "Message: first" in report["result"]["log"]
    assert [call["outcome"] for call in report["calls"]] == ["ok"] * 5
    audit = next((workspace.parent / "state").rglob("audit.jsonl"))
    lines = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
    started = {
        line["facts"]["server"]: line["facts"]["level"]
        for line in lines
        if line["event"] == "server_started"
    }
    assert started == dict.fromkeys(("filesystem", "memory", "time", "git"), BEST)


def test_calls_of_one_run_go_to_their_servers_at_the_same_time(configure: Configure) -> None:
    workspace = configure("everything")
    code = """
        const began = performance.now();
        const long = () => mcp.everything["trigger-long-running-operation"]({duration: 1, steps: 1});
        await long();
        const one = performance.now() - began;
        await Promise.all(Array.from({length: 8}, long));
        return (performance.now() - began - one) / one;
    """
    done = pml(workspace, "run", "--yes", "-e", code)
    assert float(done.stdout) < 4  # one after the other it would be 8 times as long


def test_an_error_of_a_tool_is_thrown_where_it_is_called(configure: Configure) -> None:
    workspace = configure("time")
    code = """try { await mcp.time.get_current_time({timezone: "Nowhere"}) }
              catch (error) { return [error.name, error.tool, error.code, error.message] }"""
    done = pml(workspace, "run", "--yes", "--json", "-e", code)
    name, tool, kind, message = json.loads(done.stdout)["result"]
    assert (name, tool, kind) == ("McpError", "time:get_current_time", "tool_error")
    assert "Nowhere" in message


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("mcp.tmie.now({})", "server_unknown", "configured in `.pml.json`: time"),
        ("mcp.time.get_curent_time({})", "tool_unknown", "did you mean time:get_current_time?"),
    ],
)
def test_a_wrong_name_is_told_with_the_right_one(
    code: str, kind: str, words: str, configure: Configure
) -> None:
    done = pml(configure("time"), "run", "--yes", "--json", "-e", f"await {code}")
    report = json.loads(done.stdout)
    assert (done.returncode, report["toolCode"]) == (1, kind)
    assert words in report["message"]


def test_without_a_terminal_nothing_is_called_and_the_exit_code_is_3(configure: Configure) -> None:
    workspace = configure("time")
    done = pml(workspace, "run", "-e", "await mcp.time.get_current_time({timezone: 'UTC'})")
    assert done.returncode == 3
    assert "`time:get_current_time` needs your approval" in done.stderr
    done = pml(workspace, "call", "time:get_current_time", "--args", '{"timezone": "UTC"}')
    assert done.returncode == 3


NOW = """const now = (note) => mcp.time.get_current_time({timezone: "UTC", note});
await now("\\x1b[2J"); return (await now("again")).timezone"""


def test_each_call_is_asked_about_by_itself_and_nothing_steers_the_terminal(
    configure: Configure,
) -> None:
    run = Terminal(configure("time"), "run", "-e", NOW)
    for note in (r"\u001b[2J", "again"):
        assert run.read_until("[N]o: ")
        assert "the call time:get_current_time wants to be made" in run.received
        assert f'"note": "{note}"' in run.received
        assert "program    line 1" in run.received
        assert "\x1b[2J" not in run.received
        run.answer("y\n")
    code, shown = run.end()
    assert (code, shown.strip().splitlines()[-1]) == (0, "UTC")


def test_no_answer_is_no_verdict_and_the_run_waits(configure: Configure) -> None:
    run = Terminal(configure("time"), "run", "-e", NOW)
    assert run.read_until("[N]o: ")
    run.answer("\x04")
    code, shown = run.end()
    assert code == 3
    assert "pml approve " in shown


def test_an_interrupt_at_a_question_ends_at_once_and_the_run_waits(configure: Configure) -> None:
    workspace = configure("time")
    run = Terminal(workspace, "run", "-e", NOW)
    assert run.read_until("[N]o: ")
    run.answer("\x03")
    code, shown = run.end()
    assert (code, "interrupted" in shown) == (130, True)
    assert len(json.loads(pml(workspace, "approvals", "--json").stdout)) == 1


@pytest.mark.parametrize("answer", ["\n", "n\n", "what?\n"])
def test_any_other_answer_is_no(answer: str, configure: Configure) -> None:
    run = Terminal(configure("time"), "run", "-e", NOW)
    assert run.read_until("[N]o: ")
    run.answer(answer)
    code, shown = run.end()
    assert code == 1
    assert "the call of `time:get_current_time` was not approved" in shown


def test_servers_are_shown_with_state_level_tools_and_error(configure: Configure) -> None:
    workspace = configure("time", "memory")
    path = workspace / ".pml.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    config["mcpServers"]["broken"] = {"command": "/bin/false"}
    config["mcpServers"]["keyless"] = {"command": "x", "env": {"KEY": "${NO_SUCH_KEY}"}}
    path.write_text(json.dumps(config), encoding="utf-8")
    trusted(workspace)
    done = pml(workspace, "servers", "--json")
    assert done.returncode == 1
    found: dict[str, Any] = {one["name"]: one for one in json.loads(done.stdout)}
    assert (found["time"]["state"], found["time"]["tools"]) == ("running", 2)
    assert found["time"]["level"] == found["memory"]["level"] == BEST
    assert found["time"]["pid"] != found["memory"]["pid"]
    assert found["broken"]["state"] == "failed"
    assert "exit code 1" in found["broken"]["error"]
    assert "NO_SUCH_KEY" in found["keyless"]["error"]
    table = pml(workspace, "servers").stdout
    assert f"time     running   stdio  sandbox {BEST}" in table
    idle = json.loads(pml(workspace, "servers", "--no-start", "--json").stdout)
    assert {one["state"] for one in idle} == {"idle", "failed"}


def test_tools_are_listed_by_pattern(configure: Configure) -> None:
    workspace = configure("time", "memory")
    assert pml(workspace, "tools", "time").stdout.splitlines() == [
        "time:get_current_time  Get current time in a specific timezone",
        "time:convert_time      Convert time between timezones",
    ]
    found = json.loads(pml(workspace, "tools", "*:c*", "--json", "--schema").stdout)
    ids = {tool["id"] for tool in found}
    assert {"time:convert_time", "memory:create_entities"} <= ids
    assert all(tool["inputSchema"]["type"] == "object" for tool in found)


def test_one_call_prints_the_value(configure: Configure) -> None:
    workspace = configure("time")
    given = ("time:get_current_time", "--yes", "--args", '{"timezone": "Asia/Tokyo"}')
    done = pml(workspace, "call", *given)
    assert json.loads(done.stdout)["timezone"] == "Asia/Tokyo"
    done = pml(workspace, "call", "time:get_current_time", "--yes", "--args", "{")
    assert (done.returncode, done.stdout) == (2, "")
    done = pml(workspace, "call", "time:nothing", "--yes")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: there is no tool `time:nothing`\n")


def test_without_a_configuration_the_commands_say_what_to_write(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    for command in (["servers"], ["tools"], ["call", "a:b"]):
        done = pml(tmp_path, *command)
        assert done.returncode == 1
        assert f"there is no {tmp_path.resolve()}/.pml.json" in done.stderr


def test_a_broken_configuration_stops_every_command(tmp_path: Path) -> None:
    (tmp_path / ".pml.json").write_text('{\n  "mcpServer": {}\n}', encoding="utf-8")
    for command in (["servers"], ["run", "-e", "1"]):
        done = pml(tmp_path, *command)
        assert done.returncode == 1, command
        assert ".pml.json:2:3" in done.stderr, done.stderr
