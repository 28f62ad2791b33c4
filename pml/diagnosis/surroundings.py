"""Where the doctor looks; nothing of it is asked for elsewhere, so that a test can choose it."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from pml.places import state_folder
from sandbox_host.engine.compiled import default_folder
from sandbox_host.engine.runtime import GUEST_FOLDER


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """A machine, as seen from one folder of one user."""

    cwd: Path
    environ: Mapping[str, str]
    home: Path
    guest_folder: Path = GUEST_FOLDER
    """What the build left: the guest and the manifest of its hashes."""

    processes: Path = Path("/proc")

    @property
    def state(self) -> Path:
        """The user's folder for state."""
        return state_folder(self.environ, self.home)

    @property
    def compiled(self) -> Path:
        """The user's folder for compiled guests."""
        return default_folder(self.environ)
