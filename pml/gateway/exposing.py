"""Tools that the user exposes: which they are, and what the client calls them. Pure.

Clients drop or refuse colons, over-long and colliding names, some of them silently. So a tool is
called `server__tool`, of `[A-Za-z0-9_-]`, at most 54 characters (64 less the `mcp__pml__` that a
client puts in front), and two that would have one name are both refused, by name.
"""

import dataclasses
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pml.config.names import WIRE_SEPARATOR
from pml.gateway.errors import WireNameTakenError
from pml.model import Tool
from pml.policy import rule_matches

MOST_NAME_CHARACTERS = 54
_TAIL_CHARACTERS = 8  # of a hash, in place of what is cut off
_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")

_KEPT = ("title", "description", "inputSchema", "outputSchema", "annotations", "icons")
"""Keys of a definition that are handed on; a server's `_meta` and extensions are not."""


@dataclasses.dataclass(frozen=True, slots=True)
class Exposed:
    """What the client sees by name."""

    tools: Mapping[str, Tool]
    """By the name on the wire."""

    refused: tuple[WireNameTakenError, ...] = ()


def wire_name(tool: str) -> str:
    """Give the name that clients see for a tool id."""
    server, _, name = tool.partition(":")
    whole = _FOREIGN.sub("_", f"{server}{WIRE_SEPARATOR}{name}")
    if len(whole) <= MOST_NAME_CHARACTERS:
        return whole
    tail = hashlib.sha256(tool.encode(errors="surrogatepass")).hexdigest()[:_TAIL_CHARACTERS]
    return f"{whole[: MOST_NAME_CHARACTERS - _TAIL_CHARACTERS - 1]}_{tail}"


def is_exposed(tool: str, patterns: Iterable[str]) -> bool:
    """Say whether one of the patterns speaks of a tool."""
    return any(rule_matches(pattern, tool) for pattern in patterns)


def exposed_servers(patterns: Sequence[str], names: Iterable[str]) -> list[str]:
    """Give the servers that one of the patterns may speak of."""
    parts = [f"{pattern.partition(':')[0]}:x" for pattern in patterns]
    return [name for name in names if any(rule_matches(part, f"{name}:x") for part in parts)]


def exposed(tools: Iterable[Tool], patterns: Sequence[str]) -> Exposed:
    """Give the exposed tools among these; those with one name are refused together."""
    named: dict[str, list[Tool]] = {}
    for tool in tools:
        if is_exposed(tool.id, patterns):
            named.setdefault(wire_name(tool.id), []).append(tool)
    taken = {name: found for name, found in named.items() if len(found) > 1}
    return Exposed(
        {name: found[0] for name, found in named.items() if name not in taken},
        tuple(
            WireNameTakenError(name, [one.id for one in found]) for name, found in taken.items()
        ),
    )


def definition(name: str, tool: Tool) -> dict[str, Any]:
    """Give the tool as the client is told of it: the server's own words and schemas."""
    kept = {key: tool.definition[key] for key in _KEPT if key in tool.definition}
    if not _is_object(kept.get("outputSchema")):
        kept.pop("outputSchema", None)  # clients of the older era lose the whole list over it
    return {"name": name, **kept}


def _is_object(schema: Any) -> bool:
    return isinstance(schema, dict) and schema.get("type") == "object"
