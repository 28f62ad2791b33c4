"""Why a tool is not called as its server lists it now.

PinError (PmlError)
├── ToolChangedError          definition_changed: it is not what was pinned, and nobody was asked
├── PinsDamagedError          pins_damaged: what we wrote down is not what we wrote
└── PinsUnwritableError       pins_unwritable: what cannot be pinned is not used
"""

from pathlib import Path

from pml.errors import PmlError
from sandbox_host.errors import printable


class PinError(PmlError):
    """A tool cannot be compared with its pin, or is not as it was pinned."""

    code = "pins"


class ToolChangedError(PinError):
    """A tool changed between the question whether it may be called and the call."""

    code = "definition_changed"

    def __init__(self, tool: str) -> None:
        """Name the tool; what is new about it is a stranger's word, and not told here."""
        super().__init__(
            f"`{printable(tool, 200)}` was not called: its definition is not the pinned one",
            hint="make the call again: the user is asked about what changed",
        )


class PinsDamagedError(PinError):
    """A file of pins that we did not write so."""

    code = "pins_damaged"

    def __init__(self, path: Path, reason: str) -> None:
        """Name the file and the reason."""
        super().__init__(
            f"the pins in {path} cannot be used: {reason}",
            hint="look at who changed it; without the file, the server's tools are pinned anew",
        )


class PinsUnwritableError(PinError):
    """The file cannot be written."""

    code = "pins_unwritable"

    def __init__(self, path: Path, reason: str) -> None:
        """Name the file and the reason."""
        super().__init__(f"the tools cannot be pinned in {path}: {reason}")
