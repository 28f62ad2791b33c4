"""Finding the tool for a task among those of all servers, told so that a program can call it.

    index = ToolIndex()
    index.update("filesystem", listing.tools)
    wanted = Wanted("read a file")
    answer = answered(wanted, find(index, wanted, visible=...), notes={})

Owns the ranking, the TypeScript form of a tool, and listings kept on disk. Does not know servers,
policy or MCP: who has tools and which may be seen is told by the gateway, above. What servers say
is untrusted and leaves this room escaped and capped.
"""

from pml.discovery.answer import Answer, answered
from pml.discovery.declarations import call_path, declaration
from pml.discovery.finding import DEFAULT_LIMIT, MOST_LIMIT, Found, Wanted, find
from pml.discovery.index import Hit, ToolIndex
from pml.discovery.store import ListingStore, definition_hash

__all__ = [
    "DEFAULT_LIMIT",
    "MOST_LIMIT",
    "Answer",
    "Found",
    "Hit",
    "ListingStore",
    "ToolIndex",
    "Wanted",
    "answered",
    "call_path",
    "declaration",
    "definition_hash",
    "find",
]
