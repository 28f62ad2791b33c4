"""A client that changes its mind leaves nothing behind in the gateway."""

from pathlib import Path

import anyio

from .conftest import Workspace, accepting, connected


async def test_a_cancelled_call_that_was_allowed_leaves_no_open_file(hostile: Workspace) -> None:
    hostile.configure()
    async with connected(hostile, answer=accepting("yes")) as client:
        arguments = {"code": "await mcp.hostile.sleep({})"}
        for _ in range(3):
            number = await client.begin("tools/call", {"name": "execute", "arguments": arguments})
            with anyio.fail_after(20):
                while not _journals(client.process.pid):
                    await anyio.sleep(0.02)
            cancelled = {"method": "notifications/cancelled", "params": {"requestId": number}}
            await client.send({"jsonrpc": "2.0", **cancelled})
            with anyio.fail_after(20):
                while _journals(client.process.pid):
                    await anyio.sleep(0.02)


def _journals(pid: int) -> list[str]:
    opened = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            opened.append(str(path.readlink()))
        except FileNotFoundError:
            continue
    return [name for name in opened if name.endswith(".journal")]
