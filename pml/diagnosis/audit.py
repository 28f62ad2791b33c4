"""The audit of the workspace: whether its chain is whole."""

from pathlib import Path

from pml.audit import verify
from pml.diagnosis.finding import Finding, error, ok, warning

_LOOK = "pml audit verify; then find out who wrote to the file: nothing of pml changes a line"


def look_at_audit(folder: Path) -> Finding:
    """Check all lines of a workspace's folder in the state."""
    report = verify(folder)
    if report.broken is not None:
        fact = f"{report.broken}; {report.count} lines before it are whole"
        return error("audit", fact, _LOOK)
    if report.partial:
        fact = f"{report.count} lines are whole; half a line was left by a crash or a full disk"
        return warning("audit", fact, "nothing is to be done: the next record tells of it")
    return ok("audit", f"{report.count} lines, none changed" if report.count else "no lines yet")
