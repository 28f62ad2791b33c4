"""The stateless era (2026-07-28), with servers that do not keep to it."""

from typing import Any

import anyio
import pytest

from pml.backends.errors import ServerProtocolError, ServerRefusedError, ServerStartError
from pml.model import SkippedTool

META = "io.modelcontextprotocol/"
REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}


@pytest.fixture
async def modern(server: Any) -> Any:
    """A raw server that refuses the handshake and is discovered."""

    async def refuse(exchange: Any) -> None:
        await exchange.error(-32022, "only 2026-07-28", status=400)

    async def discover(exchange: Any) -> None:
        facts = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        await exchange.result({"resultType": "complete", **facts})

    server.on |= {"initialize": refuse, "server/discover": discover}
    return server


async def test_every_request_carries_its_envelope_and_headers(modern: Any, connect: Any) -> None:
    backend = await connect(modern.url)

    await backend.call_tool("echo", {"a": 1}, timeout_seconds=5)
    await backend.aclose()

    assert modern.said == ["initialize", "server/discover", "tools/list", "tools/call"]
    for exchange in modern.seen[1:]:
        meta = exchange.message["params"]["_meta"]
        assert meta[f"{META}protocolVersion"] == "2026-07-28"
        assert meta[f"{META}clientCapabilities"] == {}
        assert meta[f"{META}clientInfo"]["name"] == "pml"
        assert exchange.headers["mcp-protocol-version"] == "2026-07-28"
        assert exchange.headers["mcp-method"] == exchange.what
        assert "mcp-session-id" not in exchange.headers
    assert modern.seen[-1].headers["mcp-name"] == "echo"


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_refusal_without_words_is_followed_by_discovery(
    modern: Any, connect: Any, status: int
) -> None:
    async def refuse(exchange: Any) -> None:
        await exchange.reply(status)

    modern.on["initialize"] = refuse
    backend = await connect(modern.url)

    await backend.list_tools()

    assert backend.status().protocol == "2026-07-28"


async def test_if_both_are_refused_the_first_refusal_is_told(modern: Any, connect: Any) -> None:
    async def refuse(exchange: Any) -> None:
        await exchange.error(-32601, "what is that", status=404)

    modern.on["server/discover"] = refuse
    backend = await connect(modern.url)

    with pytest.raises(ServerRefusedError, match="only 2026-07-28"):
        await backend.list_tools()


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
async def test_a_server_in_trouble_has_refused_nothing(
    modern: Any, connect: Any, status: int
) -> None:
    async def trouble(exchange: Any) -> None:
        await exchange.reply(status)

    modern.on["initialize"] = trouble
    backend = await connect(modern.url)

    with pytest.raises(ServerStartError, match=str(status)):
        await backend.list_tools()

    assert modern.said == ["initialize"]


@pytest.mark.parametrize("versions", [None, "2026-07-28", [], ["2027-01-01"]])
async def test_a_server_of_another_era_is_a_protocol_error(
    modern: Any, connect: Any, versions: object
) -> None:
    async def discover(exchange: Any) -> None:
        await exchange.result({"supportedVersions": versions, "capabilities": {}})

    modern.on["server/discover"] = discover
    backend = await connect(modern.url)

    with pytest.raises(ServerProtocolError):
        await backend.list_tools()


async def test_a_tool_with_wrong_marks_is_skipped(modern: Any, connect: Any) -> None:
    # The attack: the server chooses the name of a header that we send.
    bad = {
        "type": "object",
        "properties": {"a": {"type": "string", "x-mcp-header": "A\r\nHost: evil"}},
    }
    modern.tools = [{"name": "good", "inputSchema": REGION}, {"name": "bad", "inputSchema": bad}]
    backend = await connect(modern.url)

    listing = await backend.list_tools()

    assert [tool.name for tool in listing.tools] == ["good"]
    assert listing.skipped == (
        SkippedTool(
            "remote", "bad", "its inputSchema has an x-mcp-header that is not the name of a header"
        ),
    )


async def test_marked_arguments_go_into_headers_and_cannot_break_them(
    modern: Any, connect: Any
) -> None:
    modern.tools = [{"name": "good", "inputSchema": REGION}]
    backend = await connect(modern.url)

    await backend.call_tool("good", {"region": "a\r\nX-Evil: 1"}, timeout_seconds=5)

    headers = modern.calls("tools/call")[0].headers
    assert headers["mcp-param-region"] == "=?base64?YQ0KWC1FdmlsOiAx?="
    assert "x-evil" not in headers


async def test_headers_of_an_old_listing_are_made_anew(modern: Any, connect: Any) -> None:
    async def strict(exchange: Any) -> None:
        if "mcp-param-region" in exchange.headers:
            await exchange.result({"resultType": "complete", "content": []})
        else:
            modern.tools = [{"name": "good", "inputSchema": REGION}]
            await exchange.error(-32020, "Header mismatch", status=400)

    modern.tools = [{"name": "good", "inputSchema": {"type": "object"}}]
    modern.on["tools/call"] = strict
    backend = await connect(modern.url)

    await backend.call_tool("good", {"region": "eu"}, timeout_seconds=5)

    assert len(modern.calls("tools/list")) == len(modern.calls("tools/call")) == 2


async def test_a_mismatch_that_stays_is_a_refusal(modern: Any, connect: Any) -> None:
    async def strict(exchange: Any) -> None:
        await exchange.error(-32020, "Header mismatch", status=400)

    modern.on["tools/call"] = strict
    backend = await connect(modern.url)

    with pytest.raises(ServerRefusedError):
        await backend.call_tool("echo", {}, timeout_seconds=5)

    assert len(modern.calls("tools/call")) == 2


async def test_input_is_given_with_the_state_as_it_came(
    modern: Any, connect: Any, human: Any
) -> None:
    async def needy(exchange: Any) -> None:
        params = exchange.message["params"]
        if "inputResponses" in params:
            await exchange.result({"content": [], "got": params["inputResponses"]})
        else:
            asked = {"k": {"method": "elicitation/create", "params": {"message": "Name?"}}}
            kind = {"resultType": "input_required"}
            await exchange.result({**kind, "inputRequests": asked, "requestState": "opaque"})

    modern.on["tools/call"] = needy
    backend = await connect(modern.url, requests=human)

    result = await backend.call_tool("echo", {"a": 1}, timeout_seconds=5)

    assert result["got"] == {"k": {"action": "accept", "content": {"ok": True}}}
    first, second = (exchange.message for exchange in modern.calls("tools/call"))
    assert second["params"]["requestState"] == "opaque"
    assert second["params"]["arguments"] == {"a": 1}
    assert first["id"] != second["id"]


@pytest.mark.parametrize(
    "result",
    [
        {"resultType": "surprise"},
        {"resultType": ["complete"]},
        {"resultType": "input_required", "inputRequests": []},
        {"resultType": "input_required", "inputRequests": {str(n): {} for n in range(100)}},
        {"resultType": "input_required", "requestState": "again and again"},
    ],
)
async def test_a_result_that_cannot_be_used_is_a_protocol_error(
    modern: Any, connect: Any, human: Any, result: object
) -> None:
    async def odd(exchange: Any) -> None:
        await exchange.result(result)

    modern.on["tools/call"] = odd
    backend = await connect(modern.url, requests=human)

    with pytest.raises(ServerProtocolError):
        await backend.call_tool("echo", {}, timeout_seconds=5)

    assert len(modern.calls("tools/call")) <= 10


@pytest.mark.parametrize(
    "question", [{"method": "sampling/createMessage"}, {"method": 7}, None, "x"]
)
async def test_input_that_is_not_offered_is_refused(
    modern: Any, connect: Any, question: object
) -> None:
    async def needy(exchange: Any) -> None:
        await exchange.result({"resultType": "input_required", "inputRequests": {"k": question}})

    modern.on["tools/call"] = needy
    backend = await connect(modern.url)

    with pytest.raises(ServerRefusedError, match="does not offer"):
        await backend.call_tool("echo", {}, timeout_seconds=5)


async def test_a_request_of_the_server_is_let_be(modern: Any, connect: Any, human: Any) -> None:
    # In this era a server has no requests; one that is sent anyway reaches nobody.
    async def asking(exchange: Any) -> None:
        await exchange.stream()
        await exchange.say("elicitation/create", {}, id=1)
        await exchange.answer_event({"resultType": "complete", "content": []})

    modern.on["tools/call"] = asking
    backend = await connect(modern.url, requests=human)

    await backend.call_tool("echo", {}, timeout_seconds=5)

    assert human.asked == []
    assert modern.calls("answer") == []


async def test_a_cancelled_call_closes_its_stream_and_sends_nothing(
    modern: Any, connect: Any
) -> None:
    async def slow(exchange: Any) -> None:
        await exchange.stream()
        try:
            while True:
                await exchange.raw(b": waiting\n\n")
                await anyio.sleep(0.01)
        except anyio.BrokenResourceError:
            closed.set()

    closed = anyio.Event()
    modern.on["tools/call"] = slow
    backend = await connect(modern.url)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: backend.call_tool("echo", {}, timeout_seconds=50))
        await modern.heard("tools/call")
        tasks.cancel_scope.cancel()

    with anyio.fail_after(5):
        await closed.wait()
    assert "notifications/cancelled" not in modern.said
