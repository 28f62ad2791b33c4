"""The wire: JSON-RPC lines on two descriptors, with no thread and no task between.

The SDK's own transport crosses three threads for each request. Who owns the descriptors, and keeps
others off them, is `pml.streams`.
"""

import contextlib
import json
import os
import stat
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import Any, Self

import anyio
import anyio.to_thread
import mcp_types
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR
from pydantic_core import PydanticSerializationError

from pml.backends.pipe import Pipe
from pml.gateway.unread import EDGE_BYTES, refusal

MOST_LINE_BYTES = 32 << 20
"""Of one message from the client; the sandbox takes 16 MiB of arguments."""

_CHUNK_BYTES = 1 << 16
_CLOSE_SECONDS = 1.0  # for a client to read what it was sent last
_TOO_LARGE = f"the message has more than {MOST_LINE_BYTES >> 20} MiB"
_UNREADABLE = (
    "this is no JSON-RPC message that can be read: one object in UTF-8, at most 200 levels deep, "
    "without halves of surrogate pairs and without numbers of thousands of digits"
)

Told = Callable[[str], None]
"""Takes what is wrong with the wire, for the log."""


class Incoming:
    """The client's messages; what the SDK calls a read stream."""

    def __init__(self, descriptor: int, told: Told, answer: Callable[[bytes], Any]) -> None:
        """Read from a descriptor that someone else closes; `answer` sends a line back."""
        self._descriptor = descriptor
        self._told = told
        self._answer = answer
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()
        self._skipped: bytes | None = None
        """The beginning of a message that is too large, while the rest of it comes."""

        self._open = True
        self._waits = _is_pollable(descriptor)

    async def receive(self) -> SessionMessage:
        """Give the next message; raises `anyio.EndOfStream` when the client hung up."""
        while True:
            while self._lines:
                message = self._read(self._lines.popleft())
                if message is not None:
                    return message
            if not self._open:
                raise anyio.EndOfStream
            self._split(await self._chunk())

    def __aiter__(self) -> Self:
        """Give itself."""
        return self

    async def __anext__(self) -> SessionMessage:
        """Give the next message."""
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Read no more."""
        self._open = False

    async def __aenter__(self) -> Self:
        """Give itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Read no more."""
        await self.aclose()

    async def _chunk(self) -> bytes:
        if not self._waits:  # a file: reading it never waits for long
            return await anyio.to_thread.run_sync(os.read, self._descriptor, _CHUNK_BYTES)
        await anyio.wait_readable(self._descriptor)
        with contextlib.suppress(BlockingIOError):
            return os.read(self._descriptor, _CHUNK_BYTES)
        return await self._chunk()

    def _split(self, chunk: bytes) -> None:
        """Add what came."""
        if not chunk:
            self._open = False
            return
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._end_line(line)
        self._rest += rest
        if len(self._rest) > MOST_LINE_BYTES or self._skipped is not None:
            if self._skipped is None:
                self._skipped = bytes(self._rest[:EDGE_BYTES])
            del self._rest[:-EDGE_BYTES]

    def _end_line(self, end: bytes) -> None:
        whole = bytes(self._rest) + end
        self._rest.clear()
        if self._skipped is not None:
            self._refuse(self._skipped, whole, INVALID_REQUEST, _TOO_LARGE)
            self._skipped = None
        elif whole.strip():
            self._lines.append(whole)

    def _read(self, line: bytes) -> SessionMessage | None:
        try:
            return SessionMessage(
                mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            )
        except ValueError:
            self._refuse(line, line, PARSE_ERROR, _UNREADABLE)
            return None

    def _refuse(self, beginning: bytes, end: bytes, code: int, words: str) -> None:
        self._told(f"dropped a line: {words}")
        answer = refusal(beginning[:EDGE_BYTES], end[-EDGE_BYTES:], code, words)
        if answer is not None:
            self._answer(answer)


class Outgoing:
    """Messages to the client; what the SDK calls a write stream."""

    def __init__(self, pipe: Pipe) -> None:
        """Write to a pipe that someone else flushes and closes."""
        self._pipe = pipe

    async def send(self, message: SessionMessage) -> None:
        """Send a message; wait for a client that reads slowly: every request has its answer."""
        line = _line(message.message)
        while not self._pipe.write(line):
            await self._pipe.sent()

    async def aclose(self) -> None:
        """Nothing: whoever opened the wire closes it."""

    async def __aenter__(self) -> Self:
        """Give itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing."""


@contextlib.asynccontextmanager
async def opened_wire(
    reading: int, writing: int, told: Told
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Speak on descriptors that someone else closes; what was sent last still goes out."""
    was_blocking = os.get_blocking(writing)
    pipe = Pipe(os.dup(writing))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipe.flush)
            try:
                yield Incoming(reading, told, pipe.write), Outgoing(pipe)
            finally:
                with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                    await pipe.drained()
                tasks.cancel_scope.cancel()
    finally:
        pipe.close()
        os.set_blocking(writing, was_blocking)


def _is_pollable(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode  # a file or /dev/null is always ready, and not waited for
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


def _line(message: Any) -> bytes:
    try:
        text: str = message.model_dump_json(by_alias=True, exclude_unset=True)
    except PydanticSerializationError:  # half a surrogate pair, which UTF-8 has no form for
        text = json.dumps(message.model_dump(by_alias=True, exclude_unset=True))
    return text.encode() + b"\n"
