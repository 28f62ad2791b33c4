"""JSON Schema, as it is found in the wild, to a TypeScript type. Pure, and never raises.

What is not understood is `unknown`. A schema is untrusted and may be a bomb: references lead into
the same schema only, a cycle is cut, and depth, width and the number of visited schemas are
bounded. `Writer.is_cut` tells that something was left out for want of room.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from pml.discovery.escaping import MOST_NAME_CHARACTERS, comment, key, literal

MOST_DEPTH = 6
"""Of nested types; what lies deeper is `unknown`."""

MOST_PROPERTIES = 60
"""Of one object; the others are counted in a comment."""

MOST_VARIANTS = 24
"""Of one union or enumeration; with more it ends in the type they have in common."""

MOST_SCHEMAS = 400
"""Visited for one type: a reference costs few characters and may unfold to thousands."""

MOST_NOTE_CHARACTERS = 160
"""Of the description of a property."""

_INLINE_CHARACTERS = 60
_MOST_SAFE_INTEGER = 2**53 - 1  # of JavaScript
_PLAIN = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}
_UNKNOWN = "unknown"
_ANY_RECORD = "Record<string, unknown>"


@dataclasses.dataclass(frozen=True, slots=True)
class Detail:
    """How much is told."""

    depth: int = MOST_DEPTH
    notes: int = MOST_NOTE_CHARACTERS
    """Characters of each description; 0 for none."""


class Writer:
    """Writes the types of one schema."""

    def __init__(self, root: object, detail: Detail) -> None:
        """Take the schema in which references are looked up."""
        self._root = root
        self._detail = detail
        self._schemas_left = MOST_SCHEMAS
        self._open: set[str] = set()
        """References on the way to where we are."""

    @property
    def is_cut(self) -> bool:
        """Say whether there was more than may be visited."""
        return self._schemas_left <= 0

    def type_of(self, schema: object, depth: int = 0) -> str:
        """Give the type."""
        self._schemas_left -= 1
        if schema is False:
            return "never"
        if not isinstance(schema, Mapping) or self.is_cut or depth > self._detail.depth:
            return _UNKNOWN
        if isinstance(reference := schema.get("$ref"), str):
            return self._referred(reference, depth)
        parts = [part for part in self._parts(schema, depth) if part != _UNKNOWN]
        text = _intersection(parts)
        return _union([text, "null"]) if schema.get("nullable") is True else text

    def _parts(self, schema: Mapping[str, Any], depth: int) -> Iterator[str]:
        """Give what holds all at once."""
        if "const" in schema:
            yield literal(schema["const"]) or _UNKNOWN
        elif isinstance(values := schema.get("enum"), list):
            yield _enumeration(values, self._plain(schema, depth))
        else:
            yield self._plain(schema, depth)
        for word in ("anyOf", "oneOf"):
            if isinstance(variants := schema.get(word), list):
                yield self._variants(variants, depth)
        if isinstance(all_of := schema.get("allOf"), list):
            yield from (self.type_of(one, depth + 1) for one in all_of[:MOST_VARIANTS])

    def _variants(self, variants: list[Any], depth: int) -> str:
        types = [self.type_of(one, depth + 1) for one in variants[:MOST_VARIANTS]]
        # Variants that only say what is required have no type of their own.
        return _UNKNOWN if _UNKNOWN in types or len(variants) > MOST_VARIANTS else _union(types)

    def _referred(self, reference: str, depth: int) -> str:
        if reference in self._open:
            return _UNKNOWN
        target = _looked_up(self._root, reference)
        is_chain = isinstance(target, Mapping) and "$ref" in target
        self._open.add(reference)
        try:
            return self.type_of(target, depth + is_chain)
        finally:
            self._open.discard(reference)

    def _plain(self, schema: Mapping[str, Any], depth: int) -> str:
        """Give what `type` and its companions say."""
        said = schema.get("type")
        if isinstance(said, list):
            return _union([self._named(one, schema, depth) for one in said[: len(_PLAIN) + 2]])
        if said is None and isinstance(schema.get("properties"), Mapping):
            said = "object"
        elif said is None and ("items" in schema or "prefixItems" in schema):
            said = "array"
        return self._named(said, schema, depth)

    def _named(self, name: object, schema: Mapping[str, Any], depth: int) -> str:
        if name == "object":
            return self._object(schema, depth)
        if name == "array":
            return self._array(schema, depth)
        return _PLAIN.get(name, _UNKNOWN) if isinstance(name, str) else _UNKNOWN

    def _array(self, schema: Mapping[str, Any], depth: int) -> str:
        items = schema.get("items", True)
        first = schema.get("prefixItems", items)
        if not isinstance(first, list):
            return f"{_grouped(self.type_of(items, depth + 1))}[]"
        types = [self.type_of(one, depth + 1) for one in first[:MOST_VARIANTS]]
        rest = schema.get("additionalItems", True) if items is first else items
        if rest is not False:
            types.append(f"...{_grouped(self.type_of(rest, depth + 1))}[]")
        return f"[{', '.join(types)}]"

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            return self._record(schema, depth)
        if depth >= self._detail.depth:
            return _ANY_RECORD
        lines = list(self._properties(schema, properties, depth))
        inline = f"{{ {' '.join(lines).removesuffix(';')} }}"
        if len(inline) <= _INLINE_CHARACTERS and not any("/*" in one for one in lines):
            return inline
        return "\n".join(("{", *(indented(one) for one in lines), "}"))

    def _record(self, schema: Mapping[str, Any], depth: int) -> str:
        more = schema.get("additionalProperties", True)
        patterns = schema.get("patternProperties")
        if isinstance(patterns, Mapping) and len(patterns) == 1:
            more = next(iter(patterns.values()))
        if more is False:
            return "{}"
        return f"Record<string, {self.type_of(more, depth + 1)}>"

    def _properties(
        self, schema: Mapping[str, Any], properties: Mapping[str, Any], depth: int
    ) -> Iterator[str]:
        """Give each as a line, or as several with its description."""
        required = names_in(schema.get("required"))
        fitting = [name for name in properties if len(name) <= MOST_NAME_CHARACTERS]
        for name in fitting[:MOST_PROPERTIES]:
            one = properties[name]
            if note := self._note(one):
                yield f"/** {note} */"
            mark = "" if name in required else "?"
            yield f"{key(name)}{mark}: {self.type_of(one, depth + 1)};"
        if (left := len(properties) - min(len(fitting), MOST_PROPERTIES)) > 0:
            yield f"/* {left} more */"
        if isinstance(schema.get("additionalProperties"), Mapping):
            yield "[key: string]: unknown;"

    def _note(self, schema: object) -> str:
        """Give a property's description, default and range, for a comment."""
        if not self._detail.notes or not isinstance(schema, Mapping):
            return ""
        words = schema.get("description")
        said = comment(words, self._detail.notes) if isinstance(words, str) else ""
        facts = [comment(one, self._detail.notes) for one in _facts(schema)]
        if facts and said and said[-1] not in ".!?:;…":
            said += "."
        return " ".join(part for part in (said, *facts) if part)


def names_in(value: object) -> frozenset[str]:
    """Give the names of a list that should have nothing else."""
    if not isinstance(value, list):
        return frozenset()
    return frozenset(one for one in value if isinstance(one, str))


def indented(text: str) -> str:
    """Move a type in by one level."""
    return "\n".join(f"  {one}" for one in text.split("\n"))


def _facts(schema: Mapping[str, Any]) -> Iterator[str]:
    """Give what a caller must know and a type cannot say."""
    if isinstance(form := schema.get("format"), str):
        yield f"Format: {form}."
    yield from _range(schema)
    if schema.get("default") is not None and (default := literal(schema["default"])):
        yield f"Default: {default}"


def _range(schema: Mapping[str, Any]) -> Iterator[str]:
    """Give the bounds that someone chose: generators write those of every integer."""
    least, most = (_bound(schema.get(word)) for word in ("minimum", "maximum"))
    if least and most:
        yield f"{least} to {most}."
    elif least or most:
        yield f"At least {least}." if least else f"At most {most}."


def _bound(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return literal(value) if abs(value) < _MOST_SAFE_INTEGER else None


def _looked_up(root: object, reference: str) -> object:
    """Follow a JSON pointer in the schema itself; anything else is a schema that says nothing."""
    if not reference.startswith("#") or len(reference) > MOST_NAME_CHARACTERS * 2:
        return True
    found = root
    for step in unquote(reference[1:]).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdecimal() and int(name) < len(found):
            found = found[int(name)]
        else:
            return True
    return found


def _enumeration(values: list[Any], otherwise: str) -> str:
    literals = [literal(value) for value in values[:MOST_VARIANTS]]
    known = [one for one in literals if one is not None]
    if len(known) < len(literals) or len(values) > MOST_VARIANTS:
        known.append(otherwise)
    return _union(known)


def _union(types: Sequence[str]) -> str:
    different = list(dict.fromkeys(types))
    if _UNKNOWN in different or not different:
        return _UNKNOWN
    return " | ".join(f"({one})" if " & " in one else one for one in different)


def _intersection(types: Sequence[str]) -> str:
    different = list(dict.fromkeys(types))
    if len(different) > 1 and _ANY_RECORD in different:
        different.remove(_ANY_RECORD)
    if len(different) <= 1:
        return different[0] if different else _UNKNOWN
    return " & ".join(f"({one})" if " | " in one else one for one in different)


def _grouped(text: str) -> str:
    return f"({text})" if " | " in text or " & " in text else text
