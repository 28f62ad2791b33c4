"""What waits for the human's word, and what can be wrong with where that word is kept.

    UntrustedError (ConfigError)
    ├── UntrustedWorkspaceError   untrusted_workspace: nobody has trusted this configuration yet
    └── UntrustedChangeError      untrusted_change: it says more than what was trusted
    TrustError (PmlError)
    ├── TrustKeyError             trust_key: the key that seals what was trusted cannot be used
    ├── NothingTrustedError       nothing_trusted: there is no record that could be added to
    └── TrustNeedsHumanError      trust_needs_human: no terminal on which to ask

An untrusted server is unusable by one of the first two; nothing else of the gateway stops.
"""

from collections.abc import Sequence
from pathlib import Path

from pml.config.errors import ConfigError
from pml.config.spots import Spot, shown
from pml.errors import PmlError

HINT = "pml trust"


class UntrustedError(ConfigError):
    """The human has not said yes to this."""

    code = "untrusted"


class UntrustedWorkspaceError(UntrustedError):
    """Nobody has trusted this workspace: its commands come from whoever wrote the file."""

    code = "untrusted_workspace"

    def __init__(self, spot: Spot, problem: str | None = None) -> None:
        """Say why what was trusted does not count, if there was something."""
        more = f": {problem}" if problem else ""
        super().__init__(f"this workspace is not trusted yet{more}", spot, hint=HINT)


class UntrustedChangeError(UntrustedError):
    """A server is not the one that was trusted."""

    code = "untrusted_change"

    def __init__(self, spot: Spot, server: str, changed: Sequence[str]) -> None:
        """Name the server and what differs."""
        what = f": {', '.join(map(shown, changed))}" if changed else ""
        kind = "was changed since you trusted it" if changed else "is new since you trusted this"
        super().__init__(f"server `{shown(server)}` {kind}{what}", spot, hint=HINT)


class TrustError(PmlError):
    """What was trusted cannot be kept or asked for."""

    code = "trust"


class TrustKeyError(TrustError):
    """The user's key is not one."""

    code = "trust_key"

    def __init__(self, path: Path, reason: str) -> None:
        """Name the file and the reason."""
        super().__init__(
            f"{path} is no key of yours: {reason}",
            hint=f"remove {path}, then run `pml trust` in each workspace again",
        )


class NothingTrustedError(TrustError):
    """There is nothing to add to."""

    code = "nothing_trusted"

    def __init__(self, problem: str | None) -> None:
        """Say what became of the record, if there was one."""
        more = f": {problem}" if problem else ""
        super().__init__(f"this workspace is not trusted yet{more}", hint=HINT)


class TrustNeedsHumanError(TrustError):
    """Nobody can be asked."""

    code = "trust_needs_human"

    def __init__(self) -> None:
        """Say where the question would be put."""
        super().__init__(
            "trust needs your word, and there is no terminal to ask on",
            hint="run `pml trust` yourself, in a terminal",
        )


def server_spot(file: Path | None, section: str, name: str) -> Spot:
    """Give the place of a server."""
    return Spot(file or Path(".pml.json"), path=(section, name))
