"""What a call lacks: the run waits for exactly that, and goes on once it is there."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import COUNTER, Workspace, accepting, connected

ERAS = pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
ONE = "return (await mcp.counter.one({})).did"
GRAPH = """const made = await mcp.memory.create_entities({entities: [
  {name: 'a', entityType: 'letter', observations: []}]});
return made.entities.map(one => one.name)"""


def keyed(workspace: Workspace) -> Workspace:
    """Let the counting server need a key."""
    workspace.servers["counter"] = {
        "command": sys.executable,
        "args": [str(COUNTER), "${workspace}/effects"],
        "env": {"COUNTER_KEY": "${COUNTER_KEY}"},
        "sandbox": {"fsWrite": ["${workspace}"]},
    }
    return workspace


@ERAS
async def test_a_missing_key_is_set_and_the_run_goes_on_without_a_restart(
    workspace: Workspace, modern: bool
) -> None:
    keyed(workspace).configure(permissions={"allow": ["counter"]})
    async with connected(workspace, modern=modern, answer=accepting("yes")) as client:
        waits = await client.facts("execute", code=ONE)
        assert waits["status"] == "approval_required"
        [lacking] = waits["approvals"]
        assert lacking["approvalType"] == "api_key_required"
        assert lacking["missingKeys"] == ["COUNTER_KEY"]
        assert "requires COUNTER_KEY" in waits["message"]
        assert str(workspace.path / ".env") in waits["message"]
        assert client.asked == []  # no word makes a key
        again = await client.facts("continue_workflow", workflowId=waits["workflowId"])
        assert again["status"] == "approval_required"
        (workspace.path / ".env").write_text("COUNTER_KEY=a-key-of-the-tests\n", encoding="utf-8")
        # a server may have written that file: it counts once the human has said so
        early = await client.facts("continue_workflow", workflowId=waits["workflowId"])
        assert (early["code"], early["hint"]) == ("untrusted_change", "pml trust")
        workspace.trust()
        done = await client.facts("continue_workflow", workflowId=waits["workflowId"])
    assert (done["status"], done["result"]) == ("success", "one")
    assert workspace.effects == ["one"]
    assert "a-key-of-the-tests" not in json.dumps([waits, again, done])


async def test_a_key_in_the_models_json_is_none(workspace: Workspace) -> None:
    # Attack: the model sends the key, or a yes, itself.
    keyed(workspace).configure(permissions={"allow": ["counter"]})
    async with connected(workspace) as client:
        waits = await client.facts("execute", code=ONE)
        sent = {"workflowId": waits["workflowId"], "COUNTER_KEY": "x", "approved": True}
        refused = await client.call("continue_workflow", **sent)
        assert refused["isError"] is True
        again = await client.facts("continue_workflow", workflowId=waits["workflowId"])
    assert again["status"] == "approval_required"
    assert workspace.effects == []


def packaged(workspace: Workspace) -> None:
    """Configure the memory server by its package, in one exact version."""
    named = Path(__file__).parents[1] / "servers" / "package.json"
    versions = json.loads(named.read_text(encoding="utf-8"))["dependencies"]
    name = "@modelcontextprotocol/server-memory"
    workspace.servers["memory"] = {
        "command": "npx",
        "args": ["-y", f"{name}@{versions[name]}"],
        "env": {"MEMORY_FILE_PATH": "${workspace}/memory.json"},
        "sandbox": {"fsWrite": ["${workspace}"]},
    }


async def test_a_package_is_installed_after_a_yes_and_the_client_hears_of_it(
    workspace: Workspace,
) -> None:
    packaged(workspace)
    workspace.configure(permissions={"allow": ["memory"]})
    async with connected(workspace, answer=accepting("yes")) as client:
        params: dict[str, Any] = {
            "name": "execute", "arguments": {"code": GRAPH}, "_meta": {"progressToken": "t"},
        }  # fmt: skip
        done = (await client.request("tools/call", params))["structuredContent"]
        [asked] = client.asked
    assert (done["status"], done["result"]) == ("success", ["a"])
    assert "Install memory@" in asked["message"]
    assert "@modelcontextprotocol/server-memory" in asked["message"]
    told = [one["params"] for one in client.notified if one["method"] == "notifications/progress"]
    steps = [one["progress"] for one in told]
    assert steps == sorted(steps)
    assert steps[-1] == 1  # the call itself
    assert len(steps) > 1  # and the installation before it
    kept = json.loads((workspace.path / ".pml" / "deps.json").read_text(encoding="utf-8"))
    assert list(kept["installed"]) == ["memory"]


async def test_a_package_that_is_refused_is_not_installed(workspace: Workspace) -> None:
    packaged(workspace)
    workspace.configure(permissions={"allow": ["memory"]})
    code = "try { await mcp.memory.read_graph({}) } catch (error) { return error.code }"
    async with connected(workspace, answer=accepting("no")) as client:
        assert (await client.facts("execute", code=code))["result"] == "install_refused"
    assert not (workspace.path / ".pml" / "deps.json").exists()
    assert not list((workspace.state / "packages").glob("**/server-memory"))


async def test_without_a_dialog_the_run_waits_and_nothing_is_installed(
    workspace: Workspace,
) -> None:
    packaged(workspace)
    workspace.configure(permissions={"allow": ["memory"]})
    async with connected(workspace) as client:
        waits = await client.facts("execute", code=GRAPH)
    assert waits["status"] == "approval_required"
    [lacking] = waits["approvals"]
    assert (lacking["approvalType"], lacking["server"]) == ("dependency", "memory")
    assert not (workspace.path / ".pml" / "deps.json").exists()
