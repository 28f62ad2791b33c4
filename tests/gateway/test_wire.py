"""The wire under load and at its end: nothing that was asked for stays without its answer."""

import json
import sys

import anyio

from .conftest import Client, Workspace, connected

LARGE = "return 'x'.repeat(3_000_000)"  # twice that on the wire: structured and as text
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


async def test_large_results_at_once_all_reach_a_client_that_is_slower_than_we_are(
    workspace: Workspace,
) -> None:
    workspace.configure()
    async with connected(workspace) as client:
        params = {"name": "execute", "arguments": {"code": LARGE}}
        begun = [await client.begin("tools/call", params) for _ in range(10)]
        for number in begun:
            result = await client.end(number)
            assert len(result["structuredContent"]["result"]) == 3_000_000


async def test_a_client_that_hangs_up_still_reads_the_rest(workspace: Workspace) -> None:
    workspace.configure()
    command = [sys.executable, "-m", "pml", "stdio"]
    async with (
        await anyio.open_process(command, cwd=workspace.path, env=workspace.environ) as process,
        anyio.create_task_group() as tasks,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        client = Client(process, modern=False, answer=None)
        tasks.start_soon(client.read_stderr)
        await client.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO})
        received = await process.stdout.receive()
        await client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        large = {"name": "execute", "arguments": {"code": "return 'x'.repeat(500_000)"}}
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": large}
        await client.send(message)
        received += await process.stdout.receive()  # the answer is under way, and fills the pipe
        await process.stdin.aclose()
        with anyio.fail_after(20):
            async for chunk in process.stdout:
                received += chunk
            assert await process.wait() == 0, client.stderr
        tasks.cancel_scope.cancel()
    answer = json.loads(received.splitlines()[-1])
    assert len(answer["result"]["structuredContent"]["result"]) == 500_000
