"""What an expression may stand for: ways from the global object, so far as they lead to `mcp`.

Names are followed through declarations, destructuring and assignments: the last one that must have
happened before a use counts, and all that may have happened since. Others' functions are not
followed: what is handed to them has escaped. Below: `scopes.py`. Above: `folding.py`.
"""

from collections.abc import Callable, Iterable, Mapping

from pml.analysis.literals import names
from pml.analysis.scopes import Name, Scopes, Write
from pml.analysis.syntax import Node, Parsed, Path, Source

MCP: Path = ("mcp",)
WORLD: Path = ()
"""The global object itself."""

_GLOBALS = {"mcp": MCP, "globalThis": WORLD}
_NONE: frozenset[Path] = frozenset()
_MOST_PATHS = 16  # that one expression may stand for; beyond, any name
_MOST_WRITES = 64  # that are ordered; beyond, all of them count
_LONGEST = 4
_PASSES = 2  # the second sees what a loop or a function brings back from below


def resolve(parsed: Parsed, scopes: Scopes, source: Source) -> None:
    """Give every node its paths."""
    aliases = _Aliases(source)
    for _ in range(_PASSES):
        for node in parsed.nodes:
            node.paths = aliases.paths(node)
            for name, write in scopes.writes.get(node, ()):
                aliases.update(name, write)


class _Aliases:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._by_kind: Mapping[str, Callable[[Node], frozenset[Path]]] = {
            "identifier": self._named,
            "shorthand_property_identifier": self._named,
            "this": _this,
            "member_expression": self._member,
            "subscript_expression": self._item,
            "parenthesized_expression": _last,
            "await_expression": _last,
            "sequence_expression": _last,
            "ternary_expression": _arms,
            "binary_expression": self._either,
            "augmented_assignment_expression": self._either,
            "assignment_expression": lambda node: _of(node, "right"),
        }

    def paths(self, node: Node) -> frozenset[Path]:
        own = self._by_kind.get(node.kind)
        return own(node) if own else _NONE

    def update(self, name: Name, write: Write) -> None:
        """Say what a name gets."""
        found = _NONE
        for node, below in write.values:
            paths = node.paths
            for step in below:
                paths = _extended(paths, (step,))
            found |= paths
        write.paths = _bounded(found)
        name.paths = _bounded(name.paths | write.paths)

    def _named(self, node: Node) -> frozenset[Path]:
        text = self._source.name(node)
        name = node.scope.find(text) if node.scope else None
        if name is None:
            return frozenset({_GLOBALS[text]}) if text in _GLOBALS else _NONE
        if not name.paths or len(name.writes) > _MOST_WRITES:
            return name.paths
        return _bounded(path for write in _reaching(name.writes, node) for path in write.paths)

    def _member(self, node: Node) -> frozenset[Path]:
        base, name = _of(node, "object"), node.child("property")
        if not base or name is None:
            return _NONE
        return _bounded(_extended(base, (self._source.name(name),)))

    def _item(self, node: Node) -> frozenset[Path]:
        base = _of(node, "object")
        if not base:
            return _NONE
        return _bounded(_extended(base, names(node.child("index"), self._source)))

    def _either(self, node: Node) -> frozenset[Path]:
        left, right = _of(node, "left"), _of(node, "right")
        operator = node.child("operator")
        if not (left or right) or operator is None:
            return _NONE
        match self._source.text(operator).rstrip("="):
            case "||" | "??":
                return left | right
            case "&&":
                return right
        return _NONE


def _this(node: Node) -> frozenset[Path]:
    """Outside functions and classes it is the global object."""
    is_world = node.scope is not None and node.scope.this_is_world
    return frozenset({WORLD}) if is_world else _NONE


def _last(node: Node) -> frozenset[Path]:
    return node.children[-1].paths if node.children else _NONE


def _arms(node: Node) -> frozenset[Path]:
    return _of(node, "consequence") | _of(node, "alternative")


def _of(node: Node, field: str) -> frozenset[Path]:
    child = node.child(field)
    return child.paths if child else _NONE


def _extended(paths: frozenset[Path], below: Iterable[str | None]) -> frozenset[Path]:
    return frozenset(
        found for path in paths for name in below if (found := _step(path, name)) is not None
    )


def _step(path: Path, name: str | None) -> Path | None:
    if path == WORLD:
        return _GLOBALS.get(name) if name else None
    return (*path, name) if len(path) < _LONGEST else None


def _bounded(paths: Iterable[Path]) -> frozenset[Path]:
    found = frozenset(paths)
    if len(found) <= _MOST_PATHS:
        return found
    return frozenset((*path[:1], *(None for _ in path[1:])) for path in found)


def _reaching(written: list[Write], use: Node) -> list[Write]:
    """Give the writes that a use may see."""
    if use.scope is None:
        return written
    seen: list[Write] = []
    for write in written:
        if write.function is not use.scope.function or (
            write.position > use.start and write.loop is not None and write.loop.holds(use.start)
        ):
            seen.append(write)
        elif write.position <= use.start:
            if write.region.holds(use.start):  # it must have happened: what was before is gone
                seen = [one for one in seen if one.function is not write.function]
            seen.append(write)
    return seen
