"""Real servers on loopback: a raw one that says whatever a test wants, and the official SDK's.

All tests here run on asyncio and on trio: nothing of ours or of httpcore2 is tied to either.
"""

import contextlib
import json
import pathlib
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any

import anyio
import anyio.abc
import anyio.streams.tls
import pytest

from pml.backends.http import HttpBackend

Handler = Callable[["Exchange"], Awaitable[None]]
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}


class Exchange:
    """One request, and the ways to answer it."""

    def __init__(self, stream: anyio.abc.ByteStream, head: bytes, body: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.verb, self.target, _ = first.split(" ")
        pairs = (line.split(": ", 1) for line in lines)
        self.headers = {name.lower(): value for name, value in pairs}
        self.body = body
        self.raw = stream.send

    @property
    def message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.body) if self.body else {}
        return message

    @property
    def what(self) -> str:
        """The JSON-RPC method, or the verb of a request without one, or `answer`."""
        return str(self.message.get("method", "answer")) if self.body else self.verb

    async def reply(
        self, status: int = 200, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        head = f"HTTP/1.1 {status} x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n{more}\r\n"
        await self.raw(head.encode("latin-1") + body)

    async def json(
        self, payload: object, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        kind = {"Content-Type": "application/json"}
        await self.reply(status, json.dumps(payload).encode(), {**kind, **(headers or {})})

    async def result(self, result: object, headers: Mapping[str, str] | None = None) -> None:
        await self.json(
            {"jsonrpc": "2.0", "id": self.message["id"], "result": result}, 200, headers
        )

    async def error(self, code: int, message: str, status: int = 200, data: object = None) -> None:
        error = {"code": code, "message": message, "data": data}
        await self.json({"jsonrpc": "2.0", "id": self.message.get("id"), "error": error}, status)

    async def stream(self) -> None:
        await self.raw(
            b"HTTP/1.1 200 x\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n"
        )

    async def event(self, payload: object, place: str = "") -> None:
        mark = f"id: {place}\n" if place else ""
        await self.raw(f"{mark}data: {json.dumps(payload)}\n\n".encode())

    async def answer_event(self, result: object) -> None:
        await self.event({"jsonrpc": "2.0", "id": self.message["id"], "result": result})

    async def say(self, method: str, params: object, **more: object) -> None:
        await self.event({"jsonrpc": "2.0", "method": method, "params": params, **more})


class RawServer:
    """Answers as a small MCP server does, except where a test says otherwise (`on`)."""

    def __init__(self) -> None:
        self.on: dict[str, Handler] = {}
        self.seen: list[Exchange] = []
        self.port = 0
        self.scheme = "http"
        self.session_id: str | None = "session-1"
        self.tools: list[Any] = [TOOL]
        self._news = anyio.Condition()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/mcp"

    @property
    def said(self) -> list[str]:
        return [exchange.what for exchange in self.seen]

    def calls(self, what: str) -> list[Exchange]:
        return [exchange for exchange in self.seen if exchange.what == what]

    async def heard(self, what: str, times: int = 1) -> Exchange:
        """Wait until it was asked that so often; give the last one."""
        with anyio.fail_after(10):
            async with self._news:
                while len(self.calls(what)) < times:
                    await self._news.wait()
        return self.calls(what)[-1]

    async def serve(self, stream: anyio.abc.ByteStream) -> None:
        broken = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
        async with stream:
            with contextlib.suppress(*broken, ssl.SSLError):
                exchange = await self._read(stream)
                async with self._news:
                    self.seen.append(exchange)
                    self._news.notify_all()
                await self.on.get(exchange.what, self._usual)(exchange)

    async def _read(self, stream: anyio.abc.ByteStream) -> Exchange:
        data = b""
        while b"\r\n\r\n" not in data:
            data += await stream.receive()
        head, _, body = data.partition(b"\r\n\r\n")
        sizes = [
            line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
        ]
        length = int(sizes[0].split(b":")[1]) if sizes else 0
        while len(body) < length:
            body += await stream.receive()
        return Exchange(stream, head, body)

    async def _usual(self, exchange: Exchange) -> None:
        match exchange.what:
            case "initialize":
                headers = {"MCP-Session-Id": self.session_id} if self.session_id else {}
                facts = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
                await exchange.result({**facts, "serverInfo": {"name": "raw"}}, headers)
            case "tools/list":
                await exchange.result({"tools": self.tools})
            case "tools/call":
                await exchange.result({"content": [], "echo": exchange.message["params"]})
            case "GET":
                await exchange.reply(405)
            case _:
                await exchange.reply(202)


Start = Callable[..., Awaitable[RawServer]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Start raw servers."""
    async with contextlib.AsyncExitStack() as stack, anyio.create_task_group() as tasks:

        async def starting(tls: ssl.SSLContext | None = None) -> RawServer:
            server = RawServer()
            listener: Any = await anyio.create_tcp_listener(local_host="127.0.0.1")
            server.port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - not Django
            if tls is not None:
                server.scheme = "https"
                listener = anyio.streams.tls.TLSListener(listener, tls, standard_compatible=False)
            await stack.enter_async_context(listener)
            tasks.start_soon(listener.serve, server.serve)
            return server

        yield starting
        tasks.cancel_scope.cancel()


@pytest.fixture
async def server(start: Start) -> RawServer:
    """The one raw server that most tests need."""
    return await start()


Open = Callable[..., Awaitable[HttpBackend]]


@pytest.fixture
async def connect() -> AsyncIterator[Open]:
    """Open backends that are closed after the test."""
    async with contextlib.AsyncExitStack() as stack:

        async def connecting(
            url: str, headers: Mapping[str, str] | None = None, **more: Any
        ) -> Any:
            backend = HttpBackend("remote", url, headers or {}, **more)
            return await stack.enter_async_context(backend)

        yield connecting


class Witness:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.starts: list[Mapping[str, Any]] = []
        self.logs: list[tuple[str, str]] = []
        self.stops: list[str] = []
        self.stopping = anyio.Event()

    def ready(self, server: str) -> None: ...

    def started(self, server: str, record: Mapping[str, Any]) -> None:
        self.starts.append(record)

    def logged(self, server: str, level: str, text: str) -> None:
        self.logs.append((level, text))

    def stopped(self, server: str, reason: str) -> None:
        self.stops.append(reason)
        self.stopping.set()


@pytest.fixture
async def witness() -> Witness:
    return Witness()


class Human:
    """Answers every question of a server."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Mapping[str, Any]]] = []

    async def sample(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append((server, params))
        return {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}

    async def elicit(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append((server, params))
        return {"action": "accept", "content": {"ok": True}}


@pytest.fixture
def human() -> Human:
    return Human()


@pytest.fixture(scope="session")
def sdk_server() -> Iterator[str]:
    """The SDK's server in a process of its own: `/mcp` both eras, `/modern` only 2026-07-28."""
    script = pathlib.Path(__file__).with_name("sdk_server.py")
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", str(script)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.terminate()
        process.communicate(timeout=10)
