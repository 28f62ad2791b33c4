"""When a session begins, is shared, and ends."""

import contextlib
import subprocess
import sys
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pml.backends.errors import (
    BackendError,
    ServerEndedError,
    ServerStartError,
)
from pml.backends.http import HttpBackend
from pml.model import ServerState


async def test_nothing_is_sent_before_the_first_use(server: Any, connect: Any) -> None:
    backend = await connect(server.url)
    await backend.aclose()

    assert server.seen == []
    assert (backend.name, backend.status().state) == ("remote", ServerState.IDLE)


async def test_calls_at_once_share_one_session(server: Any, connect: Any, witness: Any) -> None:
    backend = await connect(server.url, observer=witness)

    async with anyio.create_task_group() as tasks:
        for _ in range(10):
            tasks.start_soon(lambda: backend.call_tool("echo", {}, timeout_seconds=10))

    assert len(server.calls("initialize")) == 1
    assert len(server.calls("tools/call")) == 10
    assert witness.starts == [{"host": f"127.0.0.1:{server.port}", "protocol": "2025-11-25"}]


async def test_calls_at_once_share_one_failure(server: Any, connect: Any) -> None:
    async def broken(exchange: Any) -> None:
        await everybody.wait()
        await exchange.reply(500)

    everybody = anyio.Event()
    server.on["initialize"] = broken
    backend, errors = await connect(server.url), []

    async def call() -> None:
        with contextlib.suppress(BackendError):
            try:
                await backend.call_tool("echo", {}, timeout_seconds=10)
            except ServerStartError as error:
                errors.append(error)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(call)
        await server.heard("initialize")
        assert backend.status().state is ServerState.STARTING
        everybody.set()

    assert len(server.calls("initialize")) == 1
    assert len(errors) == 5
    assert backend.status().state is ServerState.FAILED
    assert "HTTP 500" in backend.status().error


async def test_a_failed_start_is_tried_again_by_the_next_call(server: Any, connect: Any) -> None:
    async def broken(exchange: Any) -> None:
        await exchange.reply(500)

    server.on["initialize"] = broken
    backend = await connect(server.url)
    with pytest.raises(ServerStartError):
        await backend.list_tools()
    del server.on["initialize"]

    assert len((await backend.list_tools()).tools) == 1
    assert backend.status().error is None


async def test_cancelling_the_first_caller_does_not_disturb_the_second(
    server: Any, connect: Any
) -> None:
    async def slow(exchange: Any) -> None:
        await go_on.wait()
        await exchange.result({"protocolVersion": "2025-11-25", "capabilities": {}})

    go_on = anyio.Event()
    server.on["initialize"] = slow
    backend, results = await connect(server.url), []

    async def second() -> None:
        results.append(await backend.call_tool("echo", {}, timeout_seconds=10))

    async with anyio.create_task_group() as tasks:
        async with anyio.create_task_group() as first:
            first.start_soon(backend.list_tools)
            await server.heard("initialize")
            tasks.start_soon(second)
            await anyio.lowlevel.checkpoint()
            first.cancel_scope.cancel()
        go_on.set()

    assert len(results) == 1
    assert len(server.calls("initialize")) == 1


async def test_the_session_is_named_in_every_request_and_given_back(
    server: Any, connect: Any
) -> None:
    backend = await connect(server.url)
    await backend.list_tools()
    await server.heard("GET")
    await backend.aclose()

    first, *rest = server.seen
    assert "mcp-session-id" not in first.headers
    assert "mcp-protocol-version" not in first.headers
    assert {exchange.headers["mcp-session-id"] for exchange in rest} == {"session-1"}
    assert {exchange.headers["mcp-protocol-version"] for exchange in rest} == {"2025-11-25"}
    assert server.said[-1] == "DELETE"


async def test_a_server_without_sessions_is_fine(server: Any, connect: Any) -> None:
    server.session_id = None
    backend = await connect(server.url)
    await backend.list_tools()
    await backend.aclose()

    assert "DELETE" not in server.said


async def test_closing_ends_the_calls_under_way(server: Any, connect: Any) -> None:
    async def silent(exchange: Any) -> None:
        await anyio.sleep_forever()

    server.on["tools/call"] = silent
    backend, errors = await connect(server.url), []

    async def call() -> None:
        try:
            await backend.call_tool("echo", {}, timeout_seconds=60)
        except ServerEndedError as error:
            errors.append(str(error))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await server.heard("tools/call")
        with anyio.fail_after(10):
            await backend.aclose()
            await backend.aclose()

    assert errors == ["server `remote` ended: it was closed"]
    with pytest.raises(ServerEndedError):
        await backend.list_tools()


async def test_closing_ends_a_start_under_way(server: Any, connect: Any) -> None:
    async def silent(exchange: Any) -> None:
        await anyio.sleep_forever()

    server.on["initialize"] = silent
    backend, errors = await connect(server.url), []

    async def call() -> None:
        try:
            await backend.list_tools()
        except BackendError as error:
            errors.append(str(error))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await server.heard("initialize")
        with anyio.fail_after(10):
            await backend.aclose()

    assert errors == ["server `remote` did not start: it was closed"]


async def test_many_backends_live_in_one_stack(start: Any) -> None:
    servers = [await start() for _ in range(5)]
    async with contextlib.AsyncExitStack() as stack:
        backends = [
            await stack.enter_async_context(HttpBackend(f"r{n}", server.url, {}))
            for n, server in enumerate(servers)
        ]
        async with anyio.create_task_group() as tasks:
            for backend in backends:
                tasks.start_soon(backend.list_tools)
        await backends[0].aclose()
        assert len((await backends[1].list_tools()).tools) == 1

    assert all(server.said[-1] == "DELETE" for server in servers)


async def test_a_failure_of_the_owner_closes_the_backend(server: Any) -> None:
    async def failing() -> None:
        async with HttpBackend("a", server.url, {}) as backend, HttpBackend("b", server.url, {}):
            await backend.list_tools()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):  # and no group around it
        await failing()

    assert server.said[-1] == "DELETE"


async def test_cancelling_the_owner_closes_the_backend(server: Any) -> None:
    with anyio.CancelScope() as scope:
        async with HttpBackend("remote", server.url, {}) as backend:
            await backend.list_tools()
            scope.cancel()
            await anyio.sleep_forever()

    assert scope.cancelled_caught
    assert server.said[-1] == "DELETE"


def test_a_backend_that_is_not_used_loads_no_http_library() -> None:
    code = (
        "import sys; from pml.backends.http import HttpBackend;"
        "HttpBackend('r', 'https://example.com/', {}).status();"
        "print([m for m in ('httpcore2', 'httpx2', 'mcp', 'pydantic') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert run.stdout == "[]\n"
