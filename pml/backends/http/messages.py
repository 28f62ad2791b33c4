"""JSON-RPC messages as plain dicts: reading what a server sent, building what we send. Pure."""

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pml.backends.errors import ServerProtocolError, ServerRefusedError
from pml.model import Progress

Message = dict[str, Any]

METHOD_NOT_FOUND = -32601
HEADER_MISMATCH = -32020
_UNKNOWN_ERROR = -32603  # for an error without a code: JSON-RPC's "internal error"
_TEXT_CHARACTERS = 2_000  # of a server's words in a progress or log message


class Answer(NamedTuple):
    """The result of a request, and how many bytes it came in."""

    result: Message
    size: int


def written(message: Mapping[str, Any]) -> bytes:
    """Give a message's bytes; what has no JSON form is our own bug and raises."""
    # ASCII, because a guest's text may hold lone surrogates, which have no UTF-8.
    return json.dumps(message, separators=(",", ":"), allow_nan=False).encode()


def read(server: str, text: bytes) -> list[Message]:
    """Read a message, or a batch as the 2025-03-26 protocol had it; junk is a protocol error."""
    try:
        value = json.loads(text.decode(), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ServerProtocolError(server, "its answer is not JSON") from None
    messages = value if isinstance(value, list) else [value]
    if not all(isinstance(message, dict) for message in messages):
        raise ServerProtocolError(server, "its answer is JSON, but no message")
    return messages


def answer_in(server: str, message: Message, request_id: int, size: int) -> Answer | None:
    """Give the answer to a request, if the message is it; raises what the server refused."""
    if "method" in message:
        return None
    theirs = message.get("id")
    if "error" in message and (theirs is None or _is_id(theirs, request_id)):
        raise refusal(server, message["error"])
    if not _is_id(theirs, request_id):
        return None
    if not isinstance(message.get("result"), dict):
        raise ServerProtocolError(server, "its answer has no result")
    return Answer(message["result"], size)


def refusal(server: str, error: object) -> ServerRefusedError:
    """Turn a JSON-RPC error into ours."""
    facts = error if isinstance(error, dict) else {}
    code, words = facts.get("code"), facts.get("message")
    return ServerRefusedError(
        server,
        code if isinstance(code, int) else _UNKNOWN_ERROR,
        words if isinstance(words, str) else "it gave no reason",
        facts.get("data"),
    )


def refusal_in(server: str, text: bytes) -> ServerRefusedError | None:
    """Give the JSON-RPC error that came with an HTTP error, if one did."""
    try:
        messages = read(server, text)
    except ServerProtocolError:
        return None
    errors = [message["error"] for message in messages if isinstance(message.get("error"), dict)]
    return refusal(server, errors[0]) if errors else None


def progress_in(params: Mapping[str, Any]) -> Progress | None:
    """Read a progress notification; None if it makes no sense."""
    done, words = _number(params.get("progress")), params.get("message")
    if done is None:
        return None
    shown = words[:_TEXT_CHARACTERS] if isinstance(words, str) else None
    return Progress(done, _number(params.get("total")), shown)


def log_in(params: Mapping[str, Any]) -> tuple[str, str]:
    """Read a log notification: level and text, capped, still untrusted."""
    level, data = params.get("level"), params.get("data")
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (level[:20] if isinstance(level, str) else "info"), text[:_TEXT_CHARACTERS]


def params_of(message: Message) -> Message:
    """Give a message's parameters, or none."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def _is_id(theirs: object, ours: int) -> bool:
    return isinstance(theirs, int) and not isinstance(theirs, bool) and theirs == ours


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def _no_constant(name: str) -> None:
    raise ValueError(name)
