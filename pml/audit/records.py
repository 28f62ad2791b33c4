"""The form of a line and of the chain. Pure: bytes in, bytes out.

    {"n":7,"at":"...","event":"call_executing","facts":{...},"prev":"<hash of 6>","hash":"..."}

The hash is blake3, keyed, over the line without it. Lines are ASCII: nothing in them can steer the
terminal they are shown on.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import blake3

MOST_LINE_BYTES = 64 << 10
"""Facts are short; what is longer loses its long parts, by name."""

_MOST_FACT_CHARACTERS = 1000  # of one fact, in a line that is too long
_MOST_FACTS = 30  # in such a line

_HASH = 64  # characters of a hash
_SEAL = len(',"hash":""}') + _HASH
_COMPLETE = re.compile(rb',"hash":"[0-9a-f]{64}"\}\Z')
_NUMBER = re.compile(rb'\{"n":([0-9]{1,18}),')

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=str).encode


class Link(NamedTuple):
    """A place in the chain: a line's number and hash."""

    number: int
    hash: str


START = Link(0, "0" * _HASH)
"""Before the first line."""


def facts_text(facts: Mapping[str, Any]) -> str:
    """Give facts as JSON of bounded length, whatever they are."""
    text = _text(facts)
    return text if text and len(text) <= MOST_LINE_BYTES // 2 else _shortened(facts)


def _text(value: object) -> str | None:
    try:
        return _encode(value)
    except (ValueError, TypeError, RecursionError):
        return None


def _shortened(facts: Mapping[str, Any]) -> str:
    """Keep the facts that are short and have a JSON form; name the others."""
    texts = {str(name)[:100]: _text(value) or "" for name, value in facts.items()}
    short = [name for name, text in texts.items() if 0 < len(text) <= _MOST_FACT_CHARACTERS]
    kept = short[:_MOST_FACTS]
    left_out = [name for name in texts if name not in kept]
    body = "".join(f"{_encode(name)}:{texts[name]}," for name in kept)
    return f'{{{body}"leftOut":{_encode(left_out[:_MOST_FACTS])}}}'


def sealed(key: bytes, last: Link, at: str, event: str, facts: str) -> tuple[bytes, Link]:
    """Give the line that follows `last`, with its line break, and its place in the chain."""
    number = last.number + 1
    body = (
        f'{{"n":{number},"at":"{at}","event":{_encode(event)},"facts":{facts},"prev":"{last.hash}"'
    ).encode()
    digest = blake3.blake3(body, key=key).hexdigest()
    return b'%b,"hash":"%b"}\n' % (body, digest.encode()), Link(number, digest)


def opened(key: bytes, line: bytes) -> tuple[Link, str] | None:
    """Give a line's place and the hash that it says comes before; None if it is not authentic."""
    body, seal = line[:-_SEAL], line[-_SEAL:]
    digest = blake3.blake3(body, key=key).hexdigest()
    number = _NUMBER.match(body)
    if number is None or seal != b',"hash":"%b"}' % digest.encode():
        return None
    return Link(int(number[1]), digest), body[-_HASH - 1 : -1].decode()


def is_cut(rest: bytes, last: Link) -> bool:
    """Tell whether these bytes after a line can be the beginning of the next, cut once or more.

    A crash or a full disk leaves such; anything else was written by somebody.
    """
    start = b'{"n":%d,"at":"' % (last.number + 1)
    return all(
        start.startswith(piece[: len(start)]) and not _COMPLETE.search(piece)
        for piece in rest.split(b"\n")
    )
