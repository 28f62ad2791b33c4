"""The keys that servers of a registry are given: those that they require, and masked everywhere.

Looked up when a call asks for them, and again whenever `.env` was written since: a key that is
added there is found without a restart.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from pml.keys import Keys
from pml.keys.lookup import FILE_NAME as DOTENV
from pml.redaction import Redactor, secrets_of


class HandedKeys:
    """The values of required variables, by name."""

    def __init__(
        self, environ: Mapping[str, str], workspace: Path, redactors: Sequence[Redactor]
    ) -> None:
        """Look nothing up yet; `redactors` learn whatever is found."""
        self._environ = environ
        self._workspace = workspace
        self._redactors = redactors
        self._seen: object = None
        self._values: dict[str, str] = {}

    @property
    def place(self) -> Path:
        """Where a human may set them."""
        return self._workspace / DOTENV

    def missing(self, names: Sequence[str]) -> tuple[str, ...]:
        """Look up what is not known; name what is nowhere. Raises an `EnvFileError`."""
        if not names:
            return ()
        now = _stamp(self.place)
        if now != self._seen:
            self._seen, self._values = now, {}
        unknown = [name for name in names if name not in self._values]
        if unknown:
            self._look_up(unknown)
        return tuple(name for name in unknown if name not in self._values)

    def values(self, names: Sequence[str]) -> dict[str, str]:
        """Give what was found of these; looks nothing up."""
        return {name: self._values[name] for name in names if name in self._values}

    def _look_up(self, names: Sequence[str]) -> None:
        keys = Keys(self._environ, self._workspace)
        found = {name: keys.lookup(name) for name in names}
        new = {name: one.value for name, one in found.items() if one is not None}
        self._values |= new
        for redactor in self._redactors:
            redactor.learn(secrets_of(new))


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    try:
        facts = os.stat(path)  # noqa: PTH116 - at every call
    except OSError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
