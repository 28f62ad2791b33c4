"""Why a cloud does not do what it was asked. Everything local goes on.

BackendError
├── CloudKeyMissingError    cloud_key_missing: cloud mode requires PML_API_KEY
├── CloudOfflineError       cloud_offline: it cannot be reached, or went away
├── CloudRefusedError       cloud_refused: it does not accept the key, or the rate
└── OwnKeysMissingError     keys_missing: a tool needs a key of the user's
"""

from collections.abc import Sequence

from pml.backends.errors import BackendError
from sandbox_host.errors import printable

_LOCAL = "local tools go on working"


class CloudKeyMissingError(BackendError):
    """There is no key for the cloud."""

    code = "cloud_key_missing"

    def __init__(self) -> None:
        """Say how to give it one."""
        super().__init__(
            "Cloud mode requires PML_API_KEY",
            hint='set it in the environment or `.env`, with "apiKey": "${PML_API_KEY}" in `cloud` '
            f"of `.pml.json`; {_LOCAL}",
        )


class CloudOfflineError(BackendError):
    """The cloud cannot be reached, or went away in the middle."""

    code = "cloud_offline"

    def __init__(self, host: str, reason: str) -> None:
        """Name it and why."""
        super().__init__(
            f"the cloud at {host} cannot be reached: {printable(reason, 300)}", hint=_LOCAL
        )


class CloudRefusedError(BackendError):
    """The cloud does not want us."""

    code = "cloud_refused"

    def __init__(self, host: str, reason: str) -> None:
        """Name it and why."""
        super().__init__(f"the cloud at {host} {reason}", hint=_LOCAL)


class OwnKeysMissingError(BackendError):
    """A tool works with the user's own key, and there is none that it may have."""

    code = "keys_missing"

    def __init__(self, tool: str, names: Sequence[str]) -> None:
        """Name the keys, by the word of a cloud."""
        shown = ", ".join(printable(name, 80) for name in names)
        super().__init__(
            f"`{tool}` needs {shown}",
            hint="set it in the environment or `.env`, and name it in `cloud.keys` of `.pml.json`",
        )
