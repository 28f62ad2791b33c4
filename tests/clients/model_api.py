"""A stand-in for the Messages API that Claude Code speaks: real HTTP on loopback, event streams.

A test gives the turns: call this tool, say this. Which turn it is follows from how many the model
has taken, so a repeated request gets the same answer. Every request is kept: what the model saw is
what a test looks at. Requests without tools (titles, summaries) are not turns.
"""

import dataclasses
import http.server
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any


@dataclasses.dataclass(frozen=True)
class Use:
    """The model calls a tool, by the name that the client gave it."""

    name: str
    input: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Say:
    """The model says its last words."""

    text: str


@dataclasses.dataclass(frozen=True)
class ToolResult:
    """What the model was told of a call."""

    text: str
    is_error: bool

    def json(self) -> Any:
        """Read the text as JSON."""
        return json.loads(self.text)


class Request:
    """One request to the model."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body

    @property
    def tools(self) -> dict[str, dict[str, Any]]:
        """The tools offered to the model, by name."""
        return {tool["name"]: tool for tool in self.body.get("tools", [])}

    @property
    def system(self) -> str:
        """The system prompt."""
        return _text(self.body.get("system", ""))

    @property
    def words(self) -> str:
        """Everything that was said to the model outside of tool results."""
        return "\n".join(_text(one["content"]) for one in self.body["messages"])

    @property
    def results(self) -> list[ToolResult]:
        """What the model was told of its calls so far, in order."""
        return [
            ToolResult(_bare(_text(part.get("content", ""))), bool(part.get("is_error")))
            for message in self.body["messages"]
            if isinstance(message["content"], list)
            for part in message["content"]
            if part["type"] == "tool_result"
        ]

    @property
    def taken(self) -> int:
        """How many turns the model has taken."""
        return sum(message["role"] == "assistant" for message in self.body["messages"])


Turn = Use | Say | Callable[[Request], Use | Say]


class ModelApi:
    """A running stand-in: where it is, and what it was asked."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = tuple(turns)
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self.url = ""

    @property
    def turns(self) -> list[Request]:
        """The requests that the turns answered, in order."""
        with self._lock:
            return [one for one in self._requests if one.tools]

    @property
    def last(self) -> Request:
        """The last of them: it has all results."""
        return self.turns[-1]

    def answer(self, request: Request) -> Use | Say:
        """Keep a request; give the turn."""
        with self._lock:
            self._requests.append(request)
        if not request.tools:
            return Say("ok")
        if request.taken >= len(self._turns):
            return Say("there are no more turns")
        turn = self._turns[request.taken]
        return turn if isinstance(turn, Use | Say) else turn(request)


@contextmanager
def model_api(*turns: Turn) -> Iterator[ModelApi]:
    """Serve these turns while the block runs."""
    api = ModelApi(turns)
    server = _Server(api)
    api.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(http.server.ThreadingHTTPServer):
    def __init__(self, api: ModelApi) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.api = api


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_HEAD(self) -> None:
        self._send(200, "application/json", b"")

    def do_GET(self) -> None:
        self._send(404, "application/json", b'{"type": "error"}')

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path = self.path.partition("?")[0]
        if path == "/v1/messages/count_tokens":
            self._json({"input_tokens": 10})
        elif path == "/v1/messages":
            self._turn(Request(body))
        else:
            self.do_GET()

    def _turn(self, request: Request) -> None:
        turn = self.server.api.answer(request)
        message = _message(turn, request.body["model"], request.taken)
        if request.body.get("stream"):
            stream = "".join(
                f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                for event in _events(message)
            )
            self._send(200, "text/event-stream", stream.encode())
        else:
            self._json(message)

    def _json(self, value: Any) -> None:
        self._send(200, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _message(turn: Use | Say, model: str, number: int) -> dict[str, Any]:
    if isinstance(turn, Use):
        block = {"type": "tool_use", "id": f"toolu_{number:04}", "name": turn.name}
        content, reason = {**block, "input": turn.input}, "tool_use"
    else:
        content, reason = {"type": "text", "text": turn.text}, "end_turn"
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [content],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 10},
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    [block] = message["content"]
    if block["type"] == "tool_use":
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        start = {**block, "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": message["usage"]}
    yield {"type": "message_stop"}


def _bare(text: str) -> str:
    """Without the words that the client adds to a result on its own."""
    return text.partition("\n\n<system-reminder>")[0]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")
