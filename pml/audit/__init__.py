"""What happened, for the user alone: append-only JSON lines that cannot be changed unseen.

    audit = Audit(workspace_state(state, workspace), redactor)
    begun = audit.begin("call", {"tool": "git:push", "argumentHash": argument_hash(args)})
    audit.end(begun, "ok")

Every line has the hash of the one before and its own, keyed by a secret of the user (`key.py`), so
that a line changed, removed, moved or added by anybody without the key is found by `verify`. Not
found: that all files were removed together, or put back to an older state together with the head.

Above: assembly, execution, the commands. Below: redaction and the private folders.
"""

from pml.audit.arguments import argument_hash
from pml.audit.errors import AuditError, AuditKeyLostError, AuditUnavailableError
from pml.audit.log import Audit, Begun
from pml.audit.reading import Entry, entries, newest
from pml.audit.verifying import Report, verify

__all__ = [
    "Audit",
    "AuditError",
    "AuditKeyLostError",
    "AuditUnavailableError",
    "Begun",
    "Entry",
    "Report",
    "argument_hash",
    "entries",
    "newest",
    "verify",
]
