"""What a server asks of its client in the 2025 era."""

import pathlib
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from pml.backends.http.hearing import MOST_QUESTIONS
from pml.errors import PmlError


def asking(server: Any, *questions: dict[str, Any], answered: bool = True) -> None:
    """Let a call ask these questions, and end when they were answered."""

    async def ask(exchange: Any) -> None:
        await exchange.stream()
        for question in questions:
            await exchange.event({"jsonrpc": "2.0", **question})
        if answered:
            await server.heard("answer", len(questions))
        await exchange.answer_event({"content": []})

    server.on["tools/call"] = ask


async def answers(server: Any, backend: Any) -> list[dict[str, Any]]:
    await backend.call_tool("echo", {}, timeout_seconds=10)
    return [exchange.message for exchange in server.calls("answer")]


async def test_a_ping_is_answered(server: Any, connect: Any) -> None:
    asking(server, {"id": "p", "method": "ping"})

    assert await answers(server, await connect(server.url)) == [
        {"jsonrpc": "2.0", "id": "p", "result": {}}
    ]
    assert server.calls("answer")[0].headers["mcp-session-id"] == "session-1"


@pytest.mark.parametrize(
    "method", ["roots/list", "sampling/createMessage", "elicitation/create", "evil", 7, None]
)
async def test_what_was_not_offered_is_refused(server: Any, connect: Any, method: object) -> None:
    asking(server, {"id": 1, "method": method, "params": {}})

    (answer,) = await answers(server, await connect(server.url))

    assert answer["error"]["code"] == -32601
    assert server.calls("initialize")[0].message["params"]["capabilities"] == {}


async def test_what_was_offered_is_answered(
    server: Any, connect: Any, human: Any, tmp_path: pathlib.Path
) -> None:
    asking(
        server,
        {"id": 1, "method": "roots/list"},
        {"id": 2, "method": "sampling/createMessage", "params": {"maxTokens": 5}},
        {"id": 3, "method": "elicitation/create", "params": {"message": "Name?"}},
    )
    backend = await connect(server.url, requests=human, root=tmp_path)

    given = {answer["id"]: answer["result"] for answer in await answers(server, backend)}

    assert given[1] == {"roots": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}]}
    assert given[2]["content"]["text"] == "Paris"
    assert given[3] == {"action": "accept", "content": {"ok": True}}
    assert sorted(map(str, human.asked)) == sorted(
        map(str, [("remote", {"maxTokens": 5}), ("remote", {"message": "Name?"})])
    )
    offered = server.calls("initialize")[0].message["params"]["capabilities"]
    assert offered == {"roots": {}, "sampling": {}, "elicitation": {}}


class Nobody:
    """Refuses, or never answers."""

    def __init__(self) -> None:
        self.waiting = 0
        self.left = anyio.Event()

    async def sample(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        raise PmlError("the human said no")

    async def elicit(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        self.waiting += 1
        try:
            await anyio.sleep_forever()
        finally:
            self.left.set()
        return {}


async def test_a_refusal_is_told_to_the_server(server: Any, connect: Any) -> None:
    asking(server, {"id": 1, "method": "sampling/createMessage", "params": {}})

    (answer,) = await answers(server, await connect(server.url, requests=Nobody()))

    assert answer["error"] == {"code": -1, "message": "the human said no"}


async def test_a_server_that_asks_without_end_is_not_answered(server: Any, connect: Any) -> None:
    # The attack: thousands of dialogs, or as many tasks.
    flood = [{"id": n, "method": "elicitation/create", "params": {}} for n in range(1000)]
    asking(server, *flood, answered=False)
    nobody = Nobody()
    backend = await connect(server.url, requests=nobody)

    await backend.call_tool("echo", {}, timeout_seconds=10)

    assert nobody.waiting <= MOST_QUESTIONS
    assert server.calls("answer") == []


async def test_a_question_that_is_withdrawn_is_not_asked_on(server: Any, connect: Any) -> None:
    async def ask(exchange: Any) -> None:
        await exchange.stream()
        await exchange.say("elicitation/create", {}, id=1)
        await exchange.say("notifications/cancelled", {"requestId": [1]})
        await exchange.say("notifications/cancelled", {"requestId": 1})
        with anyio.fail_after(5):
            await nobody.left.wait()
        await exchange.answer_event({"content": []})

    nobody = Nobody()
    server.on["tools/call"] = ask
    backend = await connect(server.url, requests=nobody)

    await backend.call_tool("echo", {}, timeout_seconds=10)

    assert server.calls("answer") == []


@pytest.mark.parametrize("theirs", [None, [1], {"a": 1}, 1.5])
async def test_a_question_without_an_id_to_answer_is_let_be(
    server: Any, connect: Any, theirs: object
) -> None:
    asking(server, {"id": theirs, "method": "ping"}, answered=False)

    assert await answers(server, await connect(server.url)) == []


async def test_log_messages_are_passed_on_and_capped(
    server: Any, connect: Any, witness: Any
) -> None:
    async def talking(exchange: Any) -> None:
        await exchange.stream()
        await exchange.say("notifications/message", {"level": "error", "data": "x" * 9000})
        await exchange.say("notifications/message", {"level": ["x"], "data": {"a": 1}})
        await exchange.say("notifications/unknown", {})
        await exchange.answer_event({"content": []})

    server.on["tools/call"] = talking
    backend = await connect(server.url, observer=witness)

    await backend.call_tool("echo", {}, timeout_seconds=5)

    assert witness.logs == [("error", "x" * 2000), ("info", '{"a": 1}')]
