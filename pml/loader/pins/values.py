"""Pins, what differs from them, and what is shown instead. Pure.

All words of a definition are the server's. What is not pinned is never shown to a model: a tool
that changed is shown as it was, one that came later without its words.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pml.loader.lockfile import compared_definitions, definitions_of
from pml.model import Listing, Tool

_CHANGED = "[changed since the user approved it: this is how it was; calling it asks the user]"
_ADDED = "[new since the user approved this server; it is not described before the user says yes]"
_TYPES = frozenset(("string", "number", "integer", "boolean", "object", "array", "null"))
_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,39}", re.ASCII)
_MOST_PARAMETERS = 30  # of a tool that nobody has looked at


@dataclasses.dataclass(frozen=True, slots=True)
class Pin:
    """One tool, as it may be shown and called."""

    definition: Mapping[str, Any]
    hash: str
    """`sha256-...` of the definition as canonical JSON: the order of keys does not count."""

    pinned_at: str
    """`2026-01-07T12:00:00Z`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Pins:
    """The tools of one server, by its own names for them."""

    identity: str
    """Which server: another command, address or package is another one."""

    pinned_at: str
    """When its tools were first seen."""

    tools: Mapping[str, Pin]


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A tool that is not what is pinned."""

    tool: Tool
    """As the server lists it now: untrusted."""

    hash: str
    pin: Pin | None
    """What it was; None if it was not there."""

    since: str | None
    """When the server's tools were first pinned; None if they never were."""


def pins_of(listing: Listing, identity: str, now: str) -> Pins:
    """Pin all tools of a server."""
    hashes = definitions_of(listing.tools)
    pinned = {tool.name: Pin(tool.definition, hashes[tool.name], now) for tool in listing.tools}
    return Pins(identity, now, pinned)


def changes_of(listing: Listing, pins: Pins | None) -> dict[str, Change]:
    """Give the tools that are new or another; one that is gone cannot be called, and is none."""
    hashes = definitions_of(listing.tools)
    pinned = pins.tools if pins else {}
    found = compared_definitions({name: pin.hash for name, pin in pinned.items()}, hashes)
    other = {change.tool for change in found if change.kind != "removed"}
    since = pins.pinned_at if pins else None
    return {
        tool.name: Change(tool, hashes[tool.name], pinned.get(tool.name), since)
        for tool in listing.tools
        if tool.name in other
    }


def shown(listing: Listing, changes: Mapping[str, Change]) -> Listing:
    """Give the listing without a word that nobody has seen."""
    if not changes:
        return listing
    tools = tuple(
        _guarded(changes[tool.name]) if tool.name in changes else tool for tool in listing.tools
    )
    return Listing(tools, listing.skipped)


def _guarded(change: Change) -> Tool:
    tool = change.tool
    if change.pin is None:
        schema = _bare(tool.input_schema)
        facts = {"name": tool.name, "description": _ADDED, "inputSchema": schema}
        return Tool(tool.server, tool.name, facts)
    before = Tool(tool.server, tool.name, change.pin.definition)
    words = f"{_CHANGED} {before.description}".rstrip()
    return Tool(tool.server, tool.name, {**before.definition, "description": words})


def _bare(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Keep names and types of parameters: enough to call it with, too little to say something."""
    properties = dict(_parameters(schema.get("properties", {})))
    required = [name for name in schema.get("required", ()) if name in properties]
    return {"type": "object", "properties": properties, "required": required}


def _parameters(properties: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, schema in list(properties.items())[:_MOST_PARAMETERS]:
        if _PLAIN_NAME.fullmatch(name):
            kind = schema.get("type") if isinstance(schema, dict) else None
            plain = isinstance(kind, str) and kind in _TYPES
            yield name, {"type": kind} if plain else {}
