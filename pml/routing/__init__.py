"""Where a tool runs: on the user's machine, or at the cloud. Deciding is pure.

    EMBEDDED.of("tavily:search")     # Routing.SERVER
    EMBEDDED.of("nobody:knows")      # Routing.CLIENT: what is unknown stays here

`resolver.py` decides, `reading.py` reads a table that came, `syncing.py` asks a cloud for it
through a port and `cache.py` keeps it, by cloud. Above: the cloud, its client, the loader.
Below: `pml.config`, which says what a pattern looks like, and `pml.places`.
"""

from pml.routing.cache import RoutingCache
from pml.routing.errors import RoutingError, RoutingTableError, RoutingWordError
from pml.routing.reading import parse_table, table_content, table_etag
from pml.routing.resolver import EMBEDDED, Routing, RoutingTable
from pml.routing.syncing import ROUTING_PATH, Answer, Fetch, Synced, synced

__all__ = [
    "EMBEDDED",
    "ROUTING_PATH",
    "Answer",
    "Fetch",
    "Routing",
    "RoutingCache",
    "RoutingError",
    "RoutingTable",
    "RoutingTableError",
    "RoutingWordError",
    "Synced",
    "parse_table",
    "synced",
    "table_content",
    "table_etag",
]
