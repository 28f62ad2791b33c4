"""The system's keyring, through the optional package `keyring`; never longer than a moment.

A keyring may be locked and ask on a screen that nobody sees, so it is asked on a thread of its
own, and left alone after the first time that it did not answer.
"""

import threading
from typing import Any, Protocol

SERVICE = "pml"
"""Under which keys are kept: `keyring set pml GITHUB_TOKEN`."""

_SECONDS = 2.0  # an unlocked keyring answers in milliseconds
_UNUSABLE = ("keyring.backends.fail", "keyring.backends.null")
_REASONS: dict[type[Exception], str] = {
    ModuleNotFoundError: "the package `keyring` is not installed",
    LookupError: "this system has no keyring",
}


class KeyStore(Protocol):
    """Who keeps keys by name."""

    def get(self, name: str) -> str | None:
        """Give a key, None if there is none or no answer."""


class SystemKeyring:
    """The keyring of the user's desktop, if there is one."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        """Import nothing yet."""
        self._seconds = seconds
        self.problem: str | None = None
        """Why it is no longer asked."""

    def get(self, name: str) -> str | None:
        """Give a key; every trouble of the keyring means that it has none."""
        if self.problem is not None:
            return None
        answer: list[str | None] = []
        problems: list[str] = []

        def ask() -> None:
            try:
                answer.append(_ask(name))
            except Exception as error:  # noqa: BLE001 - backends raise what they like
                problems.append(_REASONS.get(type(error), type(error).__name__))

        thread = threading.Thread(target=ask, name="keyring", daemon=True)
        thread.start()
        thread.join(self._seconds)
        if thread.is_alive():
            problems.append(f"the keyring did not answer within {self._seconds:g} s")
        self.problem = problems[0] if problems else None
        return answer[0] if answer else None


def _ask(name: str) -> str | None:
    import keyring  # noqa: PLC0415 - optional, and slow to import

    backend: Any = keyring.get_keyring()
    if type(backend).__module__ in _UNUSABLE:
        raise LookupError
    value = backend.get_password(SERVICE, name)
    return value if isinstance(value, str) else None
