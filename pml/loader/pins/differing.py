"""Two definitions of a tool, compared for people: what was, what is, path by path. Pure.

Both are a stranger's words. Lines are bounded in number and length and say what they leave out;
whoever shows them escapes them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

MOST_CHARACTERS = 6_000
"""Of all lines together: what a human reads in a dialog."""

_SIDE_CHARACTERS = 1_500  # of one value
_PATH_CHARACTERS = 120
_CONTEXT_CHARACTERS = 60  # of what is equal before a difference
_MOST_DEPTH = 12
_FIRST = ("description", "title", "inputSchema", "annotations", "outputSchema")
"""What a model reads or obeys comes first: nothing pushes it out of sight."""

_ABSENT = object()


class Difference(NamedTuple):
    """One value that is not what it was; `_ABSENT` where there is none."""

    path: tuple[str, ...]
    old: Any
    new: Any


def difference_lines(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Give lines for people: all differences, as far as they find room."""
    found = list(_walk((), old, new))
    lines: list[str] = []
    room = MOST_CHARACTERS
    for position, difference in enumerate(found):
        told = list(_lines(difference))
        room -= sum(map(len, told))
        if room < 0 and position:
            return [*lines, f"and {len(found) - position} more that find no room here"]
        lines += told
    return lines


def changed_parts(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Name what of a definition changed in words of the protocol; the rest is `other`."""
    names = [name for name in _FIRST if old.get(name, _ABSENT) != new.get(name, _ABSENT)]
    rest = {*old, *new}.difference(_FIRST)
    is_other = any(old.get(name, _ABSENT) != new.get(name, _ABSENT) for name in rest)
    return names + ["other"] * is_other


def _walk(path: tuple[str, ...], old: Any, new: Any) -> Iterator[Difference]:
    if isinstance(old, Mapping) and isinstance(new, Mapping) and len(path) < _MOST_DEPTH:
        for key in _ordered(path, old, new):
            yield from _walk((*path, key), old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif _text(old) != _text(new):
        yield Difference(path, old, new)


def _ordered(path: Sequence[str], old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    keys = sorted({*old, *new})
    if path:
        return keys
    return [*(key for key in _FIRST if key in keys), *(key for key in keys if key not in _FIRST)]


def _lines(difference: Difference) -> Iterator[str]:
    old, new = _text(difference.old), _text(difference.new)
    start = max(0, _equal(old, new) - _CONTEXT_CHARACTERS)
    yield _cut(".".join(difference.path), 0, _PATH_CHARACTERS)
    if difference.old is not _ABSENT:
        yield f"  was  {_cut(old, start, _SIDE_CHARACTERS)}"
    gone = difference.new is _ABSENT
    yield "  now  nothing" if gone else f"  now  {_cut(new, start, _SIDE_CHARACTERS)}"


def _equal(old: str, new: str) -> int:
    """Count how many characters are equal, from the start."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (was, now) in pairs if was != now), min(len(old), len(new)))


def _text(value: Any) -> str:
    """Give a value as text; a string is told from what looks like it by its quotes."""
    if value is _ABSENT:
        return ""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _cut(text: str, start: int, most: int) -> str:
    more = len(text) - start - most
    before = f"… ({start} equal characters) " if start else ""
    after = f"… ({more} more characters)" if more > 0 else ""
    return f"{before}{text[start : start + most]}{after}"
