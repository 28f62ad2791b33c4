"""What keeps a measurement from being made.

MeasuringError
├── ResultsUnreadableError   results_unreadable: `--compare` names a file that is not ours
├── PictureUnwritableError   picture_unwritable: the picture cannot be written there
└── WrongResultError         wrong_result: what was measured did something else
"""

from pml.errors import PmlError


class MeasuringError(PmlError):
    """A measurement cannot be made."""

    code = "measuring"


class ResultsUnreadableError(MeasuringError):
    """The results to compare with are none."""

    code = "results_unreadable"

    def __init__(self, path: object, reason: str) -> None:
        """Name file and reason."""
        super().__init__(
            f"cannot compare with {path}: {reason}",
            hint="pml bench --json > FILE makes such a file",
        )


class PictureUnwritableError(MeasuringError):
    """There is no place for the picture."""

    code = "picture_unwritable"

    def __init__(self, path: object, reason: str) -> None:
        """Name file and reason."""
        super().__init__(f"cannot write the picture to {path}: {reason}")


class WrongResultError(MeasuringError):
    """What was measured did not do what it should; its time means nothing."""

    code = "wrong_result"

    def __init__(self, found: object, wanted: object) -> None:
        """Show both, cut short."""
        super().__init__(f"{found!r:.300} instead of {wanted!r:.300}")


def expect(found: object, wanted: object) -> None:
    """Refuse a measurement of something else."""
    if found != wanted:
        raise WrongResultError(found, wanted)
