"""What the human last trusted of a workspace, as a value. Pure; `store.py` keeps it on disk."""

import dataclasses

from pml.trust.statement import Statement


@dataclasses.dataclass(frozen=True, slots=True)
class TrustRecord:
    """What the human said yes to."""

    statement: Statement
    lockfile: str | None = None
    """The sha256 of `.pml/mcp.lock`; None if there was none."""

    at: str = ""
    """When, ISO 8601."""

    @property
    def sha256(self) -> str:
        """Give the hash of the statement."""
        return self.statement.sha256


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """What was found: a record, or perhaps why there is none."""

    record: TrustRecord | None = None
    problem: str | None = None


def trust_added_allow(record: TrustRecord, tool: str) -> TrustRecord:
    """Give the record after the human said Always to a tool: that rule more, nothing else."""
    rules = record.statement.permissions
    if tool in rules.allow:
        return record
    more = dataclasses.replace(rules, allow=(*rules.allow, tool))
    return dataclasses.replace(
        record, statement=dataclasses.replace(record.statement, permissions=more)
    )
