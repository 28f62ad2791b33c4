"""What can go wrong with runs that wait, one class per situation a caller can act on.

WorkflowError (PmlError)
├── WorkflowUnknownError      workflow_unknown
├── WorkflowExpiredError      workflow_expired
├── WorkflowBrokenError       workflow_broken: its files are not those that were written
├── WorkflowBusyError         workflow_busy: another process has it
├── TooManyWorkflowsError     too_many_workflows
├── WorkflowTooLargeError     workflow_too_large
├── JournalBrokenError        journal_broken
├── JournalUnwritableError    journal_unwritable: what happened cannot be written down
├── RunDivergedError          run_diverged: it went on in another way than before
├── RunAbortedError           run_aborted: the human ended it
├── NeedRefusedError          install_refused, integrity_refused, keys_refused: the human said no
├── ApprovalUnknownError      approval_unknown
├── ApprovalExpiredError      approval_expired
├── ApprovalAnsweredError     approval_answered: it has a verdict already
└── VerdictUnfitError         verdict_unfit: `skip` is for calls that may have happened
"""

from pathlib import Path

from pml.errors import PmlError
from sandbox_host.errors import printable


class WorkflowError(PmlError):
    """A suspended run cannot be used."""

    code = "workflow"


class WorkflowUnknownError(WorkflowError):
    """There is no such run."""

    code = "workflow_unknown"

    def __init__(self, run: str) -> None:
        """Name it."""
        super().__init__(
            f"there is no suspended run `{printable(run, 40)}`",
            hint="pml workflows lists those that there are",
        )


class WorkflowExpiredError(WorkflowError):
    """It waited too long."""

    code = "workflow_expired"

    def __init__(self, run: str) -> None:
        """Name it."""
        super().__init__(f"the suspended run `{run}` has expired", hint="start the program anew")


class WorkflowBrokenError(WorkflowError):
    """Its files are not those that were written."""

    code = "workflow_broken"

    def __init__(self, run: str, what: str) -> None:
        """Name the part."""
        super().__init__(
            f"the suspended run `{printable(run, 40)}` cannot be trusted: {what}",
            hint="pml workflows abort ends it; start the program anew",
        )


class WorkflowBusyError(WorkflowError):
    """Another process has it."""

    code = "workflow_busy"

    def __init__(self, run: str) -> None:
        """Name it."""
        super().__init__(f"the run `{run}` is being carried out by another process")


class TooManyWorkflowsError(WorkflowError):
    """No more runs may wait: none of those that do can go, as they are answered or held."""

    code = "too_many_workflows"

    def __init__(self, most: int) -> None:
        """Name the bound."""
        super().__init__(
            f"{most} runs wait already",
            hint="answer them (pml approvals) or end them (pml workflows abort)",
        )


class WorkflowTooLargeError(WorkflowError):
    """A run that is too large to be kept."""

    code = "workflow_too_large"

    def __init__(self, size_bytes: int, most_bytes: int) -> None:
        """Name both."""
        super().__init__(
            f"the run is {size_bytes} bytes, more than the {most_bytes} that are kept on disk"
        )


class JournalBrokenError(WorkflowError):
    """Someone else wrote into a journal."""

    code = "journal_broken"

    def __init__(self, path: Path, line: int) -> None:
        """Name the line."""
        super().__init__(
            f"{path} was changed on line {line}: the run cannot be trusted any more",
            hint="pml workflows abort ends it",
        )


class JournalUnwritableError(WorkflowError):
    """What happened cannot be written down."""

    code = "journal_unwritable"

    def __init__(self, run: str, reason: str) -> None:
        """Name the reason."""
        super().__init__(
            f"the run `{run}` is stopped: what it did cannot be written down ({reason})",
            hint="make room on the disk, then pml workflows resume",
        )


class RunDivergedError(WorkflowError):
    """A program that goes on took another way than before."""

    code = "run_diverged"

    def __init__(self, call: int, before: str, now: str) -> None:
        """Name both calls."""
        super().__init__(
            f"call {call} was `{before}` before the interruption and is `{printable(now, 200)}` "
            "now; to make it could repeat what happened",
            hint="start the program anew",
        )


class RunAbortedError(WorkflowError):
    """The human ended it."""

    code = "run_aborted"

    def __init__(self, run: str) -> None:
        """Name it."""
        super().__init__(f"the run `{run}` was ended by your word")


class NeedRefusedError(WorkflowError):
    """The human did not give what a call lacks."""

    def __init__(self, tool: str, kind: str, what: str | None) -> None:
        """Name the tool and what it lacks."""
        self.code = f"{kind}_refused"
        super().__init__(f"`{printable(tool, 100)}` was not called: the user said no to: {what}")


class ApprovalUnknownError(WorkflowError):
    """There is no such question."""

    code = "approval_unknown"

    def __init__(self, approval: str) -> None:
        """Name it."""
        super().__init__(
            f"there is no question `{printable(approval, 40)}`",
            hint="pml approvals lists those that wait",
        )


class ApprovalExpiredError(WorkflowError):
    """It is too late for an answer."""

    code = "approval_expired"

    def __init__(self, approval: str) -> None:
        """Name it."""
        super().__init__(f"the question `{approval}` has expired", hint="start the program anew")


class ApprovalAnsweredError(WorkflowError):
    """It has an answer already."""

    code = "approval_answered"

    def __init__(self, approval: str) -> None:
        """Name it."""
        super().__init__(f"the question `{approval}` has been answered before")


class VerdictUnfitError(WorkflowError):
    """A verdict that this question does not take."""

    code = "verdict_unfit"

    def __init__(self, verdict: str, approval: str) -> None:
        """Name both."""
        super().__init__(f"`{verdict}` is no answer to the question `{approval}`")
