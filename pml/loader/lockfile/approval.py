"""What the human is asked when something is not what was locked: Story 14.7, AC14. Pure.

A value, not a prompt: who asks is above. It carries the whole hashes and every difference beside
the four digits that the seeds show, since four can be equal by chance or by design.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from pml.fqdn import HASH_CHARACTERS
from pml.loader.lockfile.locked import Changed

_WARNING = "This could indicate a legitimate update or potential MITM attack."


@dataclasses.dataclass(frozen=True, slots=True)
class IntegrityApprovalRequired:
    """A question about one changed entry, bound to exactly what came."""

    changed: Changed
    workflow_id: str

    @property
    def fqdn(self) -> str:
        """Give the name without its hash: that is what changed."""
        return self.changed.name.base

    @property
    def hashes(self) -> tuple[str, str]:
        """Give the first digits of both hashes: four, or as many as tell them apart."""
        old, new = (
            text.removeprefix("sha256-")
            for text in (self.changed.old.integrity, self.changed.integrity)
        )
        if old == new:
            return old[:HASH_CHARACTERS], new[:HASH_CHARACTERS]
        first = next(at for at, digit in enumerate(old) if digit != new[at])
        count = max(HASH_CHARACTERS, first + 1)
        return old[:count], new[:count]

    @property
    def description(self) -> str:
        """Give one line for the human."""
        what, old, new = self.changed.differences[0]
        if what == "integrity":
            what, (old, new) = "hash", self.hashes
        return f"{what.capitalize()} changed for {self.fqdn}. Old: {old}, New: {new}. {_WARNING}"

    def plain(self) -> Mapping[str, Any]:
        """Give the object of AC14, then the whole hashes and what else differs."""
        old, new = self.hashes
        return {
            "approvalRequired": True,
            "approvalType": "integrity",
            "fqdn": self.fqdn,
            "oldHash": old,
            "newHash": new,
            "oldFetchedAt": self.changed.old.fetched_at,
            "description": self.description,
            "workflowId": self.workflow_id,
            "oldIntegrity": self.changed.old.integrity,
            "newIntegrity": self.changed.integrity,
            "changes": [
                {"what": what, "old": was, "new": now}
                for what, was, now in self.changed.differences
            ],
        }
