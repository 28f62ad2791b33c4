"""The human's word across processes: killed while waiting, approved elsewhere, done exactly once."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import block, trusted
from .terminal import Terminal
from .test_cli import pml

COUNTER = Path(__file__).parent / "counter_server.py"
THREE = """
const settled = await Promise.allSettled([
  mcp.counter.one({}), mcp.counter.two({to: "ada"}), mcp.counter.three({}),
]);
const after = await mcp.counter.four({});
return [...settled.map((one) => one.value?.did ?? one.reason.code), after.did];
"""

Workspace = Callable[..., Path]


@pytest.fixture
def counting(workspace: Path) -> Workspace:
    """A workspace with the counting server and these permissions."""

    def write(**permissions: list[str]) -> Path:
        server = block(
            sys.executable, str(COUNTER), "${workspace}/effects",
            sandbox={"fs_write": ["${workspace}"]},
        )  # fmt: skip
        config = {"permissions": permissions, "mcpServers": {"counter": server}}
        (workspace / ".pml.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
        return trusted(workspace)

    return write


def effects(workspace: Path) -> list[str]:
    path = workspace / "effects"
    return sorted(path.read_text(encoding="utf-8").split()) if path.exists() else []


def waiting(workspace: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(pml(workspace, "approvals", "--json").stdout)
    return found


ALLOWED = ["counter:one", "counter:three", "counter:four"]


@pytest.mark.parametrize(
    ("answer", "value", "done"),
    [
        ("y\n", ["one", "two", "three", "four"], ["four", "one", "three", "two"]),
        ("n\n", ["one", "call_denied", "three", "four"], ["four", "one", "three"]),
    ],
)
def test_killed_while_waiting_it_is_finished_by_another_process_and_nothing_happens_twice(
    answer: str, value: list[str], done: list[str], counting: Workspace
) -> None:
    workspace = counting(allow=ALLOWED)
    first = Terminal(workspace, "run", "-e", THREE)
    assert first.read_until("[N]o: ")
    assert effects(workspace) == ["one", "three"]
    first.kill()
    [question] = waiting(workspace)
    assert (question["tool"], question["arguments"]) == ("counter:two", '{"to": "ada"}')
    second = Terminal(workspace, "approve", question["id"])
    assert second.read_until("[N]o: ")
    second.answer(answer)
    code, shown = second.end()
    assert (code, json.loads(shown.strip().splitlines()[-1])) == (0, value)
    assert effects(workspace) == done
    assert waiting(workspace) == []


def test_without_a_terminal_a_run_waits_and_says_how_to_answer(counting: Workspace) -> None:
    workspace = counting(allow=ALLOWED)
    done = pml(workspace, "run", "-e", THREE)
    assert done.returncode == 3
    [question] = waiting(workspace)
    assert f"`counter:two` needs your approval (question {question['id']})" in done.stderr
    assert f"hint: pml approve {question['run']}" in done.stderr
    report = json.loads(pml(workspace, "run", "--json", "-e", THREE).stdout)
    assert (report["status"], report["approvals"][0]["tool"]) == (
        "approval_required",
        "counter:two",
    )


def test_nobody_approves_without_a_terminal(counting: Workspace) -> None:
    """Attack: the model runs `pml approve` from its shell."""
    workspace = counting()
    pml(workspace, "run", "-e", "await mcp.counter.one({})")
    [question] = waiting(workspace)
    done = subprocess.run(
        [sys.executable, "-m", "pml", "approve", question["id"]], cwd=workspace, input="y\n",
        capture_output=True, text=True, check=False, start_new_session=True,
        env={"PATH": "/usr/bin:/bin", "PML_STATE": str(workspace.parent / "state")},
    )  # fmt: skip
    assert done.returncode == 1
    assert "needs a terminal" in done.stderr
    assert effects(workspace) == []


def test_always_is_written_into_the_configuration(counting: Workspace) -> None:
    workspace = counting(allow=["counter:one"])
    run = Terminal(workspace, "run", "-e", "return (await mcp.counter.two({})).did")
    assert run.read_until("[N]o: ")
    run.answer("a\n")
    code, shown = run.end()
    assert (code, shown.strip().splitlines()[-1]) == (0, "two")
    config = json.loads((workspace / ".pml.json").read_text(encoding="utf-8"))
    assert config["permissions"]["allow"] == ["counter:one", "counter:two"]
    done = pml(workspace, "run", "-e", "return (await mcp.counter.two({})).did")
    assert (done.returncode, done.stdout) == (0, "two\n")


def test_what_is_denied_is_neither_shown_nor_called(counting: Workspace) -> None:
    workspace = counting(allow=["*"], deny=["counter:t*"])
    listed = pml(workspace, "tools").stdout
    assert "counter:one" in listed
    assert "counter:two" not in listed
    done = pml(workspace, "run", "--yes", "-e", "await mcp.counter.two({})")
    assert done.returncode == 1
    assert "the call of `counter:two` is denied by rule `counter:t*`" in done.stderr
    assert ".pml.json:" in done.stderr
    done = pml(workspace, "call", "counter:two", "--yes")
    assert (done.returncode, effects(workspace)) == (1, [])


def test_workflows_are_listed_shown_resumed_and_ended(counting: Workspace) -> None:
    workspace = counting()
    pml(workspace, "run", "-e", "await mcp.counter.one({})")
    [run] = json.loads(pml(workspace, "workflows", "list", "--json").stdout)
    assert run["approvals"][0]["tool"] == "counter:one"
    shown = pml(workspace, "workflows", "show", run["workflowId"]).stdout
    assert "the call counter:one wants to be made" in shown
    again = pml(workspace, "workflows", "resume", run["workflowId"])
    assert again.returncode == 3
    assert pml(workspace, "workflows", "abort", run["workflowId"]).returncode == 0
    gone = pml(workspace, "workflows", "resume", run["workflowId"])
    assert (gone.returncode, effects(workspace)) == (1, [])
    assert "there is no suspended run" in gone.stderr
