"""What becomes of a reference to `mcp` or a part of it: called, named, only looked at, or lost."""

import enum

from pml.analysis.syntax import Node

_FARTHEST = 32  # wrappers that are looked through
_PATTERNS = frozenset(
    {
        "array_pattern", "formal_parameters", "import_clause", "import_specifier",
        "namespace_import", "object_assignment_pattern", "object_pattern", "pair_pattern",
        "rest_pattern",
    }
)  # fmt: skip
_TAKING = frozenset(
    {
        "assignment_expression", "assignment_pattern", "augmented_assignment_expression",
        "object_assignment_pattern", "variable_declarator",
    }
)  # fmt: skip
_FOLLOWED = frozenset({"identifier", "object_pattern", "shorthand_property_identifier_pattern"})
_CHAIN = frozenset({"member_expression", "subscript_expression"})
_IDLE = frozenset({"expression_statement", "sequence_expression", "unary_expression"})
_TARGETS = frozenset({"alias", "left", "name", "parameter"})


class Use(enum.Enum):
    """What becomes of it."""

    FOLLOWED = enum.auto()
    """Called, looked into, or named: told elsewhere."""

    IDLE = enum.auto()
    ESCAPES = enum.auto()
    """Other code has it now."""


def use_of(node: Node) -> Use:
    """Say what becomes of the value of a reference, looking through what only passes it on."""
    for _ in range(_FARTHEST):
        parent = node.parent
        if parent is None:
            return Use.IDLE
        if not _passes_on(node, parent):
            return _taken(node, parent)
        node = parent
    return Use.ESCAPES


def _passes_on(node: Node, parent: Node) -> bool:
    match parent.kind:
        case "parenthesized_expression":
            return parent.field != "condition"
        case "await_expression":
            return True
        case "sequence_expression":
            return parent.children[-1] is node
        case "ternary_expression":
            return node.field != "condition"
        case "binary_expression":
            operator = parent.child("operator")
            # comparing gives nothing away; what logic gives on is one of its sides
            return operator is not None and operator.kind in ("&&", "||", "??")
    return False


def _taken(node: Node, parent: Node) -> Use:
    kind, field = parent.kind, node.field
    if kind in _CHAIN:
        return Use.FOLLOWED if field == "object" else Use.ESCAPES
    if kind == "call_expression" and field == "function":
        return Use.FOLLOWED
    if field in ("right", "value") and kind in _TAKING:
        target = parent.child("left") or parent.child("name")
        return Use.FOLLOWED if target and target.kind in _FOLLOWED else Use.ESCAPES
    if kind in _PATTERNS or field in _TARGETS:
        return Use.IDLE
    if kind in _IDLE or kind == "binary_expression" or field == "condition":
        return Use.IDLE
    return Use.IDLE if kind == "parenthesized_expression" else Use.ESCAPES
