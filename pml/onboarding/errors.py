"""What can keep `pml init` from setting a workspace up, one class per situation.

    OnboardingError (PmlError)
    ├── EntryTakenError       entry_taken: `pml` in a client's file is another server
    ├── FileRefusedError      file_refused: not a file that we would write
    ├── TomlInvalidError      toml_invalid: a client's file is no TOML
    ├── CloudInvalidError     cloud_invalid: not the address of a cloud
    ├── CloudTakenError       cloud_taken: `.pml.json` names another cloud
    ├── CloudMissingError     cloud_missing: a key, and no cloud that it is for
    ├── NotTakenError         not_taken: a server that PML cannot take over
    │   └── KeyConflictError      key_conflict: a variable has another value already
    └── WriteFailedError      write_failed: one file could not be written, so none was

None repeats a value of a file: it may be a key.
"""

from pathlib import Path

from pml.config.spots import shown
from pml.errors import PmlError


class OnboardingError(PmlError):
    """The workspace cannot be set up as it is."""

    code = "onboarding"


class EntryTakenError(OnboardingError):
    """The name `pml` is another server's."""

    code = "entry_taken"

    def __init__(self, file: Path, command: str) -> None:
        """Name the file and what the entry runs."""
        super().__init__(
            f"{file} has an entry `pml` that is not PML: it runs {shown(command)}",
            hint="rename that entry, then run pml init again",
        )


class FileRefusedError(OnboardingError):
    """A file that is not written, or a folder that is not written into."""

    code = "file_refused"

    def __init__(self, file: Path, reason: str, hint: str | None = None) -> None:
        """Name file and reason."""
        super().__init__(f"{file} is left alone: {reason}", hint=hint)


class TomlInvalidError(OnboardingError):
    """A client's file cannot be read."""

    code = "toml_invalid"

    def __init__(self, file: Path, reason: str, line: int | None, column: int | None) -> None:
        """Name the place."""
        place = f":{line}:{column}" if line is not None else ""
        super().__init__(f"{file}{place}: {reason}", line=line, column=column)


class CloudInvalidError(OnboardingError):
    """No cloud can be there."""

    code = "cloud_invalid"

    def __init__(self, fact: str, hint: str | None) -> None:
        """Say what is wrong with the address."""
        super().__init__(f"the cloud's address cannot be used: {fact}", hint=hint)


class CloudTakenError(OnboardingError):
    """Another cloud is configured."""

    code = "cloud_taken"

    def __init__(self, file: Path) -> None:
        """Name the file."""
        super().__init__(f"{file} names another cloud", hint="change `cloud.url` there by hand")


class CloudMissingError(OnboardingError):
    """A key without a cloud would be used by nothing."""

    code = "cloud_missing"

    def __init__(self, file: Path) -> None:
        """Name where no cloud is."""
        super().__init__(f"{file} names no cloud that the key is for", hint="add --cloud URL")


class NotTakenError(OnboardingError):
    """A server that stays with its client; the message is the reason."""

    code = "not_taken"


class KeyConflictError(NotTakenError):
    """A variable that is needed has another value."""

    code = "key_conflict"

    def __init__(self, name: str, file: Path) -> None:
        """Name the variable, never a value."""
        super().__init__(
            f"{name} has another value already, in {file} or in the environment",
            hint=f"rename or remove {name} there, then run pml init again",
        )


class WriteFailedError(OnboardingError):
    """Writing stopped; what had been written was taken back."""

    code = "write_failed"

    def __init__(self, file: Path, reason: str, *, left: tuple[Path, ...] = ()) -> None:
        """Name the file and the reason, and what could not be taken back."""
        rest = f"; could not be put back: {', '.join(map(str, left))}" if left else ""
        super().__init__(f"{file} cannot be written: {reason}; nothing was changed{rest}")
