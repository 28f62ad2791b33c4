"""One session with a server: JSON-RPC requests over HTTP exchanges, in either protocol era.

A request is a POST whose answer is its body or comes on its event stream, and is accepted nowhere
else: a server cannot answer one call in the stream of another. Requests run in the task of whoever
asks; leaving it (a timeout, a cancellation) cancels the request at the server. In the 2025 era
that takes a notification, sent by a task of the session; in the stateless era, closing the stream
is it. A stream that ends early is taken up again where the server marked it (`Last-Event-ID`).
"""

import contextlib
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
import anyio.abc

from pml.backends.errors import BackendError, ServerProtocolError
from pml.backends.http.headers import Headers, encoded
from pml.backends.http.hearing import Hearing
from pml.backends.http.judging import EVENT_STREAM, JSON, judge
from pml.backends.http.messages import Answer, Message, answer_in, read, written
from pml.backends.http.wire import ConnectionBrokenError, ExchangeError, Reply, Wire
from pml.model import Listing
from pml.ports import OnProgress

STATELESS_VERSION = "2026-07-28"
CANCEL_SECONDS = 2.0
"""For telling a server that a call was cancelled, and for saying goodbye."""

LINGER_SECONDS = 0.02
"""For a stream to end after its answer, as it should: a new TLS connection would cost more."""

MOST_RESUMPTIONS = 5
"""Of one stream in a row without anything new on it."""

LEAST_RETRY_MS, MOST_RETRY_MS = 100, 30_000
"""Between which bounds a server may say how soon its stream is taken up again."""

_BAD_REQUEST = 400
_VISIBLE = re.compile(r"[!-~]{1,1024}")
_META = "io.modelcontextprotocol/"


class Place:
    """How far a stream was read, and when to take it up again."""

    def __init__(self) -> None:
        """Begin where nothing can be taken up."""
        self.last_id = ""
        self.retry_seconds = 1.0

    def reached(self, event_id: str, retry_ms: int | None) -> None:
        """Note what an event says about it."""
        if _VISIBLE.fullmatch(event_id):
            self.last_id = event_id
        if retry_ms is not None:
            self.retry_seconds = min(max(retry_ms, LEAST_RETRY_MS), MOST_RETRY_MS) / 1000


class Session:
    """A conversation with one server, from `initialize` or `server/discover` to its end."""

    def __init__(
        self, wire: Wire, hearing: Hearing, tasks: anyio.abc.TaskGroup, client: Mapping[str, str]
    ) -> None:
        """Start unopened; see `opening.py`. `client` is what we are called."""
        self.wire = wire
        self.hearing = hearing
        self.client = client
        self.server = wire.server
        self.version: str | None = None
        self.stateless = False
        self.session_id = ""
        self.capabilities: Mapping[str, Any] = {}
        self.listing: Listing | None = None
        self.listing_lock = anyio.Lock()
        self.listed_changes = -1
        """`hearing.changes` when the listing was asked for."""

        self.doubtful = False
        """The server refused a request without saying which: perhaps it forgot the session."""

        self.ended = anyio.Event()
        self.end_reason = ""
        self._tasks = tasks
        self._last_id = 0
        self._under_way: set[anyio.CancelScope] = set()
        self._last_left = anyio.Event()

    def retire(self, reason: str) -> None:
        """Take no more requests; its owner closes it when those under way have ended."""
        if not self.ended.is_set():
            self.end_reason = reason
            self.ended.set()

    def end(self, reason: str) -> None:
        """Retire it and break off the requests under way."""
        self.retire(reason)
        for scope in self._under_way:
            scope.cancel()

    async def drained(self) -> None:
        """Wait until it is retired and no request is under way."""
        await self.ended.wait()
        if self._under_way:
            await self._last_left.wait()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        on_progress: OnProgress | None = None,
        headers: Headers = (),
    ) -> Answer:
        """Ask and wait for the answer, without a bound on time.

        Raises `BackendError` for what the server did, `ExchangeError` for what the connection did,
        `SessionLostError` if nobody looked at it.
        """
        request_id = self.take_id()
        message = self.message(method, params, request_id, token=on_progress is not None)
        with self.hearing.progress(request_id, on_progress), anyio.CancelScope() as scope:
            self._under_way.add(scope)
            try:
                if not self.ended.is_set():
                    return await self._conversed(message, headers)
            except anyio.get_cancelled_exc_class():
                self._abandon(message)
                raise
            finally:
                self._under_way.discard(scope)
                if self.ended.is_set() and not self._under_way:
                    self._last_left.set()
        raise ExchangeError(self.end_reason)

    async def post(self, message: Mapping[str, Any]) -> None:
        """Send what has no answer."""
        head = self.headers(str(message.get("method", "")))
        async with self.wire.exchange("POST", head, written(message)) as reply:
            await self.judge(reply)

    async def close(self) -> None:
        """Say goodbye, if the server keeps a session, and close the connections."""
        with anyio.move_on_after(CANCEL_SECONDS, shield=True):
            with contextlib.suppress(ExchangeError, BackendError):
                if self.session_id and self.version is not None:
                    async with self.wire.exchange("DELETE", self.headers("")):
                        pass
        with anyio.CancelScope(shield=True):
            await self.wire.aclose()

    def take_id(self) -> int:
        """Give an id that no other request of this session has."""
        self._last_id += 1
        return self._last_id

    def message(
        self, method: str, params: Mapping[str, Any], request_id: int, *, token: bool = False
    ) -> Message:
        """Build a request, in the stateless era with its envelope."""
        meta: dict[str, Any] = {"progressToken": request_id} if token else {}
        if self.stateless:
            meta |= {
                f"{_META}protocolVersion": STATELESS_VERSION,
                f"{_META}clientInfo": dict(self.client),
                f"{_META}clientCapabilities": self.hearing.answering.capabilities,
            }
            if self.hearing.wants_logs:
                meta[f"{_META}logLevel"] = "info"
        full = {**params, "_meta": meta} if meta else dict(params)
        return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": full}

    def headers(self, method: str, name: str = "", *, accept: str = "") -> Headers:
        """Give the protocol's own headers of a request."""
        headers = [("Accept", accept or f"{JSON}, {EVENT_STREAM}"), ("Content-Type", JSON)]
        if self.version is not None:
            headers.append(("MCP-Protocol-Version", self.version))
        if self.session_id:
            headers.append(("MCP-Session-Id", self.session_id))
        if self.stateless and method:
            headers.append(("Mcp-Method", method))
        if self.stateless and name:
            headers.append(("Mcp-Name", encoded(name)))
        return tuple(headers)

    async def judge(self, reply: Reply) -> None:
        """Raise what an HTTP error means."""
        self.doubtful = bool(self.session_id) and reply.status == _BAD_REQUEST
        await judge(reply, self.wire, in_session=bool(self.session_id))

    async def followed(self, reply: Reply, request_id: int, place: Place) -> Answer | None:
        """Read an event stream up to the answer; None if it ends before and can be taken up."""
        try:
            async with contextlib.aclosing(reply.events()) as events:
                async for event in events:
                    place.reached(event.id, event.retry_ms)
                    if event.kind != "message" or not event.data:
                        continue
                    for message in read(self.server, event.data):
                        answer = answer_in(self.server, message, request_id, len(event.data))
                        if answer is not None:
                            await _read_on(events)
                            return answer
                        self.hearing.heard(message, self.post)
        except ConnectionBrokenError:
            if self.stateless or not place.last_id:
                raise
        return None

    async def _conversed(self, message: Message, headers: Headers) -> Answer:
        params, place = message["params"], Place()
        name = params["name"] if message["method"] == "tools/call" else ""
        head = (*self.headers(message["method"], name), *headers)
        async with self.wire.exchange("POST", head, written(message)) as reply:
            await self.judge(reply)
            if message["method"] == "initialize":
                self.session_id = self._offered_id(reply)
            if reply.media_type == JSON:
                return self._only(await reply.body(), message["id"])
            if reply.media_type != EVENT_STREAM:
                raise ServerProtocolError(self.server, "its answer is neither JSON nor events")
            answer = await self.followed(reply, message["id"], place)
        return answer or await self._resumed(message["id"], place)

    async def _resumed(self, request_id: int, place: Place) -> Answer:
        attempts = 0
        while place.last_id and not self.stateless and attempts < MOST_RESUMPTIONS:
            before = place.last_id
            await anyio.sleep(place.retry_seconds)
            head = (*self.headers("", accept=EVENT_STREAM), ("Last-Event-ID", place.last_id))
            async with self.wire.exchange("GET", head) as reply:
                await self.judge(reply)
                answer = await self.followed(reply, request_id, place)
            if answer is not None:
                return answer
            attempts = attempts + 1 if place.last_id == before else 0
        raise ExchangeError("its stream ended without the answer")  # noqa: TRY003 - the only one

    def _only(self, body: bytes, request_id: int) -> Answer:
        for message in read(self.server, body):
            answer = answer_in(self.server, message, request_id, len(body))
            if answer is not None:
                return answer
            self.hearing.heard(message, self.post)
        raise ServerProtocolError(self.server, "its answer is to another request")

    def _abandon(self, message: Message) -> None:
        """Cancel a request at the server, in the background, if that takes a message."""
        if self.stateless or message["method"] == "initialize" or self.ended.is_set():
            return
        self._tasks.start_soon(self._cancelled, message["id"])

    async def _cancelled(self, request_id: int) -> None:
        params = {"requestId": request_id, "reason": "the caller no longer waits"}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        with contextlib.suppress(ExchangeError, BackendError):
            with anyio.move_on_after(CANCEL_SECONDS):
                await self.post(message)

    def _offered_id(self, reply: Reply) -> str:
        offered = reply.header("mcp-session-id")
        if offered and not _VISIBLE.fullmatch(offered):
            raise ServerProtocolError(self.server, "its session id is not visible ASCII")
        return offered


async def _read_on(events: AsyncIterator[object]) -> None:
    """Let the stream end, so that its connection serves the next call too."""
    with anyio.move_on_after(LINGER_SECONDS), contextlib.suppress(ExchangeError, BackendError):
        async for _ in events:
            pass
