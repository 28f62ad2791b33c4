"""From a tree whose names are known to the shape around its calls and dynamic spots.

Children come before parents, so that nothing recurses; a parent puts together what its children
gave. Below: `spotting.py`, which says what a single place does.
"""

from collections.abc import Callable, Mapping, Sequence

from pml.analysis.findings import Branch, Function, Loop, Parallel, Step, Steps
from pml.analysis.scopes import FUNCTIONS
from pml.analysis.spotting import Spotter
from pml.analysis.syntax import Node, Source

_MOST_HEIGHT = 48  # of the shape: whoever prints or compares it recurses
_TOGETHER = frozenset({"all", "allSettled", "race", "any"})
_EACH = frozenset(
    {
        "every", "filter", "find", "findIndex", "findLast", "findLastIndex", "flatMap", "forEach",
        "from", "fromAsync", "map", "reduce", "reduceRight", "some", "sort", "toSorted",
    }
)  # fmt: skip
_REFERENCES = frozenset(
    {
        "identifier", "member_expression", "shorthand_property_identifier",
        "subscript_expression", "this",
    }
)  # fmt: skip
_LOGICAL = frozenset({"&&", "||", "??"})
_WRAPPERS = frozenset({"await_expression", "parenthesized_expression"})


class Folder:
    """The folding of one tree."""

    def __init__(self, source: Source) -> None:
        """Begin with nothing found."""
        self._source = source
        self.spotter = Spotter(source)
        self._folds: Mapping[str, Callable[[Node], None]] = {
            "call_expression": self._call,
            "new_expression": self._new,
            "if_statement": self._if,
            "ternary_expression": self._ternary,
            "switch_statement": self._switch,
            "binary_expression": self._logical,
            "augmented_assignment_expression": self._logical,
            "try_statement": self._try,
            "for_statement": self._for,
            "for_in_statement": self._for_in,
            "while_statement": self._while,
            "do_statement": self._do,
            **dict.fromkeys(FUNCTIONS, self._function),
            **dict.fromkeys(_REFERENCES, self._reference),
        }

    def fold(self, node: Node) -> None:
        """Give a node its steps, from those of its children."""
        if node.children:
            _gather(node, node.children)
        own = self._folds.get(node.kind)
        if own is not None:
            own(node)

    def _call(self, node: Node) -> None:
        callee, given = node.child("function"), node.child("arguments")
        if callee is None:
            return
        arguments = given.children if given and given.kind == "arguments" else []
        target = _bare(callee)
        if callee.paths:
            self._add(node, self.spotter.called(callee.paths, node, arguments))
        elif target.kind in FUNCTIONS:  # called where it stands
            node.steps = (*_gathered(arguments), *_inlined(target))
        elif target.kind == "member_expression":
            self._method(node, target, arguments)
        else:
            self._add(node, self.spotter.evaluated(node, target))

    def _method(self, node: Node, target: Node, arguments: Sequence[Node]) -> None:
        """Fold `x.map(...)`, `Promise.all(...)` and others whose functions run here."""
        on, name = target.child("object"), target.child("property")
        if on is None or name is None or not any(one.steps for one in arguments):
            return
        method = self._source.text(name)
        before, after = on.steps, _callbacks(arguments)
        if method in _TOGETHER and self._source.text(on) == "Promise":
            branches = [one.steps for one in _elements(arguments)]
            self._wrap(node, before, branches, lambda arms: Parallel(method, arms))
        elif method in _EACH:
            self._wrap(node, before, [after], lambda arms: Loop(method, arms[0]))
        elif method in ("then", "finally"):
            node.steps = (*before, *after)
        elif method == "catch":
            self._wrap(node, before, [after], lambda arms: Branch(method, arms))

    def _if(self, node: Node) -> None:
        kept, skipped = node.child("consequence"), node.child("alternative")
        arms = [part.steps for part in (kept, skipped) if part]
        inner = skipped.steps if skipped else ()
        is_chain = (
            skipped is not None
            and skipped.children[:1]
            and (skipped.children[0].kind == "if_statement")
        )
        if is_chain and len(inner) == 1 and isinstance(inner[0], Branch) and kept:
            arms = [kept.steps, *inner[0].arms]  # else if: one choice of many
        self._wrap(node, _steps(node, "condition"), arms, lambda arms: Branch("if", arms))

    def _ternary(self, node: Node) -> None:
        arms = [_steps(node, "consequence"), _steps(node, "alternative")]
        self._wrap(node, _steps(node, "condition"), arms, lambda arms: Branch("?", arms))

    def _switch(self, node: Node) -> None:
        body = node.child("body")
        arms = [case.steps for case in body.children] if body else []
        self._wrap(node, _steps(node, "value"), arms, lambda arms: Branch("switch", arms))

    def _logical(self, node: Node) -> None:
        operator = node.child("operator")
        kind = self._source.text(operator).removesuffix("=") if operator else ""
        if kind in _LOGICAL:
            arms = [_steps(node, "right")]
            self._wrap(node, _steps(node, "left"), arms, lambda arms: Branch(kind, arms))

    def _try(self, node: Node) -> None:
        handler = [_steps(node, "handler")]
        self._wrap(node, _steps(node, "body"), handler, lambda arms: Branch("catch", arms))
        node.steps += _steps(node, "finalizer")

    def _for(self, node: Node) -> None:
        body = [part for part in node.children if part.field != "initializer"]
        first = _steps(node, "initializer")
        order = {"condition": 0, "body": 1, "increment": 2}
        body.sort(key=lambda part: order.get(part.field or "", 1))
        self._wrap(node, first, [_gathered(body)], lambda arms: Loop("for", arms[0]))

    def _for_in(self, node: Node) -> None:
        operator = node.child("operator")
        kind = f"for {self._source.text(operator)}" if operator else "for"
        body = [(*_steps(node, "left"), *_steps(node, "body"))]
        self._wrap(node, _steps(node, "right"), body, lambda arms: Loop(kind, arms[0]))

    def _while(self, node: Node) -> None:
        self._wrap(node, (), [node.steps], lambda arms: Loop("while", arms[0]))

    def _do(self, node: Node) -> None:
        self._wrap(node, (), [node.steps], lambda arms: Loop("do", arms[0]))

    def _function(self, node: Node) -> None:
        name = node.child("name")
        around = node.parent
        if name is None and around is not None and around.kind in _NAMING:
            name = around.child(_NAMING[around.kind])
        known = self._source.brief(name) if name is not None else None
        self._wrap(node, (), [node.steps], lambda arms: Function(known, arms[0]))

    def _wrap(
        self,
        node: Node,
        before: Steps,
        arms: Sequence[Steps],
        make: "Callable[[tuple[Steps, ...]], Step]",
    ) -> None:
        """Put arms into one step, unless there is nothing in them or it is too deep."""
        filled = tuple(arm for arm in arms if arm)
        if not filled:
            node.steps = before
        elif node.height >= _MOST_HEIGHT:
            node.steps = (*before, *(step for arm in filled for step in arm))
        else:
            node.steps = (*before, make(filled))
            node.height += 1

    def _new(self, node: Node) -> None:
        maker = node.child("constructor")
        if maker is not None:
            self._add(node, self.spotter.evaluated(node, maker))

    def _reference(self, node: Node) -> None:
        self._add(node, self.spotter.referred(node))

    def _add(self, node: Node, steps: Sequence[Step]) -> None:
        """Add one step, or the several of which it can be any."""
        if len(steps) == 1:
            node.steps += (steps[0],)
        elif steps:
            arms = [(step,) for step in steps]
            self._wrap(node, node.steps, arms, lambda arms: Branch("either", arms))


_NAMING = {"variable_declarator": "name", "pair": "key", "assignment_expression": "left"}
"""What a function without a name of its own is called after."""


def _gather(node: Node, parts: Sequence[Node]) -> None:
    """Take over what children gave, in their order."""
    node.steps = _gathered(parts)
    node.height = max((part.height for part in parts), default=0)


def _gathered(parts: Sequence[Node]) -> Steps:
    filled = [part.steps for part in parts if part.steps]
    if len(filled) == 1:
        return filled[0]  # not copied: trees are deep
    return tuple(step for steps in filled for step in steps)


def _steps(node: Node, field: str) -> Steps:
    child = node.child(field)
    return child.steps if child else ()


def _bare(node: Node) -> Node:
    while node.kind in _WRAPPERS and len(node.children) == 1:
        node = node.children[0]
    return node


def _inlined(node: Node) -> Steps:
    """Give the steps of a function that is called here."""
    steps = node.steps
    if node.kind in FUNCTIONS and len(steps) == 1 and isinstance(steps[0], Function):
        return steps[0].body
    return steps


def _callbacks(arguments: Sequence[Node]) -> Steps:
    return tuple(step for one in arguments for step in _inlined(_bare(one)))


def _elements(arguments: Sequence[Node]) -> Sequence[Node]:
    """Give what is awaited together."""
    first = _bare(arguments[0])
    return first.children if first.kind == "array" and len(arguments) == 1 else arguments
