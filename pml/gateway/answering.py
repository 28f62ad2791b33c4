"""Outcomes as the results of tools: `structuredContent`, the same as one text block, `isError`.

One of the two places that turn errors into output; the terminal is the other. Pure.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pml.errors import PmlError
from pml.execution.report import error_report, run_report
from pml.execution.runner import Run
from pml.execution.workflows import StoredRun
from sandbox_host import Completed, Failed, Suspended, ToolError


def of_run(run: Run, workspace: Path) -> dict[str, Any]:
    """Give the result of a run that has ended, or that waits."""
    report = run_report(run)
    if run.waiting is not None:
        report["message"] = how_to_answer(run.waiting, workspace)
    if run.warnings:
        report["warnings"] = list(run.warnings)
    return of_report(report)


def of_report(report: Mapping[str, Any]) -> dict[str, Any]:
    """Give a report as a result."""
    return _result(_lean(report), is_error=report.get("status") == "error")


def of_error(error: PmlError) -> dict[str, Any]:
    """Give an error of ours: nothing was run."""
    return of_report(error_report(error))


def of_rejection(error: ToolError) -> dict[str, Any]:
    """Give a direct call that was refused or failed before its server answered."""
    facts: dict[str, Any] = {"status": "error", "code": error.code, "message": str(error)}
    if error.data is not None:
        facts["data"] = error.data
    return _result(facts, is_error=True)


def of_direct(run: Run, workspace: Path) -> dict[str, Any]:
    """Give a direct call that went through a run because the human was asked.

    One that waits is an error to the client: it has no result that fits the tool's `outputSchema`,
    and clients that check it would show the model nothing of how the human can answer.
    """
    match run.outcome:
        case Completed(value=value) if isinstance(value, dict) and "content" in value:
            return value
        case Failed(error=error):
            return _result(
                {"status": "error", "code": getattr(error, "tool_code", None) or error.code,
                 "message": error.message.removeprefix("McpError: ")},
                is_error=True,
            )  # fmt: skip
        case Suspended():
            return {**of_run(run, workspace), "isError": True}
        case _:
            return of_run(run, workspace)


def of_kept(report: Mapping[str, Any], *, direct: bool) -> dict[str, Any]:
    """Give a run that ended elsewhere, as it would have been given here."""
    result = report.get("result")
    if direct and isinstance(result, dict) and "content" in result:
        return result
    return of_report(report)


def how_to_answer(run: StoredRun, workspace: Path) -> str:
    """Say how the human gives their word, or the key that is missing."""
    then = "then continue_workflow returns the outcome"
    keys = [one.reason for one in run.pending if one.kind == "keys" and one.reason]
    if keys and len(keys) == len(run.pending):
        return f"the user must set a key: {'; '.join(keys)}; {then}"
    return f"the user must answer: `pml approve {run.id}` in a terminal, in {workspace}; {then}"


def of_facts(facts: Mapping[str, Any], text: str | None = None) -> dict[str, Any]:
    """Give a success with these facts."""
    return _result(facts, is_error=False, text=text)


def _lean(report: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what says nothing: a model reads every word."""
    lean = {
        key: value for key, value in report.items()
        if key in ("status", "result") or (value is not None and value != [])
    }  # fmt: skip
    calls = report.get("calls")
    if calls:
        keys = ("tool", "outcome", "milliseconds")
        lean["calls"] = [{key: call[key] for key in keys} for call in calls]
    return lean


def _result(
    facts: Mapping[str, Any], *, is_error: bool, text: str | None = None
) -> dict[str, Any]:
    if text is None:
        text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": text}],
        "structuredContent": dict(facts),
    }
    if is_error:
        result["isError"] = True
    return result
