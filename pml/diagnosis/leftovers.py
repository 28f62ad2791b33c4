"""What an end without warning left in the state folder: folders of dead processes, dead runs."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from pml.diagnosis.finding import Finding, of_problem, ok, warning
from pml.diagnosis.processes import is_alive
from pml.execution.errors import WorkflowExpiredError
from pml.execution.workflows import RunStore
from pml.trust.key import read_key

_MOST_NAMED = 20  # in one command
_ABORT = "pml workflows abort {}"


def look_for_folders(state: Path, processes: Path) -> list[Finding]:
    """Name the temporary folders of gateways that were killed."""
    if not (processes / "self").exists():
        return []
    dead = [
        path
        for path in sorted(state.glob("workspaces/*/servers/*/tmp/*"))
        if path.name.isdecimal() and not is_alive(processes, int(path.name))
    ]
    if not dead:
        return [ok("leftovers", "no temporary folders of an ended pml")]
    names = " ".join(shlex.quote(str(path)) for path in dead[:_MOST_NAMED])
    fact = f"{len(dead)} temporary folders of a pml that was killed"
    return [warning("leftovers", fact, f"rm -r -- {names}")]


def look_at_runs(folder: Path, state: Path) -> Iterator[Finding]:
    """Say which runs of a workspace wait, and which cannot go on."""
    key = read_key(state)
    if key is None:
        yield ok("runs", "none waits")
        return
    waiting, problems = RunStore(folder / "runs", key).all()
    for run, problem in problems.items():
        if isinstance(problem, WorkflowExpiredError):
            yield warning("runs", problem.message, _ABORT.format(run))
        else:
            yield of_problem("runs", problem, _ABORT.format(run))
    if waiting:
        words = "1 waits" if len(waiting) == 1 else f"{len(waiting)} wait"
        yield ok("runs", f"{words} for you: pml approvals")
    elif not problems:
        yield ok("runs", "none waits")
