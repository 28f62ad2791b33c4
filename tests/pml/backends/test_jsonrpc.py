"""Limits of one connection that no server of the other tests reaches for sure."""

import json
import os
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from pml.backends import jsonrpc
from pml.backends.errors import ServerEndedError, ServerProtocolError
from pml.backends.jsonrpc import Connection
from pml.backends.pipe import MOST_UNSENT_BYTES, Pipe


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Lines:
    """A byte stream that gives what it was given, then waits."""

    def __init__(self, *chunks: bytes, ends: bool = False) -> None:
        self._chunks = list(chunks)
        self._ends = ends
        self.begin = anyio.Event()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        await self.begin.wait()
        if self._chunks:
            return self._chunks.pop(0)
        if self._ends:
            raise anyio.EndOfStream
        await anyio.sleep_forever()
        raise AssertionError

    async def aclose(self) -> None: ...


class Wire:
    """A connection, what it sends, and a question that is never answered."""

    def __init__(self, stream: Lines) -> None:
        self.theirs, ours = os.pipe()
        self.pipe = Pipe(ours)
        self.junk: list[str] = []
        self.connection = Connection(
            "s", stream, self.pipe,  # type: ignore[arg-type] - a stream for tests
            answer=self._never, notified=lambda *_: None, junk=self.junk.append,
        )  # fmt: skip

    async def _never(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        await anyio.sleep_forever()
        raise AssertionError

    def sent(self) -> list[dict[str, Any]]:
        self.pipe.close()
        with os.fdopen(self.theirs, "rb") as file:
            return [json.loads(line) for line in file]


async def test_a_server_that_asks_too_much_at_once_is_told_so() -> None:
    asked = jsonrpc.MOST_ANSWERING + 3
    lines = b"".join(
        b'{"jsonrpc": "2.0", "id": "q%d", "method": "elicitation/create"}\n' % number
        for number in range(asked)
    )
    stream = Lines(lines)
    stream.begin.set()
    wire = Wire(stream)
    async with wire.connection:
        await anyio.wait_all_tasks_blocked()
    refused = [message for message in wire.sent() if "error" in message]
    assert [message["id"] for message in refused] == ["q32", "q33", "q34"]
    assert {message["error"]["code"] for message in refused} == {jsonrpc.TOO_MANY}


async def test_requests_to_a_server_that_does_not_read_fail_by_name() -> None:
    wire = Wire(Lines())
    large = {"text": "x" * (1 << 20)}
    async with wire.connection, anyio.create_task_group() as tasks:

        async def ask() -> None:
            with pytest.raises(ServerEndedError):
                await wire.connection.request("m", large, timeout_seconds=60)

        for _ in range(MOST_UNSENT_BYTES >> 20):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(ServerProtocolError, match="does not read what it is sent"):
            await wire.connection.request("m", large, timeout_seconds=60)
        wire.connection.fail(ServerEndedError("s", "enough"))
    wire.pipe.close()
    os.close(wire.theirs)


async def test_messages_in_a_batch_and_a_last_line_without_a_break_count() -> None:
    batch = b'[{"jsonrpc": "2.0", "id": 1, "result": {"n": 1}}, 5]\n'
    last = b'{"jsonrpc": "2.0", "id": 2, "result": {"n": 2}}'
    stream = Lines(batch, last, ends=True)
    wire = Wire(stream)
    found: dict[int, Any] = {}
    async with anyio.create_task_group() as tasks:
        connection = wire.connection

        async def ask(number: int) -> None:
            found[number] = await connection.request("m", {}, timeout_seconds=20)

        async with connection:
            for number in (1, 2):
                tasks.start_soon(ask, number)
            await anyio.wait_all_tasks_blocked()
            stream.begin.set()
            await connection.ended.wait()
            await anyio.wait_all_tasks_blocked()
    assert found == {1: {"n": 1}, 2: {"n": 2}}
    assert wire.junk == ["JSON that is no message: " + batch.decode()[:200].rstrip("\n")]
    wire.pipe.close()
    os.close(wire.theirs)


async def test_a_request_whose_id_is_no_id_harms_nobody() -> None:
    """Attack: an id nested so deeply that answering it would overflow."""
    deep = b"[" * 500 + b"]" * 500
    stream = Lines(b'{"jsonrpc": "2.0", "method": "ping", "id": ' + deep + b"}\n")
    stream.begin.set()
    wire = Wire(stream)
    async with wire.connection:
        await anyio.wait_all_tasks_blocked()
    assert wire.junk == ["a request whose id is none: "]
    assert wire.sent() == []
