"""What a server lists, turned into tools: pure, and the same whatever the server is reached by.

One bad definition costs itself and no other. A tool is kept if it can be called, judged here:

- its name is 1-128 printable characters without a colon, and the first of that name in the list;
- its `inputSchema` is a JSON object whose `properties` and `required`, if any, have their shapes;
- `type` is "object". A *missing* type is written in, the one repair there is: the arguments of a
  call are always an object, so it can mean nothing else, and clients that check lose the whole
  list over it. Any other type is a tool that nobody could call, and skipped;
- it is JSON (no NaN, no lone surrogate), at most `MOST_DEFINITION_BYTES` of it, nested at most
  `MOST_DEPTH` deep: whoever reads it later has less of the stack left than we have here.

Everything else that a server says is kept as it came: the definition's hash is what gets pinned.
"""

import json
from collections.abc import Sequence
from typing import Any

from pml.model import Listing, SkippedTool, Tool
from sandbox_host.errors import printable

MOST_TOOLS = 2_000
"""Definitions that are looked at; the largest real server known to us lists 311."""

MOST_DEFINITION_BYTES = 256 << 10
"""Of one tool, as JSON; the largest real one known to us has 9 KB."""

MOST_LISTING_BYTES = 16 << 20
"""Of all tools together, as JSON: what a listing may cost in memory."""

MOST_NAME_CHARACTERS = 128
"""As in the MCP specification, and in the tool ids of the sandbox."""

MOST_DEPTH = 64
"""Of objects and lists within each other; far below what JSON readers take."""

_SHOWN_CHARACTERS = 100  # of the name of a tool that is skipped


def listing_of(server: str, definitions: Sequence[Any]) -> Listing:
    """Sort what a server listed into tools and skipped ones, in its order; never raises."""
    tools: dict[str, Tool] = {}
    skipped: list[SkippedTool] = []
    room = MOST_LISTING_BYTES
    for position, definition in enumerate(definitions[:MOST_TOOLS]):
        size, fault = _weighed(definition)
        fault = fault or _fault(definition)
        if fault is None and definition["name"] in tools:
            fault = "the server lists another tool of this name before it"
        if fault is None and size > room:
            fault = f"the tools before it fill the {MOST_LISTING_BYTES >> 20} MiB of a listing"
        if fault is None:
            room -= size
            tools[definition["name"]] = Tool(server, definition["name"], _repaired(definition))
        else:
            skipped.append(SkippedTool(server, _shown(definition, position), fault))
    if (more := len(definitions) - MOST_TOOLS) > 0:
        reason = f"{more} more than the {MOST_TOOLS} tools that a server may list"
        skipped.append(SkippedTool(server, f"#{MOST_TOOLS + 1}", reason))
    return Listing(tuple(tools.values()), tuple(skipped))


def _weighed(definition: object) -> tuple[int, str | None]:
    """Give its size as JSON, or what keeps it from being JSON of a decent size."""
    try:
        text = json.dumps(definition, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError):
        return 0, "its definition is not JSON"
    if size > MOST_DEFINITION_BYTES:
        return size, f"its definition is larger than {MOST_DEFINITION_BYTES >> 10} KiB"
    if _is_deep(definition):
        return size, f"its definition is nested more than {MOST_DEPTH} deep"
    return size, None


def _is_deep(value: object) -> bool:
    """Say whether it is nested too deep, level by level: it must not use up the stack itself."""
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        inner: list[object] = []
        for one in level:
            if isinstance(one, dict):
                inner += one.values()
            elif isinstance(one, list):
                inner += one
        if not inner:
            return False
        level = inner
    return True


def _fault(definition: object) -> str | None:
    """Say why nobody could call it, if so."""
    if not isinstance(definition, dict):
        return "its definition is not an object"
    return _name_fault(definition.get("name")) or _schema_fault(definition.get("inputSchema"))


def _name_fault(name: object) -> str | None:
    if not isinstance(name, str) or not name:
        return "it has no name"
    if len(name) > MOST_NAME_CHARACTERS:
        return f"its name is longer than {MOST_NAME_CHARACTERS} characters"
    # Not printable: control characters, but also what a human would not see, such as zero-width
    # and bidi characters, with which two names look the same.
    if not name.isprintable() or ":" in name:
        return "its name has characters that a name must not have"
    return None


def _schema_fault(schema: object) -> str | None:
    if not isinstance(schema, dict):
        return "its inputSchema is not an object"
    if schema.get("type", "object") != "object":
        return 'its inputSchema has a type other than "object"'
    if not isinstance(schema.get("properties", {}), dict):
        return "the properties of its inputSchema are not an object"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "the required names of its inputSchema are not a list of names"
    return None


def _repaired(definition: dict[str, Any]) -> dict[str, Any]:
    schema = definition["inputSchema"]
    if "type" in schema:
        return definition
    return {**definition, "inputSchema": {"type": "object", **schema}}


def _shown(definition: object, position: int) -> str:
    """Name a skipped tool: by its name if it has one, else by its place in the list."""
    name = definition.get("name") if isinstance(definition, dict) else None
    if isinstance(name, str) and name:
        return printable(name, _SHOWN_CHARACTERS)
    return f"#{position + 1}"
