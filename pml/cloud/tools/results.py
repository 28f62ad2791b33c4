"""Facts as the results of tools: `structuredContent`, the same as one text block. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from pml.errors import PmlError
from sandbox_host import SandboxError

Result = dict[str, Any]


def of_facts(facts: Mapping[str, Any], *, is_error: bool = False) -> Result:
    """Give facts as a result."""
    text = json.dumps(facts, ensure_ascii=False, separators=(",", ":"))
    result: Result = {
        "content": [{"type": "text", "text": text}],
        "structuredContent": dict(facts),
    }
    return {**result, "isError": True} if is_error else result


def of_report(report: Mapping[str, Any]) -> Result:
    """Give a run's report, without what says nothing."""
    lean = {
        key: value
        for key, value in report.items()
        if key in ("status", "result") or (value is not None and value != [])
    }
    return of_facts(lean, is_error=report.get("status") == "error")


def of_error(error: PmlError | SandboxError) -> Result:
    """Give an error of ours."""
    facts = {"status": "error", "code": error.code, "message": error.message, "hint": error.hint}
    return of_facts({key: value for key, value in facts.items() if value}, is_error=True)


def of_value(value: Any) -> Result:
    """Give what a capability returned, as a server would."""
    if isinstance(value, dict):
        return of_facts(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}]}
