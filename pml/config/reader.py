"""Reads JSON and remembers where each key and value stands.

The standard library's decoder reads the strings, numbers and words; this file reads the objects
and lists around them, because no kept library gives positions, keeps to plain JSON and tells
duplicate keys. Stricter than `json.loads`: no duplicate keys, no NaN, nothing infinite, no half
characters, bounded depth. What is wrong with one value does not end the reading. Files of editors
may hold comments and a comma after the last entry: `relaxed` reads those too.
"""

import bisect
import dataclasses
import json
import math
import re
from pathlib import Path
from typing import Any

from pml.config.errors import (
    ConfigError,
    ConfigSyntaxError,
    DuplicateKeyError,
    TooDeepError,
    UnusableJsonError,
)
from pml.config.spots import JsonPath, Spot

MOST_DEPTH = 50
"""A configuration nests five or six deep; Python's own stack ends far below this file's size."""

MOST_ERRORS = 100
"""Of one kind: whoever has more mends these first, and a hostile file costs no more."""

_MOST_DIGITS = 100  # Python itself refuses 4300, with an error that has no place
_SPACE = re.compile(r"[ \t\n\r]*")
# it never goes back: the text may be long
_SPACE_AND_COMMENTS = re.compile(r"(?:[ \t\n\r]++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/)*+")
_CAPITAL = re.compile("[A-Z]")
_HALF_CHARACTER = re.compile(r"[\ud800-\udfff]")
_UNUSABLE = object()  # stands for a number that was read and cannot be used

_EMPTY = "is empty"
_MORE = "nothing may follow the end of the document"
_NO_KEY = "a key in double quotes is needed here"
_NO_COLON = "`:` is needed after a key"
_NO_COMMA = {"}": "`,` or `}` is needed here", "]": "`,` or `]` is needed here"}
_HINTS = {
    "/": "JSON has no comments",
    "#": "JSON has no comments",
    "'": "strings stand in double quotes",
    "}": "no comma after the last entry",
    "]": "no comma after the last entry",
}
_WORDS = {
    "Expecting value": "a value is needed here",
    "Unterminated string": "this string has no end",
    "Invalid control character": "a line break or control character in a string",
    "Invalid \\escape": "a backslash that escapes nothing",
    "Invalid \\u": "`\\u` needs four hexadecimal digits",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Node:
    """A value, where it begins, and what is in it."""

    start: int
    value: Any
    members: "dict[str, tuple[int, Node]]" = dataclasses.field(default_factory=dict)
    """Of an object: where each key begins, and its value."""

    items: "list[Node]" = dataclasses.field(default_factory=list)
    end: int = -1
    """Where it has ended: the first character after it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """What was read, with the errors found on the way."""

    lines: "Lines"
    root: Node | None
    """None if reading had to stop."""

    errors: tuple[ConfigError, ...]

    def spot(self, path: JsonPath, *, of_key: bool = False) -> Spot:
        """Give the place of a value or its key; of what is not there, of what should hold it."""
        node = self.root
        start = node.start if node else 0
        for step in path:
            found = _child(node, step)
            if found is None:
                break
            key_start, node = found
            start = key_start if of_key else node.start
        return self.lines.spot(start, path)

    def written(self, path: JsonPath) -> JsonPath:
        """Give a path with its camelCase keys as the file spells them."""
        node, steps = self.root, []
        for step in path:
            spelled = _spelled(node, step)
            steps.append(spelled)
            found = _child(node, spelled)
            node = found[1] if found else None
        return tuple(steps)

    def node(self, path: JsonPath) -> Node | None:
        """Give what is at a path."""
        node = self.root
        for step in path:
            found = _child(node, step)
            if found is None:
                return None
            node = found[1]
        return node


class Lines:
    """Turns positions in a text into lines and columns."""

    def __init__(self, text: str, file: Path) -> None:
        """Find where the lines begin."""
        self._file = file
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def spot(self, start: int, path: JsonPath = ()) -> Spot:
        """Give the place of the character at `start`."""
        line = bisect.bisect_right(self._starts, start)
        return Spot(self._file, line, start - self._starts[line - 1] + 1, path)


def read_json(text: str, file: Path, *, relaxed: bool = False) -> Document:
    """Read a whole text; what is wrong is in the document, nothing is raised."""
    reader = _Reader(text, file, relaxed=relaxed)
    root: Node | None = None
    try:
        root = reader.document()
    except ConfigSyntaxError as error:
        reader.errors.append(error)
    return Document(reader.lines, root, tuple(reader.errors))


class _Reader:
    def __init__(self, text: str, file: Path, *, relaxed: bool) -> None:
        self._text = text
        self._relaxed = relaxed
        self._space = _SPACE_AND_COMMENTS if relaxed else _SPACE
        self.lines = Lines(text, file)
        self.errors: list[ConfigError] = []
        self._decoder = json.JSONDecoder(
            parse_constant=lambda _: _UNUSABLE, parse_int=_integer, parse_float=_real
        )

    def document(self) -> Node:
        start = self._skip(0)
        if start == len(self._text):
            raise ConfigSyntaxError(_EMPTY, self.lines.spot(start), hint="write at least {}")
        node, end = self._value(start, (), 0)
        end = self._skip(end)
        if end < len(self._text):
            raise self._syntax(_MORE, end, ())
        return node

    def _value(self, start: int, path: JsonPath, depth: int) -> tuple[Node, int]:
        opening = self._text[start : start + 1]
        if opening not in ("{", "["):
            return self._scalar(start, path)
        if depth == MOST_DEPTH:
            raise TooDeepError(self.lines.spot(start, path), MOST_DEPTH)
        read = self._object if opening == "{" else self._list
        return read(start, path, depth + 1)

    def _scalar(self, start: int, path: JsonPath) -> tuple[Node, int]:
        try:
            value, end = self._decoder.raw_decode(self._text, start)
        except json.JSONDecodeError as error:
            fact = next(
                (ours for words, ours in _WORDS.items() if error.msg.startswith(words)), ""
            )
            raise self._syntax(fact or "no JSON", error.pos, path) from None
        if value is _UNUSABLE:
            self._unusable("not a number that can be used", start, path)
        elif isinstance(value, str) and _HALF_CHARACTER.search(value):
            self._unusable("half of a surrogate pair, which is no character", start, path)
        return Node(start, value, end=end), end

    def _list(self, start: int, path: JsonPath, depth: int) -> tuple[Node, int]:
        node = Node(start, [])
        at = self._skip(start + 1)
        while self._text[at : at + 1] != "]" or (node.items and not self._relaxed):
            item, at = self._value(at, (*path, len(node.items)), depth)
            node.items.append(item)
            node.value.append(item.value)
            at = self._skip(at)
            if self._text[at : at + 1] == "]":
                break
            at = self._comma(at, "]", path)
        return dataclasses.replace(node, end=at + 1), at + 1

    def _object(self, start: int, path: JsonPath, depth: int) -> tuple[Node, int]:
        node = Node(start, {})
        at = self._skip(start + 1)
        while self._text[at : at + 1] != "}" or (node.members and not self._relaxed):
            at = self._member(node, at, path, depth)
            if self._text[at : at + 1] == "}":
                break
            at = self._comma(at, "}", path)
        return dataclasses.replace(node, end=at + 1), at + 1

    def _member(self, node: Node, key_start: int, path: JsonPath, depth: int) -> int:
        """Read `"key": value`; give where the next sign is."""
        if self._text[key_start : key_start + 1] != '"':
            raise self._syntax(_NO_KEY, key_start, path)
        key_node, at = self._scalar(key_start, path)
        key, path = key_node.value, (*path, key_node.value)
        at = self._skip(at)
        if self._text[at : at + 1] != ":":
            raise self._syntax(_NO_COLON, at, path)
        value, at = self._value(self._skip(at + 1), path, depth)
        if key in node.members:
            first = self.lines.spot(node.members[key][0]).line or 1
            self._note(DuplicateKeyError(self.lines.spot(key_start, path), first))
        else:
            node.members[key] = (key_start, value)
            node.value[key] = value.value
        return self._skip(at)

    def _comma(self, at: int, closing: str, path: JsonPath) -> int:
        if self._text[at : at + 1] != ",":
            raise self._syntax(_NO_COMMA[closing], at, path)
        return self._skip(at + 1)

    def _skip(self, at: int) -> int:
        match = self._space.match(self._text, at)
        return match.end() if match else at

    def _syntax(self, fact: str, at: int, path: JsonPath) -> ConfigSyntaxError:
        if at >= len(self._text):
            fact = f"{fact}, but the file ends"
        hint = _HINTS.get(self._text[at : at + 1])
        return ConfigSyntaxError(fact, self.lines.spot(at, path), hint=hint)

    def _unusable(self, fact: str, start: int, path: JsonPath) -> None:
        self._note(UnusableJsonError(fact, self.lines.spot(start, path)))

    def _note(self, error: ConfigError) -> None:
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(error)


def _child(node: Node | None, step: str | int) -> tuple[int, Node] | None:
    if node is None:
        return None
    if isinstance(step, str):
        return node.members.get(step)
    if 0 <= step < len(node.items):
        return node.items[step].start, node.items[step]
    return None


def _spelled(node: Node | None, step: str | int) -> str | int:
    if node is None or isinstance(step, int) or step in node.members:
        return step
    snake = _CAPITAL.sub(lambda match: f"_{match[0].lower()}", step)
    return snake if snake in node.members else step


def _integer(text: str) -> object:
    return int(text) if len(text) <= _MOST_DIGITS else _UNUSABLE


def _real(text: str) -> object:
    number = float(text)
    return number if math.isfinite(number) else _UNUSABLE
