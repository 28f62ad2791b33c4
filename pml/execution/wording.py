"""A question to the human in words: the same ones on a terminal and in a client's dialog. Pure.

What a program or a server chose (tool, arguments, source) is untrusted: one line each, escaped,
so that it cannot look like words of ours.
"""

from pml.execution.approvals import Approval
from sandbox_host.errors import printable

_HASH_CHARACTERS = 12
_WHAT = {
    "uncertain": "may have been made",
    "install": "wants to be made, and something installed for it",
    "integrity": "wants to be made, with something that is not what it was",
    "keys": "cannot be made yet",
}
_MOST_CHARACTERS = 2500  # of one line: arguments come capped at 2,000


def described(question: Approval) -> str:
    """Give a question as lines."""
    what = _WHAT.get(question.kind, "wants to be made")
    lines = [
        f"the call {_flat(question.tool)} {what} (question {question.id}, run {question.run})",
        f"  arguments  {_flat(question.arguments)}",
        f"  {'rule' if question.need is None else 'needs':9}  {_rule(question)}",
    ]
    if question.need is not None:
        lines += [f"             {_flat(one)}" for one in question.need.get("details", ())]
    if question.within:
        lines.append(f"  within     {_flat(question.within)}")
    if question.line:
        source = f": {_flat(question.source_line.strip())}" if question.source_line else ""
        lines.append(f"  program    line {question.line}{source}")
    lines.append(f"  code       {question.code_hash[:_HASH_CHARACTERS]}")
    lines.append(f"  sandbox    {question.level or 'unknown'}")
    return "\n".join(lines)


def _rule(question: Approval) -> str:
    if question.reason:
        return _flat(question.reason)
    if question.kind == "uncertain":
        return "the process ended while this call was under way"
    if question.rule is None:
        return "no rule fits, so it is asked"
    return f"{_flat(question.rule)} in {question.place or '.pml.json'}"


def _flat(text: str) -> str:
    return printable(text, _MOST_CHARACTERS).replace("\n", "\\n")
