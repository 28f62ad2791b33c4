"""What is written out in the source: strings with their escapes, and JSON values in arguments."""

import re
from typing import TYPE_CHECKING, Any

from pml.analysis.findings import Expression

if TYPE_CHECKING:
    from pml.analysis.syntax import Node, Source

_MOST_DEPTH = 16  # of a value: arguments are flat, and Python's stack ends
_MOST_NAMES = 8  # that one expression may stand for
_ESCAPE = re.compile(
    r"\\(?:u\{(?P<point>[0-9a-fA-F]{1,6})\}|u(?P<four>[0-9a-fA-F]{4})|x(?P<two>[0-9a-fA-F]{2})"
    r"|(?P<line>\r\n|[\n\r\u2028\u2029])|(?P<one>.))",
    re.DOTALL,
)
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_WORDS = {"true": True, "false": False, "null": None}
_MOST_POINT = 0x10FFFF
_MOST_DIGITS = 32  # of a number: Python itself refuses thousands


def unescaped(text: str) -> str:
    """Read the escapes of a string or an identifier."""
    if "\\" not in text:
        return text
    read = _ESCAPE.sub(_character, text)
    # two halves of a pair are one character; a half alone is none
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def string(node: "Node", source: "Source") -> str | None:
    """Give a literal string, None for anything else."""
    is_plain = node.kind == "template_string" and not _has_parts(node)
    if node.kind != "string" and not is_plain:
        return None
    return unescaped(source.text(node)[1:-1])


def names(node: "Node | None", source: "Source") -> tuple[str | None, ...]:
    """Give the names that a computed property may have; None is one that is not known."""
    waiting, found = [node], set[str | None]()
    while waiting and len(found) < _MOST_NAMES:
        one = waiting.pop()
        if one is None:
            found.add(None)
        elif one.kind == "parenthesized_expression":
            waiting.append(one.children[-1] if one.children else None)
        elif one.kind == "ternary_expression":
            waiting += [one.child("consequence"), one.child("alternative")]
        else:
            found.add(_name(one, source))
    return tuple(found) if not waiting else (None,)


def value(node: "Node", source: "Source", depth: int = 0) -> Any:
    """Give a JSON value; an `Expression` wherever it is not literal."""
    if depth < _MOST_DEPTH:
        match node.kind:
            case "object":
                return dict(_member(child, source, depth) for child in node.children)
            case "array":
                return [value(child, source, depth + 1) for child in node.children]
            case "parenthesized_expression" if len(node.children) == 1:
                return value(node.children[0], source, depth + 1)
            case "true" | "false" | "null":
                return _WORDS[node.kind]
    found = _number(source.text(node)) if _may_be_number(node) else string(node, source)
    return Expression(source.brief(node)) if found is None else found


def _member(node: "Node", source: "Source", depth: int) -> tuple[str, Any]:
    key, content = node.child("key"), node.child("value")
    if node.kind != "pair" or key is None or content is None:
        return source.brief(node), Expression(source.brief(node))
    name = string(key, source)
    if name is None:
        name = source.name(key) if key.kind == "property_identifier" else source.brief(key)
    return name, value(content, source, depth + 1)


def _name(node: "Node", source: "Source") -> str | None:
    if node.kind == "number":
        number = _number(source.text(node))
        return str(number) if isinstance(number, int) else None
    return string(node, source)


def _may_be_number(node: "Node") -> bool:
    return node.kind in ("number", "unary_expression") and node.end - node.start <= _MOST_DIGITS


def _number(text: str) -> float | int | None:
    compact = text.replace(" ", "")
    try:
        return int(compact, 0)
    except ValueError:
        pass
    try:
        number = float(compact)
    except ValueError:
        return None
    return number if number - number == 0 else None  # JSON has no infinity


def _character(match: re.Match[str]) -> str:
    digits = match["point"] or match["four"] or match["two"]
    if digits:
        return chr(min(int(digits, 16), _MOST_POINT))
    if match["line"]:
        return ""
    return _SINGLE.get(match["one"], match["one"])


def _has_parts(node: "Node") -> bool:
    return any(child.kind == "template_substitution" for child in node.children)
