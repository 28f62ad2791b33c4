"""The configuration changes while requests are under way."""

import anyio

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
