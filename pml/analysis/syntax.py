"""From text to a tree of plain nodes, without recursion: the only use of tree-sitter.

Takes over kinds, fields and byte offsets and nothing else (`Point` of some releases corrupts
memory), leaves out comments and punctuation, and mends `await (x).y()`, which the grammar reads as
a call of a function named `await`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

import tree_sitter_javascript
from tree_sitter import Language, Parser

from pml.analysis.findings import Place
from pml.analysis.literals import unescaped

if TYPE_CHECKING:
    from tree_sitter import TreeCursor

    from pml.analysis.findings import Steps
    from pml.analysis.scopes import Scope

Path = tuple[str | None, ...]
"""The way from the global object to a value: `("mcp", "fs", "read")`; None is a computed name."""

Original = Callable[[int, int], tuple[int, int]]
"""From a line and column of the erased code to those of the source."""

MOST_NODES = 300_000
"""More than 1 MiB of ordinary code has; every node costs half a kilobyte and some 8 us."""

_SHOWN_CHARACTERS = 80
_TOP_TWO, _INNER = 0xC0, 0x80  # bits that tell a byte inside a UTF-8 character
_LEFT_OUT = frozenset({"comment", "html_comment", "hash_bang_line"})
_MARKS = frozenset({"operator", "kind"})  # fields of punctuation that tells something


class Node:
    """One construct, and what the passes over the tree learn of it."""

    __slots__ = (
        "children", "end", "field", "height", "kind", "parent", "paths", "scope", "start", "steps",
    )  # fmt: skip

    def __init__(
        self, kind: str, field: str | None, span: tuple[int, int], parent: "Node | None"
    ) -> None:
        """Begin with nothing in it and nothing known."""
        self.kind = kind
        self.field = field
        self.start, self.end = span
        self.parent = parent
        self.children: list[Node] = []
        self.scope: Scope | None = None
        self.paths: frozenset[Path] = frozenset()
        self.steps: Steps = ()
        self.height = 0

    def child(self, field: str) -> "Node | None":
        """Give the first part of that name."""
        for node in self.children:
            if node.field == field:
                return node
        return None

    def holds(self, position: int) -> bool:
        """Say whether a position is in it."""
        return self.start <= position < self.end


class Source:
    """A program's bytes, and where its characters stand."""

    def __init__(self, content: bytes, original: Original) -> None:
        """Find lines and the bytes that are no characters of their own."""
        self._content = content
        self._original = original
        self._starts = [0, *(i + 1 for i, byte in enumerate(content) if byte == ord("\n"))]
        self._inner = (
            []
            if content.isascii()
            else [i for i, b in enumerate(content) if b & _TOP_TWO == _INNER]
        )

    def text(self, node: Node) -> str:
        """Give what is written there."""
        return self._content[node.start : node.end].decode()

    def name(self, node: Node) -> str:
        """Give an identifier, its escapes read."""
        return unescaped(self.text(node))

    def brief(self, node: Node) -> str:
        """Give the beginning of what is written there, on one line."""
        most = node.start + 4 * _SHOWN_CHARACTERS
        part = self._content[node.start : min(node.end, most)].decode(errors="ignore")
        text = " ".join(part.split())
        is_whole = node.end <= most and len(text) <= _SHOWN_CHARACTERS
        return text if is_whole else f"{text[:_SHOWN_CHARACTERS]}…"

    def place(self, position: int) -> Place:
        """Give the place in the source as written."""
        line = bisect_right(self._starts, position)
        start = self._starts[line - 1]
        inner = bisect_left(self._inner, position) - bisect_left(self._inner, start)
        return Place(*self._original(line, position - start - inner + 1))


class Parsed:
    """A tree, its nodes (children before parents), and the first place that is no JavaScript."""

    def __init__(self, content: bytes) -> None:
        """Parse; whatever the text is, there is a tree."""
        tree = Parser(Language(tree_sitter_javascript.language())).parse(content)
        self.nodes: list[Node] = []
        self.error: int | None = None
        self.is_whole = True
        self._count = 0
        self._content = content
        self._has_error = tree.root_node.has_error
        self.root = self._take_over(tree.walk())
        if self._has_error and self.error is None:
            self.error = 0

    def _take_over(self, cursor: "TreeCursor") -> Node:
        root = Node("program", None, (0, len(self._content)), None)
        path: list[Node | None] = [root]
        while path:
            top = path[-1]
            if top is not None and self._has_room() and cursor.goto_first_child():
                path.append(self._node(cursor, top))
                continue
            while path:
                self._close(path.pop())
                if path and cursor.goto_next_sibling():
                    path.append(self._node(cursor, path[-1]))
                    break
                cursor.goto_parent()
        return root

    def _has_room(self) -> bool:
        self.is_whole = self.is_whole and self._count < MOST_NODES
        return self.is_whole

    def _node(self, cursor: "TreeCursor", parent: Node | None) -> Node | None:
        """Take one over; None for what tells nothing."""
        found = cursor.node
        if found is None or parent is None:
            return None
        if self._has_error and self.error is None and (found.is_error or found.is_missing):
            self.error = found.start_byte
        field = cursor.field_name
        if found.type in _LEFT_OUT or not (found.is_named or field in _MARKS):
            return None
        if not self._has_room():
            return None
        node = Node(found.type, field, (found.start_byte, found.end_byte), parent)
        parent.children.append(node)
        self._count += 1
        return node

    def _close(self, node: Node | None) -> None:
        if node is None:
            return
        if node.kind == "call_expression":
            self._mend(node)
        self.nodes.append(node)

    def _mend(self, node: Node) -> None:
        """Make an `await` of what the grammar took for a call of it."""
        callee, given = node.child("function"), node.child("arguments")
        if callee is None or given is None or not given.children:
            return
        if self._content[callee.start : callee.end] == b"await":
            many = len(given.children) > 1
            node.kind = "sequence_expression" if many else "await_expression"
            node.children = given.children
            for inner in node.children:
                inner.parent = node
