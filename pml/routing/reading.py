"""A table as it travels: JSON from and to a cloud. Pure.

    {"version": "1.0.0-3f2a9c01", "client": ["filesystem:*"], "server": ["tavily:*"],
     "default": "client"}

What comes is untrusted: checked, bounded, and never able to move what stays here.
"""

import hashlib
import json
from typing import Any

from pml.config import names
from pml.routing.errors import RoutingTableError
from pml.routing.resolver import EMBEDDED, Routing, RoutingTable

MOST_BYTES = 1 << 20
MOST_PATTERNS = 4000
"""Of each list; each costs time at every call."""

_MOST_VERSION_CHARACTERS = 100
_SYNONYMS = {Routing.CLIENT: "local", Routing.SERVER: "cloud"}
_KEYS = {"version", "default", *Routing, *_SYNONYMS.values()}


def parse_table(content: bytes) -> RoutingTable:
    """Read a table; raises `RoutingTableError`."""
    facts = _facts(content)
    reason = _complaint(facts)
    if reason is not None:
        raise RoutingTableError(reason)
    return RoutingTable(
        tuple(_list(facts, Routing.CLIENT)),
        tuple(_list(facts, Routing.SERVER)),
        facts.get("version", ""),
        EMBEDDED.staying,
    )


def table_content(table: RoutingTable) -> bytes:
    """Give what a cloud sends."""
    facts = {
        "version": table.version,
        "client": list(table.client),
        "server": list(table.server),
        "default": Routing.CLIENT.value,
    }
    return json.dumps(facts, ensure_ascii=True, separators=(",", ":")).encode()


def table_etag(table: RoutingTable) -> str:
    """Give the entity tag of what a cloud sends."""
    return f'"{hashlib.sha256(table_content(table)).hexdigest()}"'


def _facts(content: bytes) -> Any:
    """Give the JSON; None for what is none, which is no table either."""
    if len(content) > MOST_BYTES:
        reason = f"it has more than {MOST_BYTES} bytes"
        raise RoutingTableError(reason)
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _complaint(facts: Any) -> str | None:
    if not isinstance(facts, dict):
        return "it is no JSON object"
    if not facts.keys() <= _KEYS:
        return "it has an unknown key"
    version = facts.get("version", "")
    if not isinstance(version, str) or len(version) > _MOST_VERSION_CHARACTERS:
        return "its version is no short text"
    if facts.get("default", "client") not in ("client", "local"):
        return "its default is not `client`: whatever is unknown would leave the machine"
    found = (_list_complaint(facts, where) for where in Routing)
    return next(filter(None, found), None)


def _list_complaint(facts: dict[str, Any], where: Routing) -> str | None:
    if where in facts and _SYNONYMS[where] in facts:
        return f"it has both `{where}` and `{_SYNONYMS[where]}`"
    found = _list(facts, where)
    if not isinstance(found, list) or len(found) > MOST_PATTERNS:
        return f"`{where}` is no list of at most {MOST_PATTERNS} patterns"
    if not all(isinstance(one, str) and names.pattern(one) is None for one in found):
        return f"`{where}` has something that is no pattern of tools"
    return None


def _list(facts: dict[str, Any], where: Routing) -> Any:
    return facts.get(where, facts.get(_SYNONYMS[where], []))
