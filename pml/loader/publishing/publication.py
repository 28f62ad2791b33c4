"""What is published, and what becomes of it: values that both ends know."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any

from pml.fqdn import Fqdn
from pml.loader.metadata import McpType
from pml.routing import Routing


class Outcome(enum.StrEnum):
    """What publishing changed at the registry."""

    PUBLISHED = "published"
    """There is a new version, and it is current."""

    RESTORED = "restored"
    """An older version is current again."""

    UNCHANGED = "unchanged"
    """It was the current version already."""


@dataclasses.dataclass(frozen=True, slots=True)
class Publication:
    """What is to be published; made by `reading` alone."""

    fqdn: Fqdn
    """Without a hash."""

    kind: McpType
    routing: Routing
    description: str
    tools: tuple[str, ...]
    """Tool ids, all in the namespace of the name."""

    metadata: Mapping[str, Any]
    """As it is served, without `fqdn` and `integrity`, which say what the hash is."""

    sha256: str
    """Of the code, of the package's tree, or of the metadata: by kind."""

    content: bytes = b""
    """The code; of a server there is none."""

    @property
    def version(self) -> Fqdn:
        """The name with its hash."""
        return self.fqdn.with_hash(self.sha256)

    @property
    def integrity(self) -> str:
        """The hash in the form that lockfiles keep."""
        return f"sha256-{self.sha256}"


@dataclasses.dataclass(frozen=True, slots=True)
class Draft:
    """A file that is ready to be sent."""

    file: str
    """As it was named, for messages."""

    publication: Publication
    content: bytes = dataclasses.field(repr=False)
    """The file as it is: of a server, the metadata as it was written."""
