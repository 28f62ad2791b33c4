"""The wire under load and at its end: nothing that was asked for stays without its answer."""

import json
import sys

import anyio
import pytest

from pml.gateway.unread import refusal

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


EXECUTE = b'"method":"tools/call","params":{"name":"execute","arguments":{"code":"1","args":%s}}'
UNREADABLE = {
    "half a surrogate pair": rb'"\ud800"',
    "too deep": b"[" * 300 + b"]" * 300,
    "too many digits": b"9" * 5000,
    "no UTF-8": b'"\xff"',
    "too large": b'"' + b"x" * (33 << 20) + b'"',
}


@pytest.mark.parametrize("args", UNREADABLE.values(), ids=list(UNREADABLE))
async def test_a_request_that_cannot_be_read_is_answered_with_an_error(
    workspace: Workspace, args: bytes
) -> None:
    workspace.configure()
    async with connected(workspace) as client:
        for number, line in (
            (501, b'{"jsonrpc":"2.0","id":501,' + EXECUTE % args + b"}\n"),  # as Python writes it
            (502, b"{" + EXECUTE % args + b',"jsonrpc":"2.0","id":502}\n'),  # as JavaScript does
        ):
            answer = client.expect(number)
            await client.send(line)
            error = (await answer)["error"]
            assert error["code"] in (-32700, -32600)
            assert "than 32 MiB" in error["message"] or "200 levels" in error["message"]
        assert (await client.facts("execute", code="1"))["result"] == 1


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"content":{"verdict":"\\ud800"}}}',
        b'{"result":{"method":"\\ud800"},"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","method":"x","params":{"a":"\\ud800","b":{"id":1}}}',
        b'{"jsonrpc":"2.0","method":"x","params":{"a":"\\ud800","id":1}',
        b'{"jsonrpc":"2.0","params":{"id":1,"method":"\\ud800"}}',
        b"no message at all",
    ],
)
def test_what_is_surely_no_request_is_never_answered(line: bytes) -> None:
    """An answer to a response would be taken for that of the client's own request."""
    assert refusal(line, line, -32700, "words") is None


async def test_a_client_that_never_reads_our_words_is_served_all_the_same(
    hostile: Workspace,
) -> None:
    """Attack: a server logs until the pipe that nobody reads is full, and the gateway stops."""
    hostile.configure(permissions={"allow": ["hostile"]})
    command = [sys.executable, "-m", "pml", "stdio"]
    async with (
        await anyio.open_process(command, cwd=hostile.path, env=hostile.environ) as process,
        anyio.create_task_group() as tasks,
    ):
        client = Client(process, modern=False, answer=None)
        tasks.start_soon(client.read)
        await client.start()
        logging = await client.facts("execute", code="await mcp.hostile.log({lines: 2000})")
        assert logging["status"] == "success"
        assert await client.hang_up() == 0
        tasks.cancel_scope.cancel()
