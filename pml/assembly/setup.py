"""All that is known of a workspace before anything starts: read and checked, and nothing started.

`prepare` reads the configuration as far as a human has trusted it, looks keys up and finds out
what the machine's OS sandbox can do. Above: the commands and the gateway. Below: `pml.trust`.
"""

import dataclasses
import secrets
from collections.abc import Mapping
from pathlib import Path

from pml.config import Config, ServerConfig
from pml.confinement import Support, probe
from pml.keys import Keys, environ_with
from pml.places import state_folder, workspace_state
from pml.trust import Effective, Loaded, load_trusted
from pml.workspace import LOCKFILE, Workspace


@dataclasses.dataclass(frozen=True, slots=True)
class Setup:
    """All that a gateway of one workspace needs to know before anything starts."""

    workspace: Path
    config: Config
    support: Support
    environ: Mapping[str, str]
    user_home: Path
    state: Path
    """The workspace's folder in the user's state."""

    keys: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Keys that were looked up for the configuration, to be masked wherever they appear."""

    loaded: Loaded | None = None
    """What was read of the file, for a verdict of Always to be added to."""

    frozen: bool = False
    """Nothing new is locked, pinned or installed: a call that needs it fails."""

    mark: str = dataclasses.field(default_factory=lambda: secrets.token_hex(4), compare=False)
    """Tells the temporary folders of two setups in one process apart: one may end first."""

    @property
    def servers(self) -> tuple[ServerConfig, ...]:
        """The servers that can be used, those defined as a registry would included."""
        private = (mcp.server for mcp in self.config.private_mcps)
        return (*self.config.servers, *private)

    @property
    def folder(self) -> Path:
        """Where `.pml.json` and the lockfile are."""
        return self.loaded.folder if self.loaded is not None else self.workspace

    @property
    def lockfile(self) -> Path:
        """Where the lockfile is, or would be."""
        return self.folder / LOCKFILE

    @property
    def fetches(self) -> bool:
        """Whether anything here comes from a registry, or may."""
        return bool(self.config.registries) or self.lockfile.is_file()


@dataclasses.dataclass(frozen=True, slots=True)
class Prepared:
    """A setup, and what the human should know of it."""

    setup: Setup
    effect: Effective
    warnings: tuple[str, ...] = ()


def prepare(
    workspace: Workspace, environ: Mapping[str, str], home: Path, *, frozen: bool = False
) -> Prepared:
    """Read what of a workspace's configuration may be used now; without a file, the defaults.

    Raises a `ConfigError` for a file that cannot be used at all.
    """
    state = workspace_state(state_folder(environ, home), workspace.path)
    keys = Keys(environ, workspace.path)
    loaded, effect = load_trusted(workspace.path, environ_with(keys), home, keys)
    root = effect.config.workspace or workspace.path
    facts = root, effect.config, probe(environ), environ, home, state, keys.used, loaded
    setup = Setup(*facts, frozen=frozen)
    own = (workspace.warning,) if workspace.warning else ()
    return Prepared(setup, effect, (*own, *keys.warnings))
