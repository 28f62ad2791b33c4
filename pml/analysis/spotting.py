"""What a single place of a program does: which tools it calls, or that it could call any.

Keeps all that it tells, up to a bound. Below: `aliases.py`, which says what a callee may be.
"""

from collections.abc import Iterable, Sequence

from pml.analysis.aliases import WORLD
from pml.analysis.contexts import Use, use_of
from pml.analysis.findings import Call, Dynamic, Reason
from pml.analysis.literals import names, value
from pml.analysis.syntax import Node, Path, Source

MOST_STEPS = 4096
"""Calls and dynamic spots that are told: no plan is read beyond."""

_EVALUATORS = frozenset({"Function", "eval"})
_WRAPPERS = frozenset({"await_expression", "parenthesized_expression", "sequence_expression"})
_SERVER, _TOOL = 2, 3  # lengths of paths

Spots = Sequence[Call | Dynamic]


class Spotter:
    """The calls and dynamic spots of one program."""

    def __init__(self, source: Source) -> None:
        """Begin with nothing found."""
        self._source = source
        self.calls: list[Call] = []
        self.dynamic: list[Dynamic] = []
        self.is_cut = False

    def called(self, paths: Iterable[Path], node: Node, arguments: Sequence[Node]) -> Spots:
        """Say what a call does, whose callee may be any of these."""
        return self._kept(self._called(path, node, arguments) for path in sorted(paths, key=str))

    def referred(self, node: Node) -> Spots:
        """Say what a reference does that is not called here."""
        if self.is_cut:
            return ()
        on, index = node.child("object"), node.child("index")
        if on is not None and WORLD in on.paths and index is not None:
            any_name = None in names(index, self._source)
            return self._kept([self._spot("computed", node)] if any_name else [])
        if not node.paths or use_of(node) is not Use.ESCAPES:
            return ()
        return self._kept(self._escaped(path, node) for path in sorted(node.paths, key=str))

    def evaluated(self, node: Node, callee: Node) -> Spots:
        """Say whether a call makes code from text."""
        if callee.kind != "identifier" or callee.scope is None:
            return ()
        name = self._source.name(callee)
        if name not in _EVALUATORS or callee.scope.find(name) is not None:
            return ()
        return self._kept([self._spot("evaluates", node)])

    def _called(self, path: Path, node: Node, arguments: Sequence[Node]) -> Call | Dynamic | None:
        if len(path) < _TOOL:
            return None  # a server itself cannot be called
        if None in path[:_TOOL]:
            return self._spot("computed", node, path)
        if len(path) == _TOOL:
            return self._tool(path, node, arguments)
        match path[_TOOL]:
            case "call":
                return self._tool(path, node, arguments[1:])
            case "apply" | "bind" | None:
                return self._tool(path, node, None)
        return None

    def _escaped(self, path: Path, node: Node) -> Call | Dynamic | None:
        if None in path:
            return self._spot("computed", node, path)
        if len(path) < _TOOL:
            return self._spot("escapes", node, path)
        return self._tool(path, node, None) if len(path) == _TOOL else None

    def _tool(self, path: Path, node: Node, arguments: Sequence[Node] | None) -> Call:
        given = None
        if arguments is not None:
            given = tuple(value(argument, self._source) for argument in arguments)
        place = self._source.place(_named_at(node))
        return Call(str(path[1]), str(path[2]), place, given)

    def _spot(self, reason: Reason, node: Node, path: Path = ()) -> Dynamic:
        server = path[1] if len(path) >= _SERVER else None
        place = self._source.place(node.start)
        return Dynamic(reason, self._source.brief(node), place, server)

    def _kept(self, spots: Iterable[Call | Dynamic | None]) -> Spots:
        return [spot for spot in spots if spot is not None and self._keep(spot)]

    def _keep(self, spot: Call | Dynamic) -> bool:
        if len(self.calls) + len(self.dynamic) >= MOST_STEPS:
            self.is_cut = True
            return False
        if isinstance(spot, Call):
            self.calls.append(spot)
        else:
            self.dynamic.append(spot)
        return True


def _named_at(node: Node) -> int:
    """Give where a tool is named: the same line as in the questions and errors of a run."""
    callee = node.child("function") or node
    while callee.kind in _WRAPPERS and callee.children:
        callee = callee.children[-1]
    named = callee.child("property") or callee.child("index") or callee
    return named.start
