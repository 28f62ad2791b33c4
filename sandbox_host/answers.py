"""JSON between host and guest: a host's value becomes an answer, what a guest asks a call.

Pure. Nothing a guest or a host function says makes these functions raise anything but what they
name; a value that cannot cross becomes a rejected call.
"""

import json
import math
import re
from typing import Any

from sandbox_host.errors import InvalidArguments, ToolError
from sandbox_host.guests.guest import Answer, Asked
from sandbox_host.outcome import Call

DEEPEST = 200
"""Nesting that a value of a guest may have. More is no data anyone reads, and Python's own limit
depends on how deep the caller stands."""

MOST_CONTAINERS = 100_000
"""Arrays and objects in one value of a guest: reading them holds the interpreter's lock."""

LARGE_BYTES = 64 << 10
"""JSON of this size takes about a millisecond to read: larger ones are read on another thread."""

_MESSAGE_CHARACTERS = 8000  # of an error message that goes into the guest
_CODE_CHARACTERS = 200
_dump = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_dump_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
# digits become 0, an exponent's letter e; the rest of the alphabet stays as it is
_SHAPES = bytes.maketrans(b"123456789E", b"000000000e")
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))


def _refuse(name: str) -> Any:
    """Refuse NaN and Infinity: Python would read them, but they are no JSON."""
    raise ValueError(name)


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


_load = json.JSONDecoder(parse_constant=_refuse).decode
load_finite = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite).decode
"""Reads JSON; `ValueError` for what is none, and for numbers that are not finite."""


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


def resolved(asked: Asked | Call, value: Any, limit_bytes: int) -> Answer:
    """Answer a call with a value, or reject it if the value cannot cross."""
    try:
        text = to_json(value)
    except ValueError as error:
        problem = ToolError(f"the answer is not JSON: {error}", code="answer_not_json")
        return rejected(asked, problem, limit_bytes)
    if len(text) > limit_bytes:
        problem = ToolError(f"the answer is larger than {limit_bytes} bytes", code="input_limit")
        return rejected(asked, problem, limit_bytes)
    return Answer(asked.id, ok=True, json=text)


def rejected(asked: Asked | Call, error: BaseException, limit_bytes: int) -> Answer:
    """Reject a call with what the host function raised."""
    facts: dict[str, Any] = {
        "message": _text(error, type(error).__name__)[:_MESSAGE_CHARACTERS],
        "code": "host_error",
        "tool": asked.tool,
    }
    if isinstance(error, ToolError):
        facts["code"] = _text(error.code, "tool_error")[:_CODE_CHARACTERS]
        facts |= {"data": error.data} if error.data is not None else {}
    try:
        text = to_json(facts)
    except ValueError:
        text = b""
    if not text or len(text) > limit_bytes:
        facts.pop("data", None)
        text = to_json(facts)
    return Answer(asked.id, ok=False, json=text)


def _text(value: object, instead: str) -> str:
    """Give a value's text; an embedder's `__str__` may fail."""
    try:
        return str(value) or instead
    except Exception:  # noqa: BLE001
        return instead


def call_of(asked: Asked) -> Call:
    """Read a call; `ToolError` if its arguments cannot be a Python value."""
    try:
        args = _read(asked.args)
    except ValueError as error:
        raise ToolError(
            f"the arguments cannot be read: {error}", code="invalid_arguments"
        ) from None
    if not isinstance(args, dict):
        raise ToolError("the arguments are not an object", code="invalid_arguments")
    return Call(asked.id, asked.tool, args, asked.line or None, asked.column or None)


def value_of(text: bytes) -> Any:
    """Read the program's value; `ValueError` names what is wrong with it."""
    return _read(text)


def _read(text: bytes) -> Any:
    """Read JSON that a guest wrote: finite numbers, text that is text, no endless nesting."""
    if (
        text.count(b"[") + text.count(b"{") > MOST_CONTAINERS
        and _containers(text) > MOST_CONTAINERS
    ):
        raise ValueError(f"it has more than {MOST_CONTAINERS} arrays and objects")
    try:
        value = (load_finite if _may_overflow(text) else _load)(text.decode())
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if _may_be_deep(text) and is_deep(value):
        raise ValueError(_TOO_DEEP)
    if (b"\\ud" in text or b"\\uD" in text) and not _well_formed(value):
        raise ValueError("it contains a lone surrogate, which is no text")
    return value


_TOO_DEEP = f"it is nested more than {DEEPEST} levels deep"


def _may_overflow(text: bytes) -> bool:
    """Say whether a number in it may be infinite: an exponent of three digits, or 200 digits.

    With fewer digits an exponent of two makes no more than 1e299.
    """
    shapes = text.translate(_SHAPES)
    return b"0e000" in shapes or b"0e+000" in shapes or b"0" * 200 in shapes


def _containers(text: bytes) -> int:
    """Count the brackets that open something, not those inside strings."""
    bare = _STRING.sub(b"", text)
    return bare.count(b"[") + bare.count(b"{")


def _may_be_deep(text: bytes) -> bool:
    """Say whether brackets alone cannot rule out deep nesting; those in strings may mislead."""
    brackets = text.translate(None, _NOT_BRACKETS)
    for _ in range(DEEPEST):
        inner = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not inner:
            return False
        if len(inner) == len(brackets):
            return True
        brackets = inner
    return True


def is_deep(value: Any) -> bool:
    """Say whether it is nested more than `DEEPEST` levels deep."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEEPEST + 1):
        if not level:
            return False
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, dict | list)
        ]
    return True


def _well_formed(value: Any) -> bool:
    """Say whether every string can be encoded."""
    try:
        _dump(value).encode()
    except UnicodeEncodeError:
        return False
    return True
