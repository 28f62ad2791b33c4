"""What one request works with: the configuration as it is now, its servers, rights and runs.

Made in `pml.assembly`, anew when the configuration changes; a request keeps the bench it began
with until it ends.
"""

import dataclasses
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from pml.config import Config
from pml.execution.rights import Rights
from pml.execution.runner import Human, Office, Shown
from pml.execution.workflows import RunStore
from pml.gateway.catalog import Catalog
from pml.redaction import Redactor
from sandbox_host import Limits


@dataclasses.dataclass(frozen=True, slots=True)
class Bench:
    """All that a request needs."""

    workspace: Path
    config: Config
    catalog: Catalog
    rights: Rights
    store: RunStore
    shown: Shown
    redactor: Redactor
    notes: tuple[str, ...] = ()
    """What the human should know: the model is told to pass it on."""

    def office(self, human: Human) -> Office:
        """Give where runs wait for this human."""
        return Office(self.store, human, self.shown)

    def limits(self, timeout_seconds: float | None = None) -> Limits:
        """Give what one run may use: what was configured, and no more time than was asked for."""
        given = self.config.limits
        chosen = {
            "wall_seconds": given.wall_seconds,
            "cpu_seconds": given.cpu_seconds,
            "memory_bytes": None if given.memory_mb is None else given.memory_mb << 20,
        }
        limits = Limits(**{name: value for name, value in chosen.items() if value is not None})  # type: ignore[arg-type]
        if timeout_seconds is None:
            return limits
        return dataclasses.replace(limits, wall_seconds=min(timeout_seconds, limits.wall_seconds))


class Benches(Protocol):
    """Who gives benches."""

    def using(self) -> AbstractAsyncContextManager[Bench]:
        """Give the bench of now; raises `PmlError` if the configuration cannot be used."""
