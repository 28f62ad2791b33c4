"""A server that gives its own key away: the client and its model never see it."""

import json

import pytest

from .conftest import SECRET, Workspace, connected


@pytest.mark.parametrize("expose", [True, False], ids=["exposed", "execute"])
async def test_a_key_in_a_servers_error_is_masked(hostile: Workspace, expose: bool) -> None:
    hostile.configure(permissions={"allow": ["hostile"]}, expose=["hostile"] if expose else [])
    async with connected(hostile) as client:
        if expose:
            result = await client.call("hostile__fail", text="not with KEY")
        else:
            code = "await mcp.hostile.fail({text: 'not with KEY'})"
            result = await client.call("execute", code=code)
    assert result["isError"] is True
    assert "not with [secret HOSTILE_KEY]" in result["structuredContent"]["message"]
    assert SECRET not in json.dumps(result)


async def test_a_key_in_a_servers_progress_is_masked(hostile: Workspace) -> None:
    hostile.configure(permissions={"allow": ["hostile"]}, expose=["hostile"])
    async with connected(hostile) as client:
        params = {"name": "hostile__tell", "arguments": {"text": "KEY"}}
        await client.request("tools/call", {**params, "_meta": {"progressToken": 5}})
    [told] = client.notified
    assert told["params"]["message"] == "[secret HOSTILE_KEY]"


async def test_a_key_in_the_description_of_a_tool_is_masked(hostile: Workspace) -> None:
    hostile.configure(permissions={"allow": ["hostile"]}, expose=["hostile:say"])
    async with connected(hostile) as client:
        found = await client.call("discover", name="hostile:say", schema=True)
        listed = await client.request("tools/list")
    for told in (found, listed):
        assert "[secret HOSTILE_KEY]" in json.dumps(told)
        assert SECRET not in json.dumps(told)
