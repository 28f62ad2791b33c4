"""What keeps a check from its answer, one class per situation a caller can act on.

    DiagnosisError (PmlError)
    └── SandboxUntriedError       sandbox_untried: the attempts did not run in the sandbox

What a check finds is a `Finding`, never an error.
"""

from pml.errors import PmlError
from sandbox_host.errors import printable

_WORDS = 300  # characters of what the process said


class DiagnosisError(PmlError):
    """A check has no answer."""

    code = "diagnosis"


class SandboxUntriedError(DiagnosisError):
    """The attempts did not run, so nothing is known of the sandbox."""

    code = "sandbox_untried"

    def __init__(self, reason: str) -> None:
        """Name what the process said last."""
        super().__init__(
            f"nothing could be tried in the sandbox: {printable(reason, _WORDS)}",
            hint="`pml servers` shows whether servers start here",
        )
