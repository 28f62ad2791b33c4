"""What can be wrong with `.env`, one class per situation a caller can act on.

    EnvFileError (PmlError)
    ├── EnvFileUnreadableError    env_file_unreadable: it cannot be opened, or is too large
    ├── EnvFileUnsafeError        env_file_unsafe: others decide what is in it
    └── EnvFileInvalidError       env_file_invalid: a line that means nothing, by its number

None repeats anything of the file: it may be a key.
"""

from pml.errors import PmlError


class EnvFileError(PmlError):
    """The workspace's `.env` cannot be used."""

    code = "env_file"


class EnvFileUnreadableError(EnvFileError):
    """It cannot be read."""

    code = "env_file_unreadable"

    def __init__(self, path: object, reason: str) -> None:
        """Name file and reason."""
        super().__init__(f"{path} cannot be read: {reason}")


class EnvFileUnsafeError(EnvFileError):
    """Somebody else may have written it."""

    code = "env_file_unsafe"

    def __init__(self, path: object, reason: str, hint: str) -> None:
        """Name file and reason."""
        super().__init__(f"{path} is not used: {reason}", hint=hint)


class EnvFileInvalidError(EnvFileError):
    """A line cannot be understood."""

    code = "env_file_invalid"

    def __init__(self, path: object, line: int, reason: str, hint: str | None = None) -> None:
        """Name the line."""
        super().__init__(f"{path}:{line}: {reason}", hint=hint, line=line)
