"""Listing, calling, progress, and streams that are taken up again."""

from typing import Any

import anyio
import pytest

from pml.backends.errors import ServerEndedError, ServerProtocolError
from pml.backends.http.calls import MOST_PAGES
from pml.model import Progress, SkippedTool


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}


async def test_a_malformed_tool_does_not_lose_the_list(server: Any, connect: Any) -> None:
    server.tools = [tool("a"), {"name": "bad"}, 7, tool("b")]
    backend = await connect(server.url)

    listing = await backend.list_tools()

    assert [tool.name for tool in listing.tools] == ["a", "b"]
    assert [skipped.name for skipped in listing.skipped] == ["bad", "#3"]


async def test_a_list_without_end_is_cut_off(server: Any, connect: Any) -> None:
    async def endless(exchange: Any) -> None:
        number = len(server.calls("tools/list"))
        await exchange.result({"tools": [tool(f"t{number}")], "nextCursor": str(number)})

    server.on["tools/list"] = endless
    backend = await connect(server.url)

    listing = await backend.list_tools()

    assert len(listing.tools) == len(server.calls("tools/list")) == MOST_PAGES
    assert listing.skipped == (
        SkippedTool("remote", "#101", "the list goes on after 100 pages, more than are read"),
    )


async def test_more_tools_than_a_server_may_have_end_the_paging(server: Any, connect: Any) -> None:
    async def crowded(exchange: Any) -> None:
        page = len(server.calls("tools/list"))
        tools = [tool(f"t{page}-{number}") for number in range(900)]
        await exchange.result({"tools": tools, "nextCursor": "more"})

    server.on["tools/list"] = crowded
    backend = await connect(server.url)

    listing = await backend.list_tools()

    assert (len(listing.tools), len(server.calls("tools/list"))) == (2000, 3)
    assert [skipped.name for skipped in listing.skipped] == ["#2001"]


@pytest.mark.parametrize("result", [{}, {"tools": {}}, {"tools": [], "nextCursor": 7}])
async def test_a_list_that_cannot_be_read_is_a_protocol_error(
    server: Any, connect: Any, result: object
) -> None:
    async def odd(exchange: Any) -> None:
        await exchange.result(result)

    server.on["tools/list"] = odd
    backend = await connect(server.url)

    with pytest.raises(ServerProtocolError):
        await backend.list_tools()


async def test_a_result_comes_back_as_it_was_sent(server: Any, connect: Any) -> None:
    strange = {"content": [{"type": "new-kind", "x": 1}], "structuredContent": [1], "extra": None}

    async def odd(exchange: Any) -> None:
        await exchange.result(strange)

    server.on["tools/call"] = odd
    backend = await connect(server.url)

    assert await backend.call_tool("echo", {"a": [{}]}, timeout_seconds=5) == strange
    assert server.calls("tools/call")[0].message["params"] == {
        "name": "echo",
        "arguments": {"a": [{}]},
    }


async def test_only_the_calls_own_progress_is_passed_on(server: Any, connect: Any) -> None:
    async def progressing(exchange: Any) -> None:
        token = exchange.message["params"]["_meta"]["progressToken"]
        await exchange.stream()
        said: list[Any] = [
            {"progressToken": token, "progress": 1, "total": 3, "message": "m" * 5000},
            {"progressToken": token + 1, "progress": 2},
            {"progressToken": str(token), "progress": 2},
            {"progressToken": [token], "progress": 2},
            {"progressToken": token, "progress": "2"},
            {"progressToken": token},
            [],
        ]
        for params in said:
            await exchange.say("notifications/progress", params)
        await exchange.answer_event({"content": []})

    server.on["tools/call"] = progressing
    backend = await connect(server.url)
    heard: list[Progress] = []

    await backend.call_tool("echo", {}, timeout_seconds=5, on_progress=heard.append)

    assert heard == [Progress(1, 3, "m" * 2000)]


async def test_a_stream_that_ends_early_is_taken_up_where_it_was(
    server: Any, connect: Any
) -> None:
    async def polling(exchange: Any) -> None:
        await exchange.stream()
        await exchange.raw(b"id: place-1\nretry: 1\ndata:\n\n")

    async def resuming(exchange: Any) -> None:
        if "last-event-id" not in exchange.headers:
            await exchange.reply(405)
            return
        await exchange.stream()
        call = server.calls("tools/call")[0].message["id"]
        await exchange.event({"jsonrpc": "2.0", "id": call, "result": {"content": ["late"]}})

    server.on |= {"tools/call": polling, "GET": resuming}
    backend = await connect(server.url)

    result = await backend.call_tool("echo", {}, timeout_seconds=10)

    assert result == {"content": ["late"]}
    resumed = [exchange.headers.get("last-event-id") for exchange in server.calls("GET")]
    assert "place-1" in resumed
    assert len(server.calls("tools/call")) == 1


async def test_a_stream_that_never_brings_anything_new_is_given_up(
    server: Any, connect: Any
) -> None:
    async def polling(exchange: Any) -> None:
        if exchange.verb == "GET" and "last-event-id" not in exchange.headers:
            await exchange.reply(405)
            return
        await exchange.stream()
        await exchange.raw(b"id: place-1\nretry: 0\ndata:\n\n")

    server.on |= {"tools/call": polling, "GET": polling}
    backend = await connect(server.url)

    with pytest.raises(ServerEndedError, match="without the answer"):
        await backend.call_tool("echo", {}, timeout_seconds=10)

    assert len(server.calls("GET")) <= 6


async def test_a_change_on_the_listening_stream_lists_again(server: Any, connect: Any) -> None:
    async def listening(exchange: Any) -> None:
        await exchange.stream()
        await change.wait()
        await exchange.say("notifications/tools/list_changed", {})
        await exchange.say("notifications/message", {"level": "info", "data": "done"})
        await anyio.sleep_forever()

    class Waiting:
        def started(self, *_: object) -> None: ...
        def ready(self, *_: object) -> None: ...
        def stopped(self, *_: object) -> None: ...
        def logged(self, *_: object) -> None:
            heard.set()

    change, heard = anyio.Event(), anyio.Event()
    server.on["GET"] = listening
    backend = await connect(server.url, observer=Waiting())
    before = await backend.list_tools()
    assert await backend.list_tools() is before

    server.tools = [tool("new")]
    change.set()
    with anyio.fail_after(5):
        await heard.wait()

    assert [tool.name for tool in (await backend.list_tools()).tools] == ["new"]


async def test_a_change_while_listing_lists_again(server: Any, connect: Any) -> None:
    async def changing(exchange: Any) -> None:
        await exchange.stream()
        await exchange.say("notifications/tools/list_changed", {})
        await exchange.answer_event({"tools": [tool("old")]})
        del server.on["tools/list"]

    server.on["tools/list"] = changing
    backend = await connect(server.url)

    assert [tool.name for tool in (await backend.list_tools()).tools] == ["old"]
    assert [tool.name for tool in (await backend.list_tools()).tools] == ["echo"]


async def test_a_listening_stream_that_was_lost_counts_as_a_change(
    server: Any, connect: Any
) -> None:
    async def dropping(exchange: Any) -> None:
        await exchange.stream()
        await drop.wait()

    drop = anyio.Event()
    server.on["GET"] = dropping
    backend = await connect(server.url)
    before = await backend.list_tools()
    await server.heard("GET")
    drop.set()

    await server.heard("GET", 2)

    assert await backend.list_tools() is not before
