"""`search`: finding tools among all that is published, by words, pattern, name or namespace."""

from collections.abc import Mapping
from typing import Any

from pml.cloud.tools.directory import ENV, FQDN, ROUTING, Contents
from pml.cloud.tools.errors import ArgumentsInvalidError
from pml.cloud.tools.results import Result, of_facts
from pml.discovery import DEFAULT_LIMIT, MOST_LIMIT, Wanted, find
from pml.model import Tool
from pml.routing import Routing
from sandbox_host.errors import printable

MOST_TOOLS = 2_000
"""Of one namespace."""

_DESCRIPTION_CHARACTERS = 2_000
_TEXTS = ("query", "pattern", "name")


def search(contents: Contents, arguments: Mapping[str, Any]) -> Result:
    """Give what fits; raises `ArgumentsInvalidError`."""
    for one in arguments:
        if one not in (*_TEXTS, "server", "limit"):
            raise ArgumentsInvalidError("search", f"`{one}` is not known")
    for one in (*_TEXTS, "server"):
        if not isinstance(arguments.get(one, ""), str):
            raise ArgumentsInvalidError("search", f"`{one}` is a text")
    limit = arguments.get("limit", DEFAULT_LIMIT)
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LIMIT:
        raise ArgumentsInvalidError("search", f"`limit` is a number from 1 to {MOST_LIMIT}")
    if "server" in arguments:
        return _all_of(contents, arguments["server"])
    query, pattern, name = (arguments.get(one) for one in _TEXTS)
    wanted = Wanted(query, pattern, name, limit)
    found = find(contents.index, wanted)
    facts: dict[str, Any] = {
        "tools": [_told(hit.tool) for hit in found.hits],
        "total": found.total,
    }
    if not found.hits:
        facts["namespaces"] = dict(found.servers)
        facts["nearest"] = list(found.nearest)
    return of_facts(facts)


def _all_of(contents: Contents, server: str) -> Result:
    """Give all tools of a namespace, for whoever offers them on."""
    found = [tool for tool in contents.index.tools() if tool.server == server]
    return of_facts({"tools": [_told(tool) for tool in found[:MOST_TOOLS]], "total": len(found)})


def _told(tool: Tool) -> dict[str, Any]:
    meta = tool.definition.get("_meta", {})
    return {
        "id": tool.id,
        "fqdn": meta.get(FQDN),
        "routing": meta.get(ROUTING, Routing.SERVER.value),
        "description": printable(tool.description, _DESCRIPTION_CHARACTERS),
        "inputSchema": dict(tool.input_schema),
        "envRequired": meta.get(ENV, []),
    }
