"""The values that cross rooms: tools, listings, the state of a server. Frozen, and pure.

A tool's words (name, description, schemas) are the server's and stay untrusted: whoever shows them
escapes and caps them.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, Literal


@dataclasses.dataclass(frozen=True, slots=True)
class Tool:
    """One callable of a server."""

    server: str
    name: str
    definition: Mapping[str, Any]
    """What the server said, with a missing `type` of its schema written in: `listing_of`."""

    @property
    def id(self) -> str:
        """Give the name used in configuration, permissions and messages."""
        return f"{self.server}:{self.name}"

    @property
    def description(self) -> str:
        """Give the server's words, or none."""
        words = self.definition.get("description")
        return words if isinstance(words, str) else ""

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """Give the JSON Schema of the arguments."""
        schema: Mapping[str, Any] = self.definition["inputSchema"]
        return schema


@dataclasses.dataclass(frozen=True, slots=True)
class SkippedTool:
    """A tool that the server offers and that nobody could call."""

    server: str
    name: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Listing:
    """The tools of one server."""

    tools: tuple[Tool, ...] = ()
    skipped: tuple[SkippedTool, ...] = ()


class ServerState(enum.StrEnum):
    """Where a server is in its life."""

    IDLE = "idle"
    """Not started, or stopped because nobody used it: the next call starts it."""

    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    """It crashed or did not start; the next call may try again, after a while."""

    GIVEN_UP = "given up"
    """It crashed too often: nothing starts it again in this process."""


@dataclasses.dataclass(frozen=True, slots=True)
class ServerStatus:
    """What is known of a server now."""

    name: str
    kind: str
    """`stdio` or `http`."""

    state: ServerState
    level: str
    """The level of its OS sandbox; of a remote server, `remote`."""

    pid: int | None = None
    tools: int | None = None
    """How many it listed, if it was asked."""

    protocol: str | None = None
    """The protocol version that was agreed on."""

    error: str | None = None
    """Why it last failed."""

    missing: tuple[str, ...] = ()
    """What its level of sandbox does not enforce."""


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """A word from a server about a call that is under way."""

    done: float
    total: float | None = None
    message: str | None = None


class Outcome(enum.StrEnum):
    """What the policy says of a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """What the policy says of one tool, and why. Made by `pml.policy` alone."""

    tool: str
    outcome: Outcome
    rule: str | None = None
    """The pattern that decided; None if none fits, which asks."""

    place: str | None = None
    """Where it stands: `.pml.json:4:12`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Need:
    """What is missing before a tool can be called, and only the human can give."""

    kind: Literal["install", "integrity", "keys"]
    words: str
    """One line: what is asked. Parts of it may be a stranger's."""

    token: str = ""
    """Names exactly what a yes is for; of anything else it is another."""

    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """The same for machines."""
