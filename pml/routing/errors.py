"""What can be wrong with a word or a table of routing.

RoutingError (PmlError)
├── RoutingWordError          routing_word: neither `client` nor `server`
└── RoutingTableError         routing_table: a table that came cannot be used
"""

from pml.errors import PmlError
from sandbox_host.errors import printable

_SHOWN_CHARACTERS = 60


class RoutingError(PmlError):
    """Where something runs cannot be told."""

    code = "routing"


class RoutingWordError(RoutingError):
    """A word that names no place."""

    code = "routing_word"

    def __init__(self, text: str) -> None:
        """Name it."""
        super().__init__(
            f"`{printable(text, _SHOWN_CHARACTERS)}` is no routing",
            hint="`client` (also `local`): on this machine; `server` (also `cloud`): at the cloud",
        )


class RoutingTableError(RoutingError):
    """A table that cannot be used."""

    code = "routing_table"

    def __init__(self, reason: str) -> None:
        """Name what is wrong with it."""
        super().__init__(f"the routing table cannot be used: {reason}")
