"""What a server writes to us, over a pipe and over HTTP: JSON-RPC, results, listings.

Promised: requests end in a result or an error of ours; the numbers of a progress are finite; an
answer that the HTTP side takes is the same for the pipe's; what is listed can be shown.
"""

import contextlib
import math
from typing import Any

import anyio

from pml.backends import results
from pml.backends.errors import BackendError, ServerEndedError, ServerProtocolError
from pml.backends.http import messages
from pml.backends.jsonrpc import Connection
from pml.backends.listing import listing_of
from pml.errors import PmlError
from pml.model import Progress
from sandbox_host import ToolError
from tests.fuzz.oracles import shown

WORDS = (
    b'{"jsonrpc":"2.0","id":1,"result":', b'{"jsonrpc":"2.0","id":1,"error":', b'{"code":-32000,"message":"m"}', b"\n", b"\r\n",
    b'"method":"notifications/progress"', b'"params":{"progressToken":1,"progress":', b'"total":', b"1e999", b"NaN", b"true",
    b'"id":"1"', b'"method":"ping"', b'"tools":[', b'"structuredContent":', b'"content":[{"type":"text","text":"', b'"isError":true',
    b'"inputSchema":{"type":"object"}', b"[", b"]", b"{", b"}", b"0", b"\\ud800", b"null", b"\xff\xfe", b"9",
)  # fmt: skip


class _Stream:
    """The server's output in pieces."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def receive(self, most: int) -> bytes:
        if not self._data:
            raise anyio.EndOfStream
        size = 1 + self._data[0] % 97
        piece, self._data = self._data[:size], self._data[size:]
        return piece


class _Pipe:
    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, data: bytes) -> bool:
        self.lines.append(data)
        return True

    async def flush(self) -> None:
        """All is written at once."""


async def _answer(method: str, params: Any) -> dict[str, Any]:
    return {"method": method}


def _progress(progress: Progress) -> None:
    assert math.isfinite(progress.done)
    assert progress.total is None or math.isfinite(progress.total)


async def _over_a_pipe(data: bytes) -> Any:
    connection = Connection(
        "srv", _Stream(data), _Pipe(), answer=_answer, notified=lambda *_: None, junk=str  # type: ignore[arg-type]
    )  # fmt: skip
    found: list[Any] = []

    async def ask() -> None:
        try:
            found.append(
                await connection.request("m", {}, timeout_seconds=5, on_progress=_progress)
            )
        except BackendError as error:
            found.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.lowlevel.checkpoint()
        async with connection:
            await connection.ended.wait()
            connection.fail(ServerEndedError("srv", "it ended"))
    return found[0]


def _over_http(line: bytes) -> Any:
    try:
        found = messages.read("srv", line)
        for message in found:
            messages.progress_in(messages.params_of(message))
            level, text = messages.log_in(messages.params_of(message))
            assert len(level) + len(text) < 3000
        return next(
            filter(None, (messages.answer_in("srv", m, 1, len(line)) for m in found)), None
        )
    except PmlError as error:
        return error


def one(data: bytes) -> None:
    """Read it as a server's output, and each line as the body of an HTTP answer."""
    got = anyio.run(_over_a_pipe, data)
    firsts = [_over_http(line) for line in data.split(b"\n") if line.strip()]
    answers = [one for one in firsts if isinstance(one, messages.Answer)]
    shallow = data.count(b"[") + data.count(b"{") < 500  # each reader has its own stack left
    if shallow and answers and not any(isinstance(one, PmlError) for one in firsts):
        assert got == answers[0].result or str(got) == str(answers[0].result)
    if isinstance(got, BackendError):
        shown(got.message)
        return
    _used(got)


def _used(result: dict[str, Any]) -> None:
    with contextlib.suppress(ToolError, ServerProtocolError):
        results.value_of("srv:t", result)
    tools = result.get("tools")
    for tool in listing_of("srv", tools if isinstance(tools, list) else [result]).tools:
        shown(tool.name)
        assert ":" not in tool.name
