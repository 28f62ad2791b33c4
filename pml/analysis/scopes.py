"""Who a name is: scopes, what is declared in them, and what is written to it, where.

One pass from the top, without recursion. Below: `syntax.py`. Above: `aliases.py`, which asks what
a name may stand for.
"""

import dataclasses
from collections.abc import Iterator

from pml.analysis.literals import string
from pml.analysis.syntax import Node, Parsed, Path, Source

FUNCTIONS = frozenset(
    {
        "arrow_function", "function_declaration", "function_expression", "generator_function",
        "generator_function_declaration", "method_definition",
    }
)  # fmt: skip
LOOPS = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})

_DECLARED_OUTSIDE = frozenset(
    {"class_declaration", "function_declaration", "generator_function_declaration"}
)
_NAMED_INSIDE = frozenset({"function_expression", "generator_function", "class"})
_OWN_THIS = (FUNCTIONS - {"arrow_function"}) | {"class_body"}
_BLOCKS = FUNCTIONS | LOOPS | _OWN_THIS | {
    "catch_clause", "class", "statement_block", "switch_body",
}  # fmt: skip
_MOST_DEPTH = 64  # of scopes that are told apart: looking a name up climbs them
_MAY_BE_SKIPPED = frozenset(
    {
        ("if_statement", "consequence"), ("if_statement", "alternative"),
        ("ternary_expression", "consequence"), ("ternary_expression", "alternative"),
        ("binary_expression", "right"), ("augmented_assignment_expression", "right"),
        ("try_statement", "body"), ("try_statement", "handler"),
        *((loop, field) for loop in LOOPS for field in ("body", "increment")),
    }
)  # fmt: skip
_LONGEST = 4  # names of a path that matter: `mcp`, server, tool, and `call` of a function

Values = tuple[tuple[Node, Path], ...]
"""What may be written: the value of a node, or what it has under these names."""


@dataclasses.dataclass(slots=True)
class Write:
    """A name gets a value."""

    values: Values
    position: int
    """From here on."""

    function: Node
    region: Node
    """What must be entered for it to happen."""

    loop: Node | None
    """The outermost of its function: what is written later in it was written before."""

    paths: frozenset[Path] = frozenset()


@dataclasses.dataclass(slots=True)
class Name:
    """What is known of a name."""

    writes: list[Write] = dataclasses.field(default_factory=list)
    """In the order of the source."""

    paths: frozenset[Path] = frozenset()
    """All that is ever written to it."""


class Scope:
    """Names, and the scope around them."""

    def __init__(self, parent: "Scope | None", function: Node) -> None:
        """Begin with no names."""
        self.parent = parent
        self.function = function
        self.depth: int = parent.depth + 1 if parent else 0
        self.names: dict[str, Name] = {}
        self.this_is_world: bool = parent is None or parent.this_is_world

    def find(self, name: str) -> Name | None:
        """Give who a name is; None if it is nobody's but the global object's."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def declare(self, name: str, *, hoisted: bool = False) -> None:
        """Make a name ours; `var` makes it the function's."""
        scope = self
        while hoisted and scope.parent is not None and scope.parent.function is self.function:
            scope = scope.parent
        scope.names.setdefault(name, Name())


@dataclasses.dataclass(frozen=True, slots=True)
class _Around:
    """What a node stands in."""

    scope: Scope
    region: Node
    loop: Node | None = None


class Scopes:
    """The scopes of a tree; every node knows its own."""

    def __init__(self, parsed: Parsed, source: Source) -> None:
        """Walk the tree: declarations first, since names hold before their line."""
        self._source = source
        self.writes: dict[Node, list[tuple[Name, Write]]] = {}
        self._pending: list[tuple[Node, Node, Values, _Around]] = []
        waiting = [(parsed.root, _Around(Scope(None, parsed.root), parsed.root))]
        while waiting:
            node, around = waiting.pop()
            around = self._entered(node, around)
            node.scope = around.scope
            self._declare(node, around)
            waiting += [(child, around) for child in reversed(node.children)]
        for at, leaf, values, around in self._pending:
            self._write(at, leaf, values, around)

    def _entered(self, node: Node, around: _Around) -> _Around:
        scope, region, loop = around.scope, around.region, around.loop
        is_function = node.kind in FUNCTIONS
        if node.kind in _DECLARED_OUTSIDE:
            self._declare_name(node, scope)
        if node.kind in _BLOCKS and scope.depth < _MOST_DEPTH:
            scope = Scope(scope, node if is_function else scope.function)
            scope.this_is_world = scope.this_is_world and node.kind not in _OWN_THIS
        above = node.parent.kind if node.parent else ""
        if is_function or above == "switch_body" or (above, node.field) in _MAY_BE_SKIPPED:
            region = node
        if is_function:
            loop = None
        elif node.kind in LOOPS:
            loop = loop or node
        return _Around(scope, region, loop)

    def _declare(self, node: Node, around: _Around) -> None:
        match node.kind:
            case "variable_declarator":
                hoisted = node.parent is not None and node.parent.kind == "variable_declaration"
                self._bind(node, node.child("name"), around, declares=True, hoisted=hoisted)
            case "for_in_statement":
                kind = node.child("kind")
                hoisted = kind is not None and self._source.text(kind) == "var"
                self._bind(node, node.child("left"), around, declares=bool(kind), hoisted=hoisted)
            case "assignment_expression" | "augmented_assignment_expression":
                self._bind(node, node.child("left"), around)
            case "catch_clause" | "arrow_function":
                self._bind(node, node.child("parameter"), around, declares=True)
            case "formal_parameters" | "import_clause" | "named_imports" | "namespace_import":
                for child in node.children:
                    self._bind(node, child, around, declares=True)
            case kind if kind in _NAMED_INSIDE:
                self._declare_name(node, around.scope)

    def _declare_name(self, node: Node, scope: Scope) -> None:
        name = node.child("name")
        if name is not None:
            scope.declare(self._source.name(name))

    def _bind(
        self,
        at: Node,
        pattern: Node | None,
        around: _Around,
        *,
        declares: bool = False,
        hoisted: bool = False,
    ) -> None:
        """Note that all names of a pattern get the value of a declaration or an assignment."""
        if pattern is None:
            return
        value = at.child("value") or at.child("right")
        known = at.kind != "for_in_statement" and value is not None
        start: Values = ((value, ()),) if known and value is not None else ()
        for leaf, values in self._leaves(pattern, start):
            if declares:
                around.scope.declare(self._source.name(leaf), hoisted=hoisted)
            self._pending.append((at, leaf, values, around))

    def _leaves(self, pattern: Node, values: Values) -> Iterator[tuple[Node, Values]]:
        waiting = [(pattern, values)]
        while waiting:
            node, given = waiting.pop()
            match node.kind:
                case "identifier" | "shorthand_property_identifier_pattern":
                    yield node, given
                case "import_specifier":
                    name = node.child("alias") or node.child("name")
                    waiting += [(name, ())] if name else []
                case _:
                    waiting += self._inside(node, given)

    def _inside(self, node: Node, values: Values) -> Iterator[tuple[Node, Values]]:
        left, right, content = node.child("left"), node.child("right"), node.child("value")
        match node.kind:
            case "object_pattern":
                yield from ((child, self._looked_up(child, values)) for child in node.children)
            case "array_pattern" | "rest_pattern":  # nothing of `mcp` can be listed or copied
                yield from ((child, ()) for child in node.children)
            case "pair_pattern" if content is not None:
                yield content, values
            case "assignment_pattern" | "object_assignment_pattern" if left and right:
                yield left, (*values, (right, ()))

    def _looked_up(self, child: Node, values: Values) -> Values:
        """Give what an entry of an object pattern takes out of the values."""
        name = child.child("key") or child.child("left") or child
        return _below(values, self._key(name))

    def _key(self, key: Node | None) -> str | None:
        if key is None or key.kind == "computed_property_name":
            inner = key.children[0] if key and key.children else None
            return string(inner, self._source) if inner else None
        found = string(key, self._source)
        return self._source.name(key) if found is None else found

    def _write(self, at: Node, leaf: Node, values: Values, around: _Around) -> None:
        name = around.scope.find(self._source.name(leaf))
        if name is None:
            return  # a global's: `mcp` cannot be changed, and of others nothing is known
        write = Write(values, at.end, around.scope.function, around.region, around.loop)
        name.writes.append(write)
        self.writes.setdefault(at, []).append((name, write))


def _below(values: Values, name: str | None) -> Values:
    return tuple((node, (*path, name)) for node, path in values if len(path) < _LONGEST)
