"""Tools that the user exposes: called by name, with the same rules, and no name that means two."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from pml.gateway.exposing import MOST_NAME_CHARACTERS, exposed, wire_name
from pml.model import Tool

from .conftest import Workspace, accepting, connected

ERAS = pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
MANY = Path(__file__).with_name("naming_server.py")


def names(listed: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in listed["tools"] if "__" in tool["name"]]


@ERAS
async def test_an_exposed_tool_is_listed_and_called_directly(
    workspace: Workspace, modern: bool
) -> None:
    workspace.configure(permissions={"allow": ["counter"]}, expose=["counter:t*"])
    async with connected(workspace, modern=modern) as client:
        listed = await client.request("tools/list")
        assert names(listed) == ["counter__two", "counter__three"]
        for name in ("counter__two", "counter:two", "mcp.counter.two"):
            result = await client.call(name)
            assert result["structuredContent"] == {"did": "two"}
            assert result["content"] == []
        hidden = await client.call("counter__one")
        assert hidden["isError"] is True
        assert "did you mean" in json.dumps(hidden)
    assert workspace.effects == ["two", "two", "two"]
    lines = (next(workspace.state.glob("workspaces/*/audit.jsonl"))).read_text(encoding="utf-8")
    assert lines.count('"call_executing"') == 3


async def test_a_client_is_told_once_when_its_list_has_changed(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["counter"]}, expose=["counter:one"])
    async with connected(workspace) as client:
        assert names(await client.request("tools/list")) == ["counter__one"]
        await client.call("execute", code="1")
        assert client.notified == []
        workspace.configure(permissions={"allow": ["counter"]}, expose=["counter:two"])
        await client.call("execute", code="1")
        await client.call("execute", code="1")
        assert [one["method"] for one in client.notified] == ["notifications/tools/list_changed"]
        assert names(await client.request("tools/list")) == ["counter__two"]


async def test_a_modern_client_hears_of_it_on_its_subscription(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["counter"]}, expose=["counter:one"])
    async with connected(workspace, modern=True) as client:
        await client.request("tools/list")
        filters = {"notifications": {"toolsListChanged": True}}
        await client.begin("subscriptions/listen", filters)
        await client.call("execute", code="1")
        workspace.configure(permissions={"allow": ["counter"]}, expose=["counter:two"])
        await client.call("execute", code="1")
        with anyio.fail_after(30):
            while not any("list_changed" in one["method"] for one in client.notified):
                await client.call("execute", code="1")
        assert names(await client.request("tools/list")) == ["counter__two"]


@ERAS
async def test_a_client_that_asks_for_progress_gets_its_answer_all_the_same(
    workspace: Workspace, modern: bool
) -> None:
    # a server that is done before anything is told, one that fails, one that is not allowed
    silent = {"command": "/nonexistent/server"}
    workspace.servers["gone"] = silent
    rules = {"allow": ["counter", "gone"], "deny": ["counter:four"]}
    workspace.configure(permissions=rules, expose=["counter", "gone"])
    async with connected(workspace, modern=modern) as client:
        for name, told in (("counter__two", "two"), ("counter__three", "three")):
            params = {"name": name, "arguments": {}, "_meta": {"progressToken": name}}
            result = await client.request("tools/call", params)
            assert result["structuredContent"] == {"did": told}
        params = {"name": "counter__four", "arguments": {}, "_meta": {"progressToken": "x"}}
        assert (await client.request("tools/call", params))["isError"] is True
    assert workspace.effects == ["three", "two"]


async def test_what_is_denied_is_neither_listed_nor_called_nor_found(workspace: Workspace) -> None:
    rules = {"allow": ["counter"], "deny": ["counter:two"]}
    workspace.configure(permissions=rules, expose=["counter"])
    async with connected(workspace) as client:
        assert "counter__two" not in names(await client.request("tools/list"))
        assert (await client.call("counter__two"))["isError"] is True
        found = await client.facts("discover", pattern="counter:*")
    assert [tool["id"] for tool in found["tools"]] == [
        "counter:four",
        "counter:one",
        "counter:three",
    ]
    assert workspace.effects == []


@ERAS
async def test_an_exposed_tool_asks_like_any_other(workspace: Workspace, modern: bool) -> None:
    workspace.configure(expose=["counter:two"])
    async with connected(workspace, modern=modern) as client:
        waiting = (await client.call("counter__two"))["structuredContent"]
        assert waiting["status"] == "approval_required"
    async with connected(workspace, modern=modern, answer=accepting("yes")) as client:
        result = await client.call("counter__two", to="ada")
        assert result["structuredContent"] == {"did": "two"}
        collected = await client.facts("continue_workflow", workflowId=waiting["workflowId"])
        assert collected["result"]["structuredContent"] == {"did": "two"}
    assert workspace.effects == ["two", "two"]


async def test_the_command_line_exposes_too_and_may_offer_nothing_else(
    workspace: Workspace,
) -> None:
    workspace.configure(permissions={"allow": ["counter"]})
    async with connected(workspace, "--expose", "counter:one", "--only") as client:
        listed = await client.request("tools/list")
        assert [tool["name"] for tool in listed["tools"]] == ["counter__one"]
        assert (await client.call("execute", code="1"))["isError"] is True
        assert (await client.call("counter__one"))["structuredContent"] == {"did": "one"}


async def test_two_tools_with_one_name_are_refused_loudly(workspace: Workspace) -> None:
    workspace.servers = {"odd": {"command": sys.executable, "args": [str(MANY)]}}
    workspace.configure(permissions={"allow": ["*"]}, expose=["odd"])
    async with connected(workspace) as client:
        listed = names(await client.request("tools/list"))
        assert listed == ["odd__fine"]
        refused = await client.facts("odd__a_b")
        assert refused["code"] == "name_collision"
        assert "`odd:a.b` and `odd:a_b`" in refused["message"]
    assert "would both be called `odd__a_b`" in client.stderr


async def test_a_listing_is_kept_so_that_discovery_starts_nothing(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["counter"]}, expose=["counter:one"])
    for _ in range(2):
        async with connected(workspace) as client:
            found = await client.facts("discover", pattern="counter:*")
            assert len(found["tools"]) == 4
            assert "counter__one" in names(await client.request("tools/list"))
    lines = next(workspace.state.glob("workspaces/*/audit.jsonl")).read_text(encoding="utf-8")
    assert lines.count('"server_started"') == 1


@given(st.text(min_size=1, max_size=150), st.text(min_size=1, max_size=150))
def test_every_wire_name_is_one_that_clients_take(server: str, tool: str) -> None:
    name = wire_name(f"{server}:{tool}")
    assert 1 <= len(name) <= MOST_NAME_CHARACTERS
    assert all(c.isascii() and (c.isalnum() or c in "_-") for c in name)


@given(st.lists(st.text("a._-:/", min_size=1, max_size=4), min_size=1, max_size=8, unique=True))
def test_no_name_ever_means_two_tools(found: list[str]) -> None:
    tools = [Tool("s", name, {"inputSchema": {"type": "object"}}) for name in found]
    result = exposed(tools, ["*"])
    assert len({tool.id for tool in result.tools.values()}) == len(result.tools)
    for name, tool in result.tools.items():
        assert [one for one in tools if wire_name(one.id) == name] == [tool]


async def test_with_only_a_configuration_that_cannot_be_used_offers_nothing_else(
    workspace: Workspace,
) -> None:
    workspace.configure(permissions={"allow": ["counter"]})
    async with connected(workspace, "--only", "--expose", "counter:one") as client:
        (workspace.path / ".pml.json").write_text("{nope", encoding="utf-8")
        assert (await client.request("tools/list"))["tools"] == []


async def test_a_typed_tool_that_waits_tells_a_client_that_checks_types_how_to_answer(
    hostile: Workspace,
) -> None:
    """The SDK's client throws away a result without error that does not fit `outputSchema`."""
    hostile.configure(expose=["hostile:typed"])
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "pml", "stdio"],
        cwd=hostile.path,
        env=hostile.environ,
    )
    async with stdio_client(command) as streams, ClientSession(*streams) as session:
        await session.initialize()
        await session.list_tools()
        result = await session.call_tool("hostile__typed", {})
    assert result.is_error
    assert result.structured_content is not None
    assert result.structured_content["status"] == "approval_required"
    assert "pml approve" in result.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["execute", "counter__thre"])
async def test_no_hint_names_what_is_denied(workspace: Workspace, name: str) -> None:
    """Attack: a program guesses names, and "did you mean" tells it the tools it must not know."""
    workspace.servers["hidden"] = workspace.servers["counter"]
    rules = {"allow": ["counter"], "deny": ["counter:three", "hidden"]}
    workspace.configure(permissions=rules, expose=["counter"])
    code = "const said = []; for (const [server, tool] of [['counter', 'thre'], ['counter', 'fou'], ['hiden', 'one']]) try { await mcp[server][tool]({}) } catch (e) { said.push([e.code, e.message, e.data]) } return said"
    arguments = {"code": code} if name == "execute" else {}
    async with connected(workspace) as client:
        result = await client.call(name, **arguments)
        begun = await client.start()
    told = json.dumps(result["structuredContent"])
    if name == "execute":
        assert [one[0] for one in result["structuredContent"]["result"]] == [
            "tool_unknown", "tool_unknown", "server_unknown",
        ]  # fmt: skip
        assert "counter:four" in told
    assert "three" not in told
    assert "hidden" not in told
    assert "hidden" not in begun["instructions"]
    assert "counter" in begun["instructions"]
