"""When a session rests, and when it is renewed."""

from typing import Any

import anyio
import pytest

from pml.backends.errors import ServerEndedError, ServerRefusedError
from pml.model import ServerState


async def test_an_unused_session_is_closed_and_opened_again(
    server: Any, connect: Any, witness: Any
) -> None:
    backend = await connect(server.url, observer=witness, idle_seconds=0.1)
    before = await backend.list_tools()

    with anyio.fail_after(5):
        await witness.stopping.wait()
    await server.heard("DELETE")
    assert backend.status().state is ServerState.IDLE
    assert witness.stops == ["nobody used it"]

    after = await backend.list_tools()
    assert (after, after is before) == (before, False)
    assert len(server.calls("initialize")) == 2


async def test_a_session_in_use_does_not_rest(server: Any, connect: Any, witness: Any) -> None:
    async def slow(exchange: Any) -> None:
        await anyio.sleep(0.5)
        await exchange.result({"content": []})

    server.on["tools/call"] = slow
    backend = await connect(server.url, observer=witness, idle_seconds=0.1)

    await backend.call_tool("echo", {}, timeout_seconds=10)

    assert witness.stops == []


async def test_a_lost_session_is_renewed_and_the_call_sent_again(
    server: Any, connect: Any, witness: Any
) -> None:
    async def forgetful(exchange: Any) -> None:
        if exchange.headers["mcp-session-id"] == "session-1":
            server.session_id = "session-2"
            await exchange.reply(404)
        else:
            await exchange.result({"content": [], "again": True})

    server.on["tools/call"] = forgetful
    backend = await connect(server.url, observer=witness)

    result = await backend.call_tool("echo", {}, timeout_seconds=10)

    assert result["again"]
    assert len(server.calls("initialize")) == len(server.calls("tools/call")) == 2
    assert "mcp-session-id" not in server.calls("initialize")[1].headers


async def test_many_calls_that_lose_one_session_renew_it_once(server: Any, connect: Any) -> None:
    async def forgetful(exchange: Any) -> None:
        if exchange.headers["mcp-session-id"] == "session-1":
            server.session_id = "session-2"
            if len(server.calls("tools/call")) == 5:
                everybody.set()
            await everybody.wait()
            await exchange.reply(404)
        else:
            await exchange.result({"content": []})

    everybody = anyio.Event()
    server.on["tools/call"] = forgetful
    backend = await connect(server.url)

    async with anyio.create_task_group() as tasks:
        for _ in range(5):
            tasks.start_soon(lambda: backend.call_tool("echo", {}, timeout_seconds=10))

    assert len(server.calls("initialize")) == 2
    assert len(server.calls("tools/call")) == 10


async def test_a_session_that_is_lost_again_is_an_end(server: Any, connect: Any) -> None:
    async def forgetful(exchange: Any) -> None:
        await exchange.reply(404)

    server.on["tools/call"] = forgetful
    backend = await connect(server.url)

    with pytest.raises(ServerEndedError, match="no longer knows"):
        await backend.call_tool("echo", {}, timeout_seconds=10)

    assert len(server.calls("tools/call")) == 2


async def test_a_call_that_may_have_been_carried_out_is_not_sent_again(
    server: Any, connect: Any
) -> None:
    async def crash(exchange: Any) -> None:
        return

    server.on["tools/call"] = crash
    backend = await connect(server.url)

    with pytest.raises(ServerEndedError):
        await backend.call_tool("pay", {}, timeout_seconds=10)

    assert len(server.calls("tools/call")) == 1


async def test_a_server_that_forgot_us_with_a_400_is_asked_anew(server: Any, connect: Any) -> None:
    # Some servers say 400 instead of 404; then the call may not be sent again, but the next one
    # must not meet the same dead session.
    async def forgetful(exchange: Any) -> None:
        server.session_id = "session-2"
        if exchange.headers["mcp-session-id"] == "session-1":
            await exchange.error(-32000, "no valid session", status=400)
        else:
            await exchange.result({"content": []})

    server.on["tools/call"] = forgetful
    backend = await connect(server.url)

    with pytest.raises(ServerRefusedError):
        await backend.call_tool("echo", {}, timeout_seconds=10)
    await backend.call_tool("echo", {}, timeout_seconds=10)

    assert len(server.calls("initialize")) == 2
