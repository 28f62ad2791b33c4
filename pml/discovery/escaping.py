"""Untrusted text inside TypeScript: comments that cannot be left, keys, literals. Pure.

Whatever a server wrote, the result is one line without a character that a reader would not see:
those are written as escapes. Knows characters, not schemas.
"""

import json
import re

MOST_NAME_CHARACTERS = 128
"""Of a server, tool or property; longer tool names are never listed."""

_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_MOST_NUMBER = 1e21
"""Beyond it JavaScript writes an exponent, and Python refuses to write very long integers."""

# `str.isprintable` knows control, format, private and unassigned characters. These are letters,
# marks and symbols for it, and yet show nothing: fillers, joiners and variation selectors, which
# can carry a whole hidden text.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_HIDDEN_IN_JSON = re.compile(r"[^\x20-\x7e]")


def is_visible(character: str) -> bool:
    """Say whether a reader would see a character, or a plain space."""
    return character.isprintable() and not _UNSEEN.match(character)


def line(text: str, most: int) -> str:
    """Give untrusted text as one visible line of at most `most` characters."""
    cut = text[: most * 2]  # what is not looked at costs nothing
    shown = _shown(" ".join(cut.split()))
    if len(shown) <= most and len(cut) == len(text):
        return shown
    return shown[: most - 1].rstrip() + "…"


def _shown(text: str) -> str:
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    return "".join(
        character if is_visible(character) else f"\\u{{{ord(character):x}}}" for character in text
    )


def comment(text: str, most: int) -> str:
    """Give untrusted text for the inside of a block comment."""
    return line(text, most).replace("*/", "*\\/")


def literal(value: object) -> str | None:
    """Give a scalar as a literal type, or None if it has no such form."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value) if len(value) <= MOST_NAME_CHARACTERS else None
        case int() | float() if -_MOST_NUMBER < value < _MOST_NUMBER:
            return json.dumps(value)
    return None


def quoted(text: str) -> str:
    """Give a string literal; what nobody would see is escaped in it."""
    return visible_json(json.dumps(text, ensure_ascii=False))


def visible_json(text: str, *, doubled: bool = False) -> str:
    """Escape what nobody would see in JSON.

    It keeps its meaning; doubled, the escapes are still there after JSON has been read.
    """
    slash = "\\" if doubled else ""
    return _HIDDEN_IN_JSON.sub(
        lambda found: (
            found[0] if is_visible(found[0])
            else json.dumps(found[0])[1:-1].replace("\\", f"{slash}\\")
        ),
        text,
    )  # fmt: skip


def key(name: str) -> str:
    """Give a property's name, quoted where it must be."""
    return name if _IDENTIFIER.fullmatch(name) else quoted(name)


def member(name: str) -> str:
    """Give the access to a property: `.name` or `["na-me"]`."""
    return f".{name}" if _IDENTIFIER.fullmatch(name) else f"[{quoted(name)}]"
