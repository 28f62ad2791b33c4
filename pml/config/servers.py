"""Chooses the shape of each server by its `type`, and checks names. Nothing is filled in here."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Generic, Literal, TypeVar

from pml.config import names
from pml.config.checking import check
from pml.config.errors import (
    ConfigError,
    InvalidValueError,
    MissingKeyError,
)
from pml.config.reader import Document
from pml.config.shapes import (
    HttpShape,
    PrivateHttpShape,
    PrivateStdioShape,
    Shape,
    StdioShape,
)
from pml.config.spots import JsonPath

ServerShape = StdioShape | HttpShape | PrivateStdioShape | PrivateHttpShape

_HTTP_TYPES = ("http", "streamable-http", "streamableHttp")

L = TypeVar("L", bound=Shape)
R = TypeVar("R", bound=Shape)


@dataclasses.dataclass(frozen=True, slots=True)
class _Section(Generic[L, R]):
    """A section with servers: its key, its two shapes, and the key that tells a local server."""

    key: str
    local: type[L]
    remote: type[R]
    local_key: str


_SERVERS = _Section("mcpServers", StdioShape, HttpShape, "command")
_PRIVATE = _Section("privateMcps", PrivateStdioShape, PrivateHttpShape, "install")


def check_servers(
    document: Document,
) -> Iterator[tuple[JsonPath, ServerShape | list[ConfigError]]]:
    """Give every server, by its path, in its shape or with all that is wrong."""
    yield from _checked(document, _SERVERS)
    yield from _checked(document, _PRIVATE)


def collisions(document: Document) -> list[ConfigError]:
    """Give an error for each name that another server has, whatever the case of its letters."""
    errors: list[ConfigError] = []
    seen: dict[str, JsonPath] = {}
    for at in (*_paths(document, _SERVERS.key), *_paths(document, _PRIVATE.key)):
        first = seen.setdefault(str(at[-1]).lower(), at)
        if first != at:
            line = document.spot(first, of_key=True).line or 1
            fact = f"the server on line {line} has this name, letter case aside"
            errors.append(InvalidValueError(fact, document.spot(at, of_key=True)))
    return errors


def _paths(document: Document, section: str) -> Iterator[JsonPath]:
    path = document.written((section,))
    node = document.node(path)
    for name in node.members if node else ():
        yield (*path, name)


def _checked(
    document: Document, section: _Section[L, R]
) -> Iterator[tuple[JsonPath, L | R | list[ConfigError]]]:
    for at in _paths(document, section.key):
        errors = _name_errors(document, at)
        checked = _check_server(document, at, section)
        if isinstance(checked, list):
            errors += checked
        yield at, errors if errors or isinstance(checked, list) else checked


def _name_errors(document: Document, at: JsonPath) -> list[ConfigError]:
    found = names.server_name(str(at[-1]))
    if found is None:
        return []
    return [InvalidValueError(found.fact, document.spot(at, of_key=True), hint=found.hint)]


def _check_server(
    document: Document, at: JsonPath, section: _Section[L, R]
) -> L | R | list[ConfigError]:
    node = document.node(at)
    if node is None or not isinstance(node.value, dict):
        return check(document, at, section.local)  # which says that it is no object
    kind = _kind(document, at, node.value, section.local_key)
    if isinstance(kind, ConfigError):
        return [kind]
    if kind == "local":
        return check(document, at, section.local)
    return check(document, at, section.remote)


def _kind(
    document: Document, at: JsonPath, value: Mapping[str, Any], local_key: str
) -> Literal["local", "remote"] | ConfigError:
    kind = value.get("type")
    if kind is None:
        return _kind_by_keys(document, at, value, local_key)
    if kind == "stdio":
        return "local"
    if kind in _HTTP_TYPES:
        return "remote"
    spot = document.spot((*at, "type"))
    if kind == "sse":
        hint = 'most such servers speak "http" too, often at /mcp instead of /sse'
        return InvalidValueError("the old SSE transport is not supported", spot, hint=hint)
    return InvalidValueError('must be "stdio" or "http"', spot)


def _kind_by_keys(
    document: Document, at: JsonPath, value: Mapping[str, Any], local_key: str
) -> Literal["local", "remote"] | ConfigError:
    if local_key in value and "url" in value:
        spot = document.spot((*at, "url"), of_key=True)
        return InvalidValueError(f"a server has `{local_key}` or `url`, not both", spot)
    if local_key in value:
        return "local"
    if "url" in value:
        return "remote"
    what = f"`{local_key}` (a local server) or `url` (a remote one)"
    return MissingKeyError(document.spot(at), what)
