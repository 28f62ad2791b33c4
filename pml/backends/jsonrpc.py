"""JSON-RPC over two byte streams, one message a line: many requests at once, one reader.

Knows no process and no MCP method but the three that keep requests alive (progress, cancelled,
ping). What the other side sends is hostile until proven otherwise: junk lines, unknown ids,
messages without end and floods are counted and survived; only the end of the stream ends the
connection, and then every request fails at once.

A request never waits for the pipe: what the pipe does not take at once waits in a queue with a
bound, and one task writes it. Runs on asyncio, as `pml` does.
"""

import asyncio
import contextlib
import json
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.abc

from pml.backends.errors import (
    BackendError,
    CallTimeoutError,
    ServerEndedError,
    ServerProtocolError,
    ServerRefusedError,
)
from pml.backends.pipe import Pipe
from pml.model import Progress
from pml.ports import OnProgress

MOST_LINE_BYTES = 16 << 20
"""One message. Larger ones are skipped as they come; the request that they answer fails."""

MOST_ANSWERING = 32
"""Requests of the server that we answer at the same time."""

METHOD_NOT_FOUND, INTERNAL_ERROR, TOO_MANY = -32601, -32603, -32000

_CHUNK_BYTES = 1 << 16
_NOTED_JUNK = 5  # junk lines that are told of; the rest are counted
_ID = re.compile(rb'"id"\s*:\s*"?(\d{1,15})')
_dump = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode

Answer = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Answers a request of the other side: method and params to a result. May raise `Refusal`."""

Notified = Callable[[str, Mapping[str, Any]], None]


class Refusal(Exception):  # noqa: N818 - an answer on the wire, not a failure of ours
    """What a request of the other side is answered with instead of a result."""

    def __init__(self, code: int, message: str) -> None:
        """Keep both."""
        super().__init__(message)
        self.rpc_code = code


_TIMED_OUT = object()


class _Waiting:
    """One request under way; settled once, with a result, an error or neither in time."""

    __slots__ = ("_future", "deadline", "on_progress")

    def __init__(self, deadline: float, on_progress: OnProgress | None) -> None:
        # an event of anyio's costs as much as a fifth of a call
        self._future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.deadline = deadline
        self.on_progress = on_progress

    def settle(self, what: Any) -> None:
        """Wake whoever waits; one that was cancelled meanwhile hears nothing."""
        if not self._future.done():
            self._future.set_result(what)

    async def settled(self) -> Any:
        return await self._future


class Connection:
    """One server at the other end of two streams. An async context manager: it owns its tasks."""

    def __init__(
        self,
        name: str,
        receive: anyio.abc.ByteReceiveStream,
        pipe: Pipe,
        *,
        answer: Answer,
        notified: Notified,
        junk: Callable[[str], None],
    ) -> None:
        """Hold the streams; entering begins to read."""
        self._name = name
        self._receive = receive
        self._pipe = pipe
        self._answer = answer
        self._notified = notified
        self._junk = junk
        self._pending: dict[int, _Waiting] = {}
        self._last_id = 0
        self._soonest = math.inf
        self._sooner = anyio.Event()
        self._answering = 0
        self._junk_lines = 0
        self._tasks = anyio.create_task_group()
        self._failure: BackendError | None = None
        self.ended = anyio.Event()
        """Set when the other side has closed its stream."""

    async def __aenter__(self) -> Self:
        """Begin to read and write."""
        await self._tasks.__aenter__()
        self._tasks.start_soon(self._read)
        self._tasks.start_soon(self._pipe.flush)
        self._tasks.start_soon(self._watch_time)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        """Stop both; requests that are under way fail."""
        self.fail(ServerEndedError(self._name, "the connection was closed"))
        self._tasks.cancel_scope.cancel()
        return await self._tasks.__aexit__(kind, error, trace)

    @property
    def busy(self) -> bool:
        """Say whether requests are under way."""
        return bool(self._pending)

    def fail(self, error: BackendError) -> None:
        """Fail all that is under way and all that comes."""
        if self._failure is None:
            self._failure = error
        pending, self._pending = self._pending, {}
        for waiting in pending.values():
            waiting.settle(error)

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:
        """Ask and wait. When cancelled or out of time, the other side is told."""
        if self._failure is not None:
            raise self._failure
        self._last_id = number = self._last_id + 1
        deadline = time.monotonic() + timeout_seconds
        waiting = self._pending[number] = _Waiting(deadline, on_progress)
        if deadline < self._soonest:
            self._soonest = deadline
            self._sooner.set()
        if on_progress is not None:
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": number}}
        try:
            self._queue({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            result: Any = await waiting.settled()
        finally:
            if self._pending.pop(number, None) is not None:
                self._withdraw(number, method)
        if isinstance(result, dict):
            return result
        if result is _TIMED_OUT:
            raise CallTimeoutError(self._name, method, timeout_seconds)
        raise result

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Tell, without an answer."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        self._queue(message if params is None else {**message, "params": params})

    def _withdraw(self, number: int, method: str) -> None:
        """Tell the other side that nobody waits any more; `initialize` must not be cancelled."""
        if method != "initialize":
            with contextlib.suppress(BackendError):
                self.notify("notifications/cancelled", {"requestId": number})

    def _queue(self, message: Mapping[str, Any]) -> None:
        if not self._pipe.write(_dump(message).encode() + b"\n"):
            raise ServerProtocolError(self._name, "it does not read what it is sent")

    async def _watch_time(self) -> None:
        """Wake requests that are out of time: one task for all, as a timer for each is dear."""
        while True:
            with anyio.move_on_after(self._soonest - time.monotonic()):
                await self._sooner.wait()
            self._sooner = anyio.Event()
            now = time.monotonic()
            for waiting in self._pending.values():
                if waiting.deadline <= now:
                    waiting.settle(_TIMED_OUT)
            left = (one.deadline for one in self._pending.values() if one.deadline > now)
            self._soonest = min(left, default=math.inf)

    async def _read(self) -> None:
        parts: list[bytes] = []
        size = 0
        try:
            while True:
                chunk = await self._receive.receive(_CHUNK_BYTES)
                head, newline, rest = chunk.partition(b"\n")
                if size <= MOST_LINE_BYTES:
                    parts.append(head)
                size += len(head)
                if not newline:
                    continue
                self._line(b"".join(parts), size)
                *lines, tail = rest.split(b"\n")
                for line in lines:
                    self._line(line, len(line))
                parts, size = [tail], len(tail)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            if parts and parts != [b""]:
                self._line(b"".join(parts), size)
            self.ended.set()

    def _line(self, line: bytes, size: int) -> None:
        if size > MOST_LINE_BYTES:
            self._oversized(line)
            return
        try:
            message = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            self._note_junk("a line that is no JSON", line)
            return
        for one in message if isinstance(message, list) else [message]:
            if isinstance(one, dict):
                self._message(one)
            elif one is not None:
                self._note_junk("JSON that is no message", line)

    def _oversized(self, beginning: bytes) -> None:
        found = _ID.search(beginning[:1000])
        waiting = self._pending.pop(int(found[1]), None) if found else None
        if waiting is None:
            self._note_junk("a line without end", beginning)
            return
        most = f"{MOST_LINE_BYTES >> 20} MiB"
        waiting.settle(ServerProtocolError(self._name, f"an answer larger than {most}"))

    def _note_junk(self, what: str, line: bytes) -> None:
        self._junk_lines += 1
        if self._junk_lines <= _NOTED_JUNK:
            self._junk(f"{what}: {line[:200].decode(errors='replace')}")

    def _message(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            self._response(message)
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            self._note_junk("a method that is no text", b"")
        elif "id" in message:
            self._asked(message["id"], method, params)
        elif method == "notifications/progress":
            self._progress(params)
        else:
            self._notified(method, params)

    def _response(self, message: dict[str, Any]) -> None:
        number = message.get("id")
        if isinstance(number, str) and number.isdecimal() and len(number) < _LONGEST_ID:
            number = int(number)  # some servers give every id back as text
        if isinstance(number, bool) or not isinstance(number, int):
            self._note_junk("an answer to no request", b"")
            return
        waiting = self._pending.pop(number, None)
        if waiting is None:
            return  # late after a timeout, answered twice, or made up
        if "error" in message:
            waiting.settle(_refused(self._name, message["error"]))
        elif isinstance(message.get("result"), dict):
            waiting.settle(message["result"])
        else:
            waiting.settle(ServerProtocolError(self._name, "an answer without a result"))

    def _progress(self, params: dict[str, Any]) -> None:
        token, message = params.get("progressToken"), params.get("message")
        done, total = _finite(params.get("progress")), _finite(params.get("total"))
        waiting = self._pending.get(token) if isinstance(token, int) else None
        if waiting is None or waiting.on_progress is None or done is None:
            return
        waiting.on_progress(Progress(done, total, message if isinstance(message, str) else None))

    def _asked(self, number: Any, method: str, params: dict[str, Any]) -> None:
        """Answer a request of the other side, whatever its id looks like to us."""
        if isinstance(number, bool) or not isinstance(number, int | str):
            self._note_junk("a request whose id is none", b"")
        elif method == "ping":
            self._reply(number, {"result": {}})
        elif self._answering >= MOST_ANSWERING:
            self._reply(number, _error(TOO_MANY, "too many requests at once"))
        else:
            self._answering += 1
            self._tasks.start_soon(self._answer_one, number, method, params)

    async def _answer_one(self, number: Any, method: str, params: dict[str, Any]) -> None:
        try:
            reply: dict[str, Any] = {"result": await self._answer(method, params)}
        except Refusal as refusal:
            reply = _error(refusal.rpc_code, str(refusal))
        except Exception as error:  # noqa: BLE001 - a port of ours failed: the server hears no more
            reply = _error(INTERNAL_ERROR, type(error).__name__)
        finally:
            self._answering -= 1
        self._reply(number, reply)

    def _reply(self, number: Any, reply: Mapping[str, Any]) -> None:
        with contextlib.suppress(BackendError, ValueError, RecursionError):
            self._queue({"jsonrpc": "2.0", "id": number, **reply})


_LONGEST_ID = 16


def _finite(value: Any) -> float | None:
    """Give a number that others can count with; JSON's may be infinite, or too long for them."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def _error(code: int, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


def _refused(name: str, error: Any) -> BackendError:
    if not isinstance(error, dict):
        return ServerProtocolError(name, "an error that is no object")
    code, message = error.get("code"), error.get("message")
    return ServerRefusedError(
        name,
        code if isinstance(code, int) else INTERNAL_ERROR,
        message if isinstance(message, str) else "",
        error.get("data"),
    )
