"""Decides where a tool runs. The platform decides, not the user; and never against the user.

A table is two lists of patterns. The narrowest pattern that speaks of a tool decides; of two that
are equally narrow `client`; what no pattern speaks of stays here. Above all patterns stand the
namespaces that stay: servers that the user configured, built-ins, and those that the embedded
table keeps at home. No table, whoever sent it, moves them to the cloud: local execution never
goes there.
"""

import dataclasses
import enum
import fnmatch
from collections.abc import Iterable
from typing import Self

from pml.routing.errors import RoutingWordError

_WILD = "*?"
_ANY = "*"


class Routing(enum.StrEnum):
    """Where a tool runs."""

    CLIENT = "client"
    """On the user's machine."""

    SERVER = "server"
    """At the cloud."""

    @classmethod
    def read(cls, text: str) -> "Routing":
        """Give what a word means, `local` and `cloud` too; raises `RoutingWordError`."""
        word = _SYNONYMS.get(text, text)
        try:
            return cls(word)
        except ValueError:
            raise RoutingWordError(text) from None


_SYNONYMS = {"local": "client", "cloud": "server"}

CLIENT_NAMESPACES = (
    "database", "docker", "filesystem", "git", "kubernetes", "postgres", "process", "shell",
    "sqlite", "ssh",
)  # fmt: skip
"""What must reach the user's own files, programs and machines."""

SERVER_NAMESPACES = (
    "algo", "api", "brave_search", "collections", "color", "context7", "crypto", "datetime",
    "diff", "exa", "fetch", "format", "geo", "github", "http", "json", "magic", "math", "memory",
    "plots", "pml", "resilience", "schema", "sequential-thinking", "slack", "state", "std",
    "string", "tavily", "transform", "validation",
)  # fmt: skip
"""What speaks to other people's machines, or to none."""

CLIENT_TOOLS = ("std:agent_*",)
"""Agents act for the user, with the user's tools."""


@dataclasses.dataclass(frozen=True, slots=True)
class RoutingTable:
    """What runs where."""

    client: tuple[str, ...] = ()
    server: tuple[str, ...] = ()
    """Patterns: `server`, `server:*`, `server:tool`, globs."""

    version: str = "embedded"
    staying: frozenset[str] = frozenset()
    """Namespaces that stay here whatever the patterns say."""

    def of(self, tool_id: str) -> Routing:
        """Say where a tool runs; what is no tool id, or unknown, stays here."""
        namespace, colon, action = tool_id.partition(":")
        if not colon or not action or namespace in self.staying:
            return Routing.CLIENT
        home, away = _narrowest(self.client, tool_id), _narrowest(self.server, tool_id)
        return Routing.SERVER if away > home else Routing.CLIENT

    def of_all(self, tool_ids: Iterable[str]) -> Routing:
        """Say where a program runs: at the cloud if it uses tools, and all of them are there."""
        places = {self.of(tool_id) for tool_id in tool_ids}
        return Routing.SERVER if places == {Routing.SERVER} else Routing.CLIENT

    def keeping(self, namespaces: Iterable[str]) -> Self:
        """Give the table of a machine that has these itself: configured servers, built-ins."""
        return dataclasses.replace(self, staying=self.staying | frozenset(namespaces))


EMBEDDED = RoutingTable(
    client=(*CLIENT_NAMESPACES, *CLIENT_TOOLS),
    server=SERVER_NAMESPACES,
    staying=frozenset(CLIENT_NAMESPACES),
)
"""What is known without asking anybody."""


def _narrowest(patterns: Iterable[str], tool_id: str) -> tuple[int, int]:
    """Give how narrow the narrowest pattern is that speaks of a tool: (0, 0) if none does."""
    namespace, _, action = tool_id.partition(":")
    narrowest = 0, 0
    for pattern in patterns:
        server, _, tool = pattern.partition(":")
        if _fits(namespace, server) and _fits(action, tool or _ANY):
            narrowest = max(narrowest, _narrowness(f"{server}:{tool or _ANY}"))
    return narrowest


def _fits(text: str, glob: str) -> bool:
    # most names are plain, and this is asked at every call
    if _ANY not in glob and "?" not in glob:
        return text == glob
    return fnmatch.fnmatchcase(text, glob)


def _narrowness(pattern: str) -> tuple[int, int]:
    literal = sum(character not in _WILD for character in pattern)
    return (2 if literal == len(pattern) else 1, literal)
