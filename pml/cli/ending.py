"""How a run ended, in words and as an exit code."""

from typing import TYPE_CHECKING

from pml.cli.console import Console, shown
from pml.cli.excerpt import excerpt
from pml.cli.exits import APPROVAL, DONE, FAILED
from pml.cli.source import Source

if TYPE_CHECKING:
    from pml.execution.approvals import Approval
    from pml.execution.runner import Run
    from sandbox_host import SandboxError

# Where the library names a field of `Limits`, the command line has an option.
_LIMIT_HINTS = {
    "cpu_limit": "do less work per run, or allow more with --cpu SECONDS",
    "wall_limit": "split the work, or allow more with --timeout SECONDS",
    "memory_limit": "keep less at a time, or allow more with --memory MB",
}


def print_run(console: Console, ended: "Run", source: Source, *, as_json: bool) -> int:
    """Print a run that has ended, or that waits."""
    from pml.execution.report import run_report  # noqa: PLC0415 - loads the sandbox
    from sandbox_host import Completed, Failed  # noqa: PLC0415 - loaded by now

    outcome = ended.outcome
    if isinstance(outcome, Failed):
        outcome.error.hint = _LIMIT_HINTS.get(outcome.error.code, outcome.error.hint)
    if as_json:
        console.document(run_report(ended))
        return _exit_code(ended)
    for log in outcome.logs:
        console.log(log.level, log.text)
    for warning in ended.warnings:
        console.warning(warning)
    for refused in ended.refused_files:
        console.warning(f"refused to write {refused}")
    if isinstance(outcome, Completed):
        console.result(outcome.value)
    elif isinstance(outcome, Failed):
        _print_error(console, outcome.error, source)
    else:
        _print_waiting(console, ended)
    return _exit_code(ended)


def _exit_code(ended: "Run") -> int:
    from sandbox_host import Completed, Suspended  # noqa: PLC0415 - loaded by now

    if isinstance(ended.outcome, Suspended):
        return APPROVAL
    error = getattr(ended.outcome, "error", None)
    if str(getattr(error, "tool_code", "")).startswith("untrusted"):
        return APPROVAL
    return DONE if isinstance(ended.outcome, Completed) else FAILED


def _print_error(console: Console, error: "SandboxError", source: Source) -> None:
    place = excerpt(source.name, source.text, error.line, error.column)
    console.error(error.message, excerpt=place, hint=error.hint)


def _print_waiting(console: Console, ended: "Run") -> None:
    stored = ended.waiting
    if stored is None:
        console.error("the program waits for an answer, and nobody gives one")
        return
    waiting = [one for one in stored.pending if one.verdict is None]
    for one in waiting:
        console.warning(f"`{one.tool}` {_wanted(one)} (question {one.id})")
    console.warning(f"the run waits as {stored.id}")
    # a key that is missing takes no word: the run goes on once it is there
    keys_alone = all(one.kind == "keys" for one in waiting)
    console.hint(f"pml {'workflows resume' if keys_alone else 'approve'} {stored.id}")


def _wanted(one: "Approval") -> str:
    if one.need is None or one.reason is None:
        return "needs your approval"
    return f"waits: {shown(one.reason)}"
