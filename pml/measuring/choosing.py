"""Which tool of a server may be called to measure it. Pure.

Only one that the policy allows without a question, that says itself that it only reads, and that
needs no arguments: nothing here may change anything, and nobody is asked for a measurement.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from pml.config import Permissions
from pml.model import Outcome, Tool
from pml.policy import decide

MOST_TRIED = 3
"""Tools of one server that are tried, where the first ones answer with errors."""

_WORDS = {
    "asks": "{} would ask",
    "denied": "{} denied",
    "writes": "{} not marked as read-only",
    "arguments": "{} need arguments",
}


def callable_tools(
    tools: Sequence[Tool], permissions: Permissions, caution: Callable[[str], str | None]
) -> tuple[tuple[Tool, ...], str]:
    """Give the tools that may be called, and in words why the others are not."""
    found, others = [], Counter[str]()
    for tool in tools:
        reason = _reason(tool, permissions, caution)
        if reason is None:
            found.append(tool)
        else:
            others[reason] += 1
    why = ", ".join(words.format(others[one]) for one, words in _WORDS.items() if others[one])
    return tuple(found[:MOST_TRIED]), why or "it has no tools"


def _reason(
    tool: Tool, permissions: Permissions, caution: Callable[[str], str | None]
) -> str | None:
    outcome = decide(tool.id, permissions).outcome
    if outcome is Outcome.DENY:
        return "denied"
    if outcome is not Outcome.ALLOW or caution(tool.name) is not None:
        return "asks"
    annotations = tool.definition.get("annotations")
    if not isinstance(annotations, dict) or annotations.get("readOnlyHint") is not True:
        return "writes"
    return "arguments" if tool.input_schema.get("required") else None
