"""Adds entries to a JSON text in the text's own style; every other byte stays.

For files that people write by hand: indentation, line ends, order, comments and a comma after the
last entry are kept. Pure. Above: `editing.py`, and whoever writes the files of other programs.
"""

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pml.config.errors import WrongTypeError, as_one
from pml.config.reader import Document, Node, read_json
from pml.config.spots import JsonPath

_SPACE = re.compile(r"[ \t\n\r]*")
_COMMENT = re.compile(r"//[^\n]*|/\*(?:[^*]|\*(?!/))*+\*/")
_INDENTATION = re.compile(r"(\r?\n)?([ \t]*)[^\n]*\Z")
_UNIT = "  "  # where a file does not show how it indents


@dataclasses.dataclass(frozen=True, slots=True)
class Style:
    """How a file is written."""

    line: str
    """What begins a line at the top: a line break and the indentation; empty: all is one line."""

    colon: str
    comma: str
    """Between entries on one line."""

    @property
    def unit(self) -> str:
        """Give one step of indentation."""
        return self.line.lstrip("\r\n")


class Entry(NamedTuple):
    """One entry of an object or list: from its key or value to its value's end."""

    start: int
    end: int


def parsed(text: str, file: Path, *, relaxed: bool = False) -> Document:
    """Read a text; raise all that is wrong with it."""
    document = read_json(text, file, relaxed=relaxed)
    if document.errors or document.root is None:
        raise as_one(document.errors)
    return document


def typed(document: Document, path: JsonPath, kind: type) -> Node:
    """Give the object or list at a path; raise `WrongTypeError` for anything else."""
    node = document.node(path)
    if node is None or not isinstance(node.value, kind):
        needed = "an object" if kind is dict else "a list"
        raise WrongTypeError(document.spot(path), needed, "this")
    return node


def with_member(text: str, path: JsonPath, value: Any, *, file: Path) -> str:
    """Give the text with a value at a path of keys; objects on the way are made.

    The key must not be there yet. Comments are read. Raises a `ConfigError`.
    """
    document = parsed(text, file, relaxed=True)
    rewriting = Rewriting(text, style_of(text, typed(document, (), dict)))
    for depth in range(len(path)):
        node = typed(document, path[:depth], dict)
        if path[depth] not in node.members:
            for key in reversed(path[depth + 1 :]):
                value = {key: value}
            return rewriting.value_member(node, str(path[depth]), value)
    raise WrongTypeError(document.spot(path), "no entry yet", "this")


def style_of(text: str, root: Node) -> Style:
    """Tell how a file is written by its first entry."""
    first = _SPACE.match(text, root.start + 1)
    space = first[0] if first else ""
    line = _last_line(space) if root.members and "\n" in space else ""
    colon = ": "
    for key_start, value in root.members.values():
        colon = text[_end_of_string(text, key_start) : value.start]
        break
    plain = colon if colon in (":", ": ") else ": "
    return Style(line, plain, ", " if plain == ": " else ",")


@dataclasses.dataclass(frozen=True, slots=True)
class Rewriting:
    """Insertions into one text."""

    text: str
    style: Style

    def value_member(self, node: Node, key: str, value: Any) -> str:
        """Add a member with any value at the end of an object."""
        line = self._line_in(node)
        return self.member(node, key, self.written(value, line), spread=isinstance(value, dict))

    def member(self, node: Node, key: str, value: str, *, spread: bool = False) -> str:
        """Add a member at the end of an object; `spread`: an empty one gets lines of its own."""
        added = f"{json.dumps(key)}{self.style.colon}{value}"
        if node.members:
            return self._last(node, added)
        return self._first(node, added, spread=spread)

    def item(self, node: Node, value: str) -> str:
        """Add an item at the end of a list."""
        return self._last(node, value) if node.items else self._first(node, value)

    def written(self, value: Any, line: str) -> str:
        """Write a value that stands on a line which begins so; lists stay on one line."""
        if not line or not isinstance(value, dict) or not value:
            comma, colon = self.style.comma, self.style.colon
            return json.dumps(value, ensure_ascii=False, separators=(comma, colon))
        inner = f"{line}{self.style.unit or _UNIT}"
        members = (
            f"{inner}{json.dumps(key)}{self.style.colon}{self.written(one, inner)}"
            for key, one in value.items()
        )
        return f"{{{','.join(members)}{line}}}"

    def _line_in(self, node: Node) -> str:
        """Give what begins the line of a new entry; empty if there are no lines."""
        for entry in _entries(node):
            space = self.text[: entry.start]
            space = space[len(space.rstrip(" \t\r\n")) :]
            return _last_line(space) if "\n" in space else ""
        return f"{self._own_line(node)}{self.style.unit}" if self.style.line else ""

    def _own_line(self, node: Node) -> str:
        """Give what begins the line on which an object begins."""
        found = _INDENTATION.search(self.text, 0, node.start)
        indentation = found[2] if found else ""
        return ("\r\n" if self.style.line.startswith("\r") else "\n") + indentation

    def _last(self, node: Node, added: str) -> str:
        entries = list(_entries(node))
        gap = self.text[entries[-1].end : node.end - 1]
        if not gap.strip():
            return self._at(entries[-1].end, self._separator(node, entries) + added)
        return self._last_with_comments(entries[-1].end, gap, self._line_in(node), added)

    def _last_with_comments(self, end: int, gap: str, line: str, added: str) -> str:
        """Add after comments, or after a comma that stands behind the last entry."""
        has_comma = "," in _COMMENT.sub("", gap)
        space = line or ("\n" if "//" in gap else " ")
        stop = end + len(gap.rstrip())
        first = "" if has_comma else ","
        after = "," if has_comma else ""
        return (
            f"{self.text[:end]}{first}{self.text[end:stop]}{space}{added}{after}{self.text[stop:]}"
        )

    def _separator(self, node: Node, entries: list[Entry]) -> str:
        """Give what stands between the last two entries; of one entry, what would."""
        if len(entries) > 1:
            between = self.text[entries[-2].end : entries[-1].start]
            if not between.replace(",", "", 1).strip():
                return between
        space = self.text[node.start + 1 : entries[0].start]
        if space.strip():
            line = self._line_in(node)
            return f",{line}" if line else self.style.comma
        return f",{space}" if "\n" in space else self.style.comma

    def _first(self, node: Node, added: str, *, spread: bool = False) -> str:
        """Add the only entry; where the brackets stand on two lines, it gets its own."""
        inside = self.text[node.start + 1 : node.end - 1]
        if "\n" in inside:
            last = _last_line(inside[len(inside.rstrip(" \t\r\n")) :] or "\n")
            line = f"{last}{self.style.unit or _UNIT}"
            return self._at(node.start + 1, f"{line}{added}")
        if spread and self.style.line and not inside.strip():
            own = self._own_line(node)
            return self._at(node.start + 1, f"{own}{self.style.unit}{added}{own}")
        return self._at(node.start + 1, added)

    def _at(self, at: int, added: str) -> str:
        return f"{self.text[:at]}{added}{self.text[at:]}"


def _entries(node: Node) -> Iterator[Entry]:
    for start, child in node.members.values():
        yield Entry(start, child.end)
    for child in node.items:
        yield Entry(child.start, child.end)


def _last_line(space: str) -> str:
    """Give the last line break of a space and what follows it."""
    at = space.rfind("\n")
    return space[at - 1 if space[at - 1 : at] == "\r" else at :]


def _end_of_string(text: str, start: int) -> int:
    _, end = json.JSONDecoder().raw_decode(text, start)
    return end
