"""JSON between host and guest: a host's value becomes an answer, what a guest asks a call.

Pure. Nothing a guest or a host function says makes these functions raise anything but what they
name; a value that cannot cross becomes a rejected call.
"""

import json
from typing import Any

from sandbox_host.errors import InvalidArguments, ToolError
from sandbox_host.guests.guest import Answer, Asked
from sandbox_host.outcome import Call


def _refuse_constant(name: str) -> Any:
    """Refuse NaN and Infinity: Python would read them, but they are no JSON."""
    raise ValueError(name)


_MESSAGE_CHARACTERS = 8000  # of an error message that goes into the guest
_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_load = json.JSONDecoder(parse_constant=_refuse_constant).decode
_dump_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def to_json(value: Any) -> bytes:
    """Give the JSON of a host's value; `ValueError` names what is wrong with it."""
    try:
        return _dump(value).encode()
    except UnicodeEncodeError:
        return _dump_ascii(value).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply or refers to itself") from None
    except TypeError as error:
        raise ValueError(str(error)) from None


def arguments(value: Any, limit_bytes: int) -> bytes:
    """Give the JSON of a run's `args`."""
    try:
        text = to_json({} if value is None else value)
    except ValueError as error:
        raise InvalidArguments(str(error)) from None
    if len(text) > limit_bytes:
        raise InvalidArguments(f"{len(text)} bytes, more than Limits.input_bytes={limit_bytes}")
    return text


def resolved(number: int, value: Any, limit_bytes: int) -> Answer:
    """Answer a call with a value, or reject it if the value cannot cross."""
    try:
        text = to_json(value)
    except ValueError as error:
        return rejected(
            number, "", ToolError(f"the answer is not JSON: {error}", code="answer_not_json")
        )
    if len(text) > limit_bytes:
        return rejected(
            number,
            "",
            ToolError(f"the answer is larger than {limit_bytes} bytes", code="input_limit"),
        )
    return Answer(number, ok=True, json=text)


def rejected(number: int, tool: str, error: BaseException) -> Answer:
    """Reject a call with what the host function raised."""
    facts: dict[str, Any] = {
        "message": (str(error) or type(error).__name__)[:_MESSAGE_CHARACTERS],
        "code": str(error.code) if isinstance(error, ToolError) else "host_error",
        "tool": tool,
    }
    if isinstance(error, ToolError) and error.data is not None:
        facts["data"] = error.data
    try:
        return Answer(number, ok=False, json=to_json(facts))
    except ValueError:
        facts.pop("data")
        return Answer(number, ok=False, json=to_json(facts))


def call_of(asked: Asked) -> Call:
    """Read a call; `ToolError` if its arguments cannot be a Python value."""
    try:
        args = _load(asked.args.decode())
    except RecursionError:
        raise ToolError("the arguments are nested too deeply", code="invalid_arguments") from None
    except ValueError:
        raise ToolError("the arguments are not JSON", code="invalid_arguments") from None
    if not isinstance(args, dict):
        raise ToolError("the arguments are not an object", code="invalid_arguments")
    if b"\\ud" in asked.args.lower() and not _well_formed(args):
        raise ToolError("the arguments contain a lone surrogate", code="invalid_arguments")
    return Call(asked.id, asked.tool, args, asked.line or None, asked.column or None)


def value_of(text: bytes) -> Any:
    """Read the program's value; `ValueError` names what is wrong with it."""
    try:
        value = _load(text.decode())
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if b"\\ud" in text.lower() and not _well_formed(value):
        raise ValueError("it contains a lone surrogate, which is no text")
    return value


def _well_formed(value: Any) -> bool:
    """Say whether every string can be encoded."""
    try:
        _dump(value).encode()
    except UnicodeEncodeError:
        return False
    return True
