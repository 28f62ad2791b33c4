"""A run as plain data for machines: camelCase keys, the same ones for every failure.

Pure. The terminal's words for the same facts are in `pml/cli`.
"""

from collections.abc import Sequence
from typing import Any

from pml.errors import PmlError
from pml.execution.approvals import Approval
from pml.execution.runner import Run
from sandbox_host import (
    CallRecord,
    Completed,
    Failed,
    Log,
    SandboxError,
    Suspended,
    UncaughtToolError,
)

_APPROVAL_TYPES = {
    "call": "tool_permission",
    "install": "dependency",
    "keys": "api_key_required",
}
"""As a machine is told what kind of word is wanted; the other kinds are called what they are."""

_FOR_PEOPLE = "details"
"""A stranger's own words, shown to the human who decides about them: a model may read a report."""


def run_report(run: Run) -> dict[str, Any]:
    """Give the report of a run that has ended, or that waits."""
    match run.outcome:
        case Completed(value=value, logs=logs, calls=calls):
            facts = {"status": "success", "result": value}
        case Failed(error=error, logs=logs, calls=calls):
            facts = _failure(error)
        case Suspended(logs=logs, answered=calls):
            facts = _waiting(run)
    return {**facts, **_history(logs, calls), "refusedFiles": list(run.refused_files)}


def _waiting(run: Run) -> dict[str, Any]:
    stored = run.waiting
    return {
        "status": "approval_required",
        "workflowId": stored.id if stored else None,
        "approvals": [
            _question(one) for one in (stored.pending if stored else ()) if one.verdict is None
        ],
    }


def _question(one: Approval) -> dict[str, Any]:
    facts = {
        "id": one.id,
        "kind": one.kind,
        "approvalType": _APPROVAL_TYPES.get(one.kind, one.kind),
        "tool": one.tool,
        "arguments": one.arguments,
        "rule": one.rule,
        "within": one.within,
        "line": one.line,
    }
    if one.need is not None:
        told = {name: value for name, value in one.need.items() if name != _FOR_PEOPLE}
        facts |= {**told, "workflowId": one.run, "description": one.reason}
    return facts


def error_report(error: PmlError) -> dict[str, Any]:
    """Give the report of a run that never began."""
    return {**_failure(error), **_history((), ()), "refusedFiles": []}


def _failure(error: PmlError | SandboxError) -> dict[str, Any]:
    facts = {
        "status": "error",
        "code": error.code,
        "message": error.message,
        "line": error.line,
        "column": error.column,
        "sourceLine": getattr(error, "source_line", None),
        "hint": error.hint,
    }
    if isinstance(error, UncaughtToolError):
        facts |= {"tool": error.tool, "toolCode": error.tool_code}
    return facts


def _history(logs: Sequence[Log], calls: Sequence[CallRecord]) -> dict[str, Any]:
    return {
        "logs": [{"level": log.level, "text": log.text} for log in logs],
        "calls": [
            {
                "id": call.id,
                "tool": call.tool,
                "outcome": call.outcome,
                "milliseconds": round(call.milliseconds, 3),
                "line": call.line,
                "column": call.column,
            }
            for call in calls
        ],
    }
