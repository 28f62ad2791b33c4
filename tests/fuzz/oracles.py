"""What several targets promise: whose errors come out, which text may be shown, which JSON is."""

import contextlib
import json
import math
from collections.abc import Iterator
from typing import Any

from pml.errors import PmlError
from sandbox_host.errors import SandboxError

OURS = (PmlError, SandboxError)
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@contextlib.contextmanager
def only_ours() -> Iterator[None]:
    """Let errors of our trees pass, if they can be shown; any other is a find."""
    try:
        yield
    except OURS as error:
        assert error.code, error  # noqa: PT017 - any error of ours will do
        shown(error.message)
        shown(error.hint or "")


def shown(text: str) -> None:
    """Check that a terminal obeys nothing in a text, and that it says what it seems to say."""
    strange = [c for c in text if not c.isprintable() and c not in "\n\t"]
    assert not strange, strange[:5]
    assert not _BIDI & set(text)


def plain_json(value: Any) -> None:
    """Check that a value is JSON that every reader takes, and reads as the same."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert json.loads(text) == value


def as_javascript(value: Any) -> Any:
    """Give JSON as JavaScript has it: all numbers are doubles, and none is infinite."""
    if isinstance(value, dict):
        return {name: as_javascript(one) for name, one in value.items()}
    if isinstance(value, list):
        return [as_javascript(one) for one in value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
