"""Servers that answer with junk, too much, too late or nothing."""

import gzip
import json
from typing import Any

import anyio
import pytest

from pml.backends.errors import (
    BackendError,
    CallTimeoutError,
    ServerEndedError,
    ServerProtocolError,
    ServerRefusedError,
    ServerStartError,
)
from pml.backends.http.wire import MOST_ANSWER_BYTES

HEAD = b"HTTP/1.1 200 x\r\nConnection: close\r\nContent-Type: "
JSON, EVENTS = HEAD + b"application/json\r\n", HEAD + b"text/event-stream\r\n\r\n"


async def fails(server: Any, connect: Any, handler: Any) -> BackendError:
    """Call a tool whose server answers so; the next call, to another tool, must be fine."""
    server.on["tools/call"] = handler
    backend = await connect(server.url)
    with pytest.raises(BackendError) as caught, anyio.fail_after(20):
        await backend.call_tool("echo", {}, timeout_seconds=15)
    del server.on["tools/call"]
    assert (await backend.call_tool("echo", {}, timeout_seconds=5))["content"] == []
    return caught.value


def says(data: bytes) -> Any:
    async def saying(exchange: Any) -> None:
        await exchange.raw(data)

    return saying


@pytest.mark.parametrize(
    "data",
    [
        JSON + b"\r\nnot json",
        JSON + b"\r\n",
        JSON + b"\r\n[1, 2]",
        JSON + b'\r\n{"jsonrpc": "2.0", "id": 99, "result": {}}',
        JSON + b'\r\n{"jsonrpc": "2.0", "id": 2, "result": 7}',
        JSON + b"\r\n" + b"[" * 200_000,
        JSON + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}"),
        HEAD + b"text/html\r\n\r\n<html>",
        HEAD + b"application/octet-stream\r\n\r\n",
        b"HTTP/1.1 202 x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        EVENTS + b"data: not json\n\n",
        EVENTS + b"data: \xff\xfe\n\n",
        EVENTS + b'data: "text"\n\n',
    ],
)
async def test_junk_is_a_protocol_error(server: Any, connect: Any, data: bytes) -> None:
    assert isinstance(await fails(server, connect, says(data)), ServerProtocolError)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"junk\r\n\r\n",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 x\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n{",
        b"HTTP/1.1 200 x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 x\r\nX: " + b"h" * 300_000 + b"\r\n\r\n",
        b"HTTP/1.1 500 x\r\nConnection: close\r\n\r\nsecret stack trace",
        EVENTS,
        EVENTS + b": nothing\n\n",
        EVENTS + b'data: {"jsonrpc": "2.0", "id": 99, "result": {}}\n\n',
        EVENTS + b'data: {"jsonrpc": "2.0", "id": 3, "res',
    ],
)
async def test_an_early_end_is_an_end(server: Any, connect: Any, data: bytes) -> None:
    error = await fails(server, connect, says(data))

    assert isinstance(error, ServerEndedError)
    assert "secret" not in str(error)


async def test_a_huge_length_is_refused_before_it_is_read(server: Any, connect: Any) -> None:
    length = b"Content-Length: %d\r\n\r\n" % (MOST_ANSWER_BYTES + 1)

    async def endless(exchange: Any) -> None:
        await exchange.raw(JSON.replace(b"Connection: close\r\n", b"") + length)
        await anyio.sleep_forever()

    assert "16 MiB" in str(await fails(server, connect, endless))


@pytest.mark.parametrize("head", [JSON + b"\r\n", EVENTS + b"data: "])
async def test_an_endless_answer_is_cut_off(server: Any, connect: Any, head: bytes) -> None:
    # The attack: a server that never stops fills the memory.
    sent = 0

    async def endless(exchange: Any) -> None:
        nonlocal sent
        await exchange.raw(head)
        while True:
            await exchange.raw(b"x" * (1 << 20))
            sent += 1 << 20

    error = await fails(server, connect, endless)

    assert isinstance(error, ServerProtocolError)
    assert "16 MiB" in str(error)
    assert sent < MOST_ANSWER_BYTES + (8 << 20)  # and what the sockets hold


async def test_an_answer_just_within_the_bound_is_taken(server: Any, connect: Any) -> None:
    async def big(exchange: Any) -> None:
        answer = {"jsonrpc": "2.0", "id": exchange.message["id"], "result": {"content": ""}}
        room = MOST_ANSWER_BYTES - len(json.dumps(answer))
        answer["result"] = {"content": "x" * room}
        await exchange.json(answer)

    server.on["tools/call"] = big
    backend = await connect(server.url)

    assert len((await backend.call_tool("echo", {}, timeout_seconds=20))["content"]) > 16_000_000


async def test_an_answer_is_taken_only_on_its_own_stream(server: Any, connect: Any) -> None:
    # The attack: one call's stream answers another call with what that one's caller will trust.
    both = anyio.Event()
    first: list[Any] = []

    async def crossing(exchange: Any) -> None:
        await exchange.stream()
        if exchange.message["params"]["name"] == "victim":
            first.append(exchange)
            await both.wait()
            await exchange.answer_event({"content": "honest"})
        else:
            victim = {
                "jsonrpc": "2.0",
                "id": first[0].message["id"],
                "result": {"content": "forged"},
            }
            await exchange.event(victim)
            await exchange.answer_event({"content": "own"})
            both.set()

    server.on["tools/call"] = crossing
    backend = await connect(server.url)
    results = {}

    async def call(tool: str) -> None:
        results[tool] = (await backend.call_tool(tool, {}, timeout_seconds=10))["content"]

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call, "victim")
        await server.heard("tools/call")
        tasks.start_soon(call, "other")

    assert results == {"victim": "honest", "other": "own"}


async def silent(exchange: Any) -> None:
    await anyio.sleep_forever()


async def test_silence_at_the_start_is_a_start_error(server: Any, connect: Any) -> None:
    server.on["initialize"] = silent
    backend = await connect(server.url, start_timeout_seconds=0.2)

    with pytest.raises(ServerStartError, match="did not answer within 0.2 s"):
        await backend.list_tools()

    assert "server/discover" not in server.said


async def test_silence_in_a_call_is_a_timeout_and_cancels(server: Any, connect: Any) -> None:
    server.on["tools/call"] = silent
    backend = await connect(server.url)

    with pytest.raises(CallTimeoutError):
        await backend.call_tool("echo", {}, timeout_seconds=0.2)

    cancelled = (await server.heard("notifications/cancelled")).message["params"]
    assert cancelled["requestId"] == server.calls("tools/call")[0].message["id"]


async def test_silence_at_the_end_does_not_keep_us(server: Any, connect: Any) -> None:
    server.on["DELETE"] = silent
    backend = await connect(server.url)
    await backend.list_tools()

    with anyio.fail_after(10):
        await backend.aclose()


async def test_a_silent_list_is_a_timeout(server: Any, connect: Any) -> None:
    server.on["tools/list"] = silent
    backend = await connect(server.url, start_timeout_seconds=1)

    with pytest.raises(CallTimeoutError, match="tools/list"):
        await backend.list_tools()


async def test_a_refusal_keeps_its_code_and_data(server: Any, connect: Any) -> None:
    async def refuse(exchange: Any) -> None:
        await exchange.error(-32602, "bad\x1b[31m", data={"field": "a"})

    error = await fails(server, connect, refuse)

    assert isinstance(error, ServerRefusedError)
    assert (error.rpc_code, error.data) == (-32602, {"field": "a"})
    assert "\x1b" not in str(error)


async def test_a_refusal_may_come_with_an_http_error(server: Any, connect: Any) -> None:
    async def refuse(exchange: Any) -> None:
        await exchange.error(-32000, "overloaded", status=503)

    assert "overloaded" in str(await fails(server, connect, refuse))


@pytest.mark.parametrize("session_id", ["with space", "é", "x" * 2000])
async def test_a_session_id_that_is_no_header_is_refused(
    server: Any, connect: Any, session_id: str
) -> None:
    server.session_id = session_id
    backend = await connect(server.url)

    with pytest.raises(ServerProtocolError):
        await backend.list_tools()


@pytest.mark.parametrize("version", ["2099-01-01", None, 7, ["2025-11-25"], {}, "x" * 10_000])
async def test_an_unknown_protocol_is_refused(server: Any, connect: Any, version: object) -> None:
    async def odd(exchange: Any) -> None:
        await exchange.result({"protocolVersion": version, "capabilities": {}})

    server.on["initialize"] = odd
    backend = await connect(server.url)

    with pytest.raises(ServerProtocolError) as caught:
        await backend.list_tools()

    assert len(str(caught.value)) < 300
