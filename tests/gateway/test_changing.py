"""The configuration changes while requests are under way."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from pml.assembly.workshop import opened_workshop
from pml.workspace import Workspace as Folder

from .conftest import Workspace, connected

ALLOW = {"allow": ["hostile"]}


async def test_servers_that_end_late_take_nothing_from_those_that_replaced_them(
    hostile: Workspace,
) -> None:
    """The old server's temporary folder was the new one's, and was removed with the old one."""
    hostile.configure(permissions=ALLOW, limits={"idleSeconds": 100})
    code = "return (await mcp.hostile.temporary({})).there"
    async with connected(hostile) as client:
        slow = {"code": "await mcp.hostile.sleep({})", "timeoutSeconds": 3}
        assert (await client.facts("execute", code=code))["result"] is True
        begun = await client.begin("tools/call", {"name": "execute", "arguments": slow})
        [audit] = hostile.state.glob("workspaces/*/audit.jsonl")
        with anyio.fail_after(20):  # until its call is under way: rules of now hold for later ones
            while "hostile:sleep" not in audit.read_text(encoding="utf-8"):
                await anyio.sleep(0.01)
        hostile.configure(permissions=ALLOW, limits={"idleSeconds": 99})
        assert (await client.facts("execute", code=code))["result"] is True
        assert (await client.end(begun))["structuredContent"]["code"] == "wall_limit"
        ended = hostile.state.glob("workspaces/*/servers/hostile/tmp/*/*")
        with anyio.fail_after(20):
            while len(list(ended)) > 1:
                await anyio.sleep(0.05)
                ended = hostile.state.glob("workspaces/*/servers/hostile/tmp/*/*")
        assert (await client.facts("execute", code=code))["result"] is True
    assert list(hostile.state.glob("workspaces/*/servers/*/tmp/*")) == []


async def test_what_is_denied_while_the_human_is_asked_is_not_called(
    workspace: Workspace,
) -> None:
    workspace.configure()

    def answer(_: Any) -> dict[str, Any]:
        workspace.configure(trust=False, permissions={"deny": ["counter:two"]})
        return {"action": "accept", "content": {"verdict": "yes"}}

    code = "try { await mcp.counter.two({}) } catch (e) { return e.code }"
    async with connected(workspace, answer=answer) as client:
        assert (await client.facts("execute", code=code))["result"] == "call_denied"
    assert len(client.asked) == 1
    assert workspace.effects == []


@pytest.mark.parametrize("content", ['{"permissions": {"deny": ["counter"]}}', "{half a fi"])
async def test_a_program_under_way_is_held_to_rules_that_became_stricter(
    workspace: Workspace, content: str
) -> None:
    workspace.configure(permissions={"allow": ["counter"]})
    code = """
    const rest = () => new Promise((done) => setTimeout(done, 20));
    try { for (;; await rest()) await mcp.counter.one({}) } catch (e) { return e.code }"""
    async with connected(workspace) as client:
        params = {"name": "execute", "arguments": {"code": code}}
        begun = await client.begin("tools/call", params)
        with anyio.fail_after(20):
            while not workspace.effects:
                await anyio.sleep(0.02)
        (workspace.path / ".pml.json").write_text(content, encoding="utf-8")
        facts = (await client.end(begun))["structuredContent"]
    assert facts["result"] in ("call_denied", "config_syntax")


async def test_what_a_linked_file_of_the_user_no_longer_says_holds_no_longer(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: the model approves itself after the user took that back in their dotfiles."""
    workspace.configure()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    own, linked = tmp_path / "config" / "pml" / "config.json", tmp_path / "dotfile.json"
    own.parent.mkdir(parents=True)
    linked.write_text('{"approvals": "model"}', encoding="utf-8")
    own.symlink_to(linked)
    async with connected(workspace) as client:
        waiting = await client.facts("execute", code="await mcp.counter.two({})")
        linked.write_text('{"approvals": "human"}\n', encoding="utf-8")
        given = {"workflowId": waiting["workflowId"], "approved": True}
        refused = await client.facts("continue_workflow", **given)
    assert refused["code"] == "invalid_arguments"
    assert workspace.effects == []


class _Editing:
    """An observer that edits the configuration while servers are opened."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def started(self, server: str, record: Any) -> None: ...

    def ready(self, server: str) -> None: ...

    def stopped(self, server: str, reason: str) -> None: ...

    def logged(self, server: str, level: str, text: str) -> None:
        self._workspace.configure(permissions={"deny": ["*"]})


async def test_a_change_while_the_configuration_is_read_is_not_missed(
    workspace: Workspace,
) -> None:
    workspace.servers["json"] = workspace.servers["counter"]  # it stands in, and that is logged
    workspace.configure(permissions={"allow": ["counter"]})
    folder = Folder(workspace.path, "cwd")
    async with opened_workshop(
        folder, workspace.environ, Path.home(), _Editing(workspace)
    ) as workshop:
        async with workshop.using():
            pass
        async with workshop.using() as bench:
            assert bench.config.permissions.deny == ("*",)
