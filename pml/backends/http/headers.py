"""The headers of a request: the configuration's, checked, and those that mirror a call. Pure.

In the stateless era (2026-07-28) a tool may mark parameters with `x-mcp-header`: their values go
into `Mcp-Param-*` headers, and a tool that marks them wrongly must not be offered.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pml.backends.errors import RemoteRefusedError
from sandbox_host.errors import printable

Headers = tuple[tuple[str, str], ...]

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t -~]+")
_PLAIN = re.compile(r"[ -~]*")
_OURS = frozenset({"host", "connection", "keep-alive", "te", "trailer", "upgrade", "expect"})
_OUR_PREFIXES = ("mcp-", "proxy-", "content-", "transfer-", "accept", "last-event-id")

_MARK = "x-mcp-header"
_MARKABLE = frozenset({"string", "integer", "boolean"})
_MAPS = frozenset({"patternProperties", "dependentSchemas", "$defs", "definitions"})
_DATA = frozenset({"default", "const", "enum", "examples"})
_SAFE_INTEGER = 2**53 - 1


def checked_headers(server: str, headers: Mapping[str, str]) -> Headers:
    """Check the configured headers; raises `RemoteRefusedError`, which never shows a value."""
    seen: set[str] = set()
    for name, value in headers.items():
        shown = printable(name, 100)
        if not _TOKEN.fullmatch(name):
            raise RemoteRefusedError(server, f"`{shown}` is not the name of a header")
        if name.lower() in _OURS or name.lower().startswith(_OUR_PREFIXES):
            raise RemoteRefusedError(server, f"the header `{shown}` is not for a configuration")
        if name.lower() in seen:
            raise RemoteRefusedError(server, f"the header `{shown}` is configured twice")
        if not value.strip():
            raise RemoteRefusedError(server, f"the value of the header `{shown}` is empty")
        if not _VALUE.fullmatch(value):
            raise RemoteRefusedError(
                server, f"the value of the header `{shown}` has characters that no header may have"
            )
        seen.add(name.lower())
    return tuple((name, value.strip()) for name, value in headers.items())


def encoded(value: str) -> str:
    """Give a value as a header can carry it: as it is, or in base64 between the spec's marks."""
    marked = value.startswith("=?base64?") and value.endswith("?=")
    if _PLAIN.fullmatch(value) and value == value.strip() and not marked:
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def mirrored(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Headers:
    """Give the `Mcp-Param-*` headers of a call; the schema has no `mark_fault`."""
    headers = []
    for path, part in _reachable(schema):
        text = _text(_at(arguments, path))
        if text is not None:
            headers.append((f"Mcp-Param-{part[_MARK]}", encoded(text)))
    return tuple(headers)


def mark_fault(schema: Mapping[str, Any]) -> str | None:
    """Say what is wrong with the `x-mcp-header` marks of an input schema, if anything is."""
    marked = [part for _, part in _reachable(schema)]
    if sum(1 for _ in _marks(schema)) != len(marked):
        return f"its inputSchema has {_MARK} in a place where it must not be"
    names = [part[_MARK] for part in marked]
    if not all(isinstance(name, str) and _TOKEN.fullmatch(name) for name in names):
        return f"its inputSchema has an {_MARK} that is not the name of a header"
    if any(not _is_markable(part.get("type")) for part in marked):
        return f"its inputSchema has {_MARK} on a value that is not plain"
    if len({name.lower() for name in names}) != len(names):
        return f"its inputSchema has the same {_MARK} twice"
    return None


def _is_markable(kind: object) -> bool:
    return isinstance(kind, str) and kind in _MARKABLE


def _reachable(schema: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """Find the marked properties that a chain of `properties` alone leads to."""
    waiting: list[tuple[tuple[str, ...], Any]] = [((), schema)]
    while waiting:
        path, part = waiting.pop()
        if not isinstance(part, dict):
            continue
        if path and _MARK in part:
            yield path, part
        properties = part.get("properties")
        if isinstance(properties, dict):
            waiting.extend(((*path, name), inner) for name, inner in properties.items())


def _marks(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Find every marked schema; names of properties and plain data are no schemas."""
    waiting: list[Any] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        if not isinstance(part, dict):
            continue
        if _MARK in part:
            yield part
        for keyword, inner in part.items():
            if (keyword == "properties" or keyword in _MAPS) and isinstance(inner, dict):
                waiting.extend(inner.values())
            elif keyword not in _DATA:
                waiting.append(inner)


def _at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> object:
    value: object = arguments
    for name in path:
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def _text(value: object) -> str | None:
    """Give a plain value's text; None for what has none, which the server will refuse itself."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value) if abs(value) <= _SAFE_INTEGER else None
        case str():
            return value
        case _:
            return None
