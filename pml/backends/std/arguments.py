"""Whether arguments fit a tool's `inputSchema`, and if not, where and why. Pure.

Knows the keywords that our own schemas use and no others; a full JSON Schema validator takes a
tenth of a second to import, which every short run would pay.
"""

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from sandbox_host.errors import printable

_SHOWN = 60  # characters of a name or value in a message

_KINDS: dict[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        not isinstance(value, bool)
        and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))
    ),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}

_BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (lambda value, bound: value < bound, "must be at least {}"),
    "maximum": (lambda value, bound: value > bound, "must be at most {}"),
    "exclusiveMinimum": (lambda value, bound: value <= bound, "must be more than {}"),
    "minLength": (lambda value, bound: len(value) < bound, "must have at least {} characters"),
    "maxLength": (lambda value, bound: len(value) > bound, "must have at most {} characters"),
    "minItems": (lambda value, bound: len(value) < bound, "must have at least {} items"),
    "maxItems": (lambda value, bound: len(value) > bound, "must have at most {} items"),
    "enum": (lambda value, bound: value not in bound, "must be one of {}"),
}

KEYWORDS = frozenset(
    {"type", "properties", "required", "additionalProperties", "items", *_BOUNDS}
    | {"description", "default"}
)
"""What a schema of ours may say."""


def fault(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> str | None:
    """Say what is wrong with the arguments, None if nothing is."""
    return _fault(dict(arguments), schema, "")


def _fault(value: Any, schema: Mapping[str, Any], place: str) -> str | None:
    kinds = schema.get("type", [])
    allowed = [kinds] if isinstance(kinds, str) else kinds
    if allowed and not any(_KINDS[kind](value) for kind in allowed):
        return f"`{place}` must be {_article(' or '.join(allowed))}, not {_kind_of(value)}"
    for keyword, (breaks, words) in _BOUNDS.items():
        if keyword in schema and breaks(value, schema[keyword]):
            return f"`{place}` {words.format(_shown(schema[keyword]))}"
    if isinstance(value, dict):
        return _object_fault(value, schema, place)
    if isinstance(value, list) and "items" in schema:
        for number, one in enumerate(value):
            if (found := _fault(one, schema["items"], f"{place}[{number}]")) is not None:
                return found
    return None


def _object_fault(value: dict[str, Any], schema: Mapping[str, Any], place: str) -> str | None:
    known: Mapping[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    inside = f"{place}." if place else ""
    for name in schema.get("required", ()):
        if name not in value:
            return f"`{inside}{name}` is missing"
    for name, one in value.items():
        where, rule = f"{inside}{printable(name, _SHOWN)}", known.get(name, others)
        if rule is False:
            return f"`{where}` is not known{_near(name, known)}"
        if rule is not None and (found := _fault(one, rule, where)) is not None:
            return found
    return None


def _near(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; there are {', '.join(known)}" if known else "; the tool takes no arguments"


def _kind_of(value: Any) -> str:
    return _article(next(kind for kind, fits in _KINDS.items() if fits(value)))


def _article(kind: str) -> str:
    if kind == "null":
        return kind
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def _shown(bound: Any) -> str:
    return ", ".join(map(str, bound)) if isinstance(bound, list) else str(bound)
