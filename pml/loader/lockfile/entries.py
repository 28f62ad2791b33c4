"""One locked thing: the hashes of what it was when it was fetched, and what was granted to it."""

import dataclasses
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pml.discovery import definition_hash
from pml.fqdn import checked_integrity
from pml.model import Tool
from pml.routing import Routing

TYPES = ("deno", "stdio", "http")
"""How it is delivered: code, a package to install, an address."""


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclasses.dataclass(frozen=True, slots=True)
class LockEntry:
    """What is locked under one name. Every one that exists has whole hashes."""

    integrity: str
    """Of the content that its name speaks of: `deno` the code, `stdio` the package's tree, `http`
    the metadata."""

    fetched_at: str
    """`2026-01-07T12:00:00Z`."""

    type: str
    """One of `TYPES`."""

    routing: Routing
    metadata: str | None = None
    """The hash of the metadata as it was sent, where that is not the content."""

    package: str | None = None
    """What was installed: `npm:@scope/name@1.2.3`."""

    definitions: Mapping[str, str] = dataclasses.field(default_factory=_nothing)
    """The hash of each tool's definition, by the server's own name for it."""

    permissions: tuple[str, ...] = ()
    """What the human granted it: tool ids that it may call."""

    url: str | None = None
    """The registry that it came from."""

    def __post_init__(self) -> None:
        """Refuse what is no hash and no type."""
        for text in (self.integrity, *filter(None, [self.metadata]), *self.definitions.values()):
            checked_integrity(text)
        if self.type not in TYPES:
            raise ValueError(self.type)
        # plain values: an enum of another room must not make two entries differ
        object.__setattr__(self, "type", str(self.type))
        object.__setattr__(self, "routing", Routing(self.routing))
        object.__setattr__(self, "definitions", MappingProxyType(dict(self.definitions)))
        object.__setattr__(self, "permissions", tuple(self.permissions))

    def plain(self) -> dict[str, Any]:
        """Give what stands in the file; what is empty does not."""
        facts = {
            "integrity": self.integrity,
            "fetchedAt": self.fetched_at,
            "type": self.type,
            "routing": self.routing.value,
            "metadata": self.metadata,
            "package": self.package,
            "definitions": dict(sorted(self.definitions.items())),
            "permissions": list(self.permissions),
            "url": self.url,
        }
        return {name: value for name, value in facts.items() if value}


def definitions_of(tools: Iterable[Tool]) -> Mapping[str, str]:
    """Give the hashes of tools' definitions: name, description, schemas, annotations, all."""
    return {tool.name: f"sha256-{definition_hash(tool)}" for tool in tools}
