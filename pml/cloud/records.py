"""What the registry keeps, as frozen values.

An entry is one version of what somebody handed in (`Publication`); it never changes.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from pml.fqdn import Fqdn
from pml.loader.metadata import McpType
from pml.loader.publishing import Outcome
from pml.routing import Routing


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One published version."""

    fqdn: Fqdn
    """With its hash."""

    sha256: str
    kind: McpType
    routing: Routing
    tools: tuple[str, ...]
    metadata: Mapping[str, Any]
    content: bytes

    @property
    def integrity(self) -> str:
        """Give the hash in the form that lockfiles keep."""
        return f"sha256-{self.sha256}"

    @property
    def document(self) -> dict[str, Any]:
        """Give the metadata as it is served."""
        return {"fqdn": str(self.fqdn), **self.metadata, "integrity": self.integrity}


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """What became of a publication."""

    entry: Entry
    outcome: Outcome


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """One line of the catalogue: what is current of a name."""

    fqdn: str
    kind: McpType
    routing: Routing
    description: str


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """A part of the catalogue, and how much there is in all."""

    items: tuple[Item, ...]
    total: int


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """What is current of a name, without its code."""

    fqdn: Fqdn
    tools: tuple[str, ...]
    metadata: Mapping[str, Any]
