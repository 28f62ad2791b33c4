"""Checks what was read against the shapes; every error with its place, none with a value.

Translates pydantic's errors, which know keys but no lines. Below: `reader.py`, `shapes.py`.
Above: `building.py`, which gets only what was found good.
"""

import difflib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel, to_snake
from pydantic_core import ErrorDetails

from pml.config.errors import (
    ConfigError,
    InvalidValueError,
    MissingKeyError,
    TwoSpellingsError,
    UnknownKeyError,
    WrongTypeError,
)
from pml.config.reader import MOST_ERRORS, Document, Node
from pml.config.shapes import COMPLAINT, Shape
from pml.config.spots import JsonPath

_SUGGESTED_CHARACTERS = 64  # a longer key is no slip of a finger, and comparing it is slow

_NEEDED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
}
_FOUND: Mapping[type, str] = MappingProxyType(
    {
        NoneType: "null", bool: "true or false", int: "a number", float: "a number",
        str: "a string", list: "a list", dict: "an object",
    }
)  # fmt: skip
_ELSEWHERE = {
    "alwaysAllow": "write the tools into `permissions.allow`",
    "apiKey": "it is `cloud.apiKey`",
    "autoApprove": "write the tools into `permissions.allow`",
    "cloudUrl": "it is `cloud.url`",
    "cwd": "servers run in the workspace",
    "disabled": "remove the server, or write it into `permissions.deny`",
    "env": "a remote server gets `headers`, not variables",
    "envFile": "write the variables into `env`, as `${NAME}`",
    "httpUrl": "it is `url`",
    "localMcps": "what is in `mcpServers` is local",
    "sandbox": "a remote server runs elsewhere: only local ones have a sandbox",
    "server": "a port is an option of the command that serves",
    "serverUrl": "it is `url`",
    "timeout": "it is `limits.callTimeoutSeconds`, for all servers",
}
"""Keys of other clients and of older files, and what to write instead."""

S = TypeVar("S", bound=Shape)


def check(document: Document, path: JsonPath, shape: type[S]) -> S | list[ConfigError]:
    """Give the object at a path in its shape, or all that is wrong with it."""
    node = document.node(path)
    value = node.value if node else None
    if not isinstance(value, dict):
        found = _FOUND.get(type(value), "this")
        return [WrongTypeError(document.spot(path), "an object", found)]
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        return [_translated(document, path, shape, detail) for detail in details[:MOST_ERRORS]]


def nulls(document: Document) -> list[ConfigError]:
    """Give an error for every null: no key means something by it."""
    found = (path for path, node in _walk(document.root) if node.value is None)
    return [
        WrongTypeError(document.spot(path), "a value", "null")
        for path in itertools.islice(found, MOST_ERRORS)
    ]


def _walk(root: Node | None) -> Iterator[tuple[JsonPath, Node]]:
    waiting: list[tuple[JsonPath, Node]] = [((), root)] if root else []
    while waiting:
        path, node = waiting.pop()
        yield path, node
        inner = [((*path, key), child) for key, (_, child) in node.members.items()]
        inner += [((*path, index), item) for index, item in enumerate(node.items)]
        waiting += reversed(inner)


def _translated(
    document: Document, base: JsonPath, shape: type[Shape], detail: ErrorDetails
) -> ConfigError:
    kind, steps = detail["type"], detail["loc"]
    # pydantic's mark for a key of a map, unless the file itself has a key of that name
    is_key = steps[-1:] == ("[key]",) and document.node((*base, *steps)) is None
    path = _in_document(document, base, steps[:-1] if is_key else steps)
    match kind:
        case "extra_forbidden":
            return _unknown(document, path, _shape_at(shape, path[len(base) : -1]))
        case "missing":
            return MissingKeyError(document.spot(path[:-1]), f"`{path[-1]}`")
        case _ if kind == COMPLAINT:
            facts = detail["ctx"]
            spot = document.spot(path, of_key=is_key)
            return InvalidValueError(facts["fact"], spot, hint=facts["hint"])
        case _ if kind in _NEEDED or kind == "needs":
            return _wrong_type(document, path, _NEEDED.get(kind, detail["msg"]))
    fact = detail["msg"].replace("Input should ", "must ").replace("'", "`")
    return InvalidValueError(fact, document.spot(path))


def _wrong_type(document: Document, path: JsonPath, needed: str) -> ConfigError:
    node = document.node(path)
    found = _FOUND.get(type(node.value), "this") if node else "this"
    return WrongTypeError(document.spot(path), needed, found)


def _in_document(document: Document, base: JsonPath, steps: Sequence[str | int]) -> JsonPath:
    """Leave out the steps that pydantic adds for alternatives; a missing last key stays."""
    path = base
    for step in steps[:-1]:
        path = (*path, step) if document.node((*path, step)) else path
    last = steps[-1:]
    is_added = last in (("bool",), ("list",)) and not document.node((*path, *last))
    return path if is_added else (*path, *last)


def _unknown(document: Document, path: JsonPath, shape: type[BaseModel]) -> ConfigError:
    key = str(path[-1])
    spot = document.spot(path, of_key=True)
    known = [field.alias or name for name, field in shape.model_fields.items()]
    parent = document.node(path[:-1])
    present = parent.value if parent else {}
    other = to_camel(key) if "_" in key else to_snake(key)
    if other in present and (key in known or other in known):
        return TwoSpellingsError(spot, other)
    return UnknownKeyError(spot, known, hint=_ELSEWHERE.get(key) or _suggestion(key, known))


def _suggestion(key: str, known: Sequence[str]) -> str | None:
    if len(key) > _SUGGESTED_CHARACTERS:
        return None
    lowered = {name.lower(): name for name in known}
    near = difflib.get_close_matches(key.replace("_", "").lower(), lowered, n=1)
    return f"did you mean `{lowered[near[0]]}`?" if near else None


def _shape_at(shape: type[BaseModel], steps: Sequence[str | int]) -> type[BaseModel]:
    """Give the shape of a nested object."""
    for step in steps:
        field = shape.model_fields[to_snake(str(step))]
        shape = next(_shapes_in(field.annotation), shape)
    return shape


def _shapes_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _shapes_in(argument)
