"""What can go wrong with the audit, one class per situation a caller can act on.

    AuditError (PmlError)
    └── AuditUnavailableError     audit_unavailable: a line cannot be written
        └── AuditKeyLostError         audit_key_lost: there are logs, but not their key

What needs a line must not happen without it, so both stop a call.
"""

from pml.errors import PmlError


class AuditError(PmlError):
    """The audit cannot be used."""

    code = "audit"


class AuditUnavailableError(AuditError):
    """A line cannot be written; what needed it must not happen."""

    code = "audit_unavailable"

    def __init__(self, path: object, reason: str, *, hint: str | None = None) -> None:
        """Name file and reason."""
        super().__init__(
            f"the audit cannot be used: {path}: {reason}",
            hint=hint or "nothing is called that cannot be written down; mend it and try again",
        )


class AuditKeyLostError(AuditUnavailableError):
    """A key that would be made anew would hide what happened to the old one."""

    code = "audit_key_lost"

    def __init__(self, path: object, reason: str) -> None:
        """Name the key and what to do with the logs that nobody can check now."""
        super().__init__(
            path,
            f"{reason}, but there are logs made with it",
            hint="put the key back; or, if it is lost, move the files `audit*` of the folders "
            "in `workspaces` beside it away: they can no longer be verified",
        )
