"""The values of this room: how strong a confinement is, what a server may, what came of it.

Frozen, and pure. `confine` in `confining.py` turns a `Program`, its `Grants` and `Places` into a
`Confined`, which is all that the backend needs to start and to end the process.
"""

import dataclasses
import enum
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Level(enum.StrEnum):
    """How strongly a server is confined. Chosen by a probe, never by a failing start."""

    FULL = "full"
    """Own namespaces (bubblewrap), and within them Landlock, seccomp and limits."""

    LANDLOCK = "landlock"
    """Landlock, seccomp and limits, beside a supervisor."""

    PARTIAL = "partial"
    """Seccomp and limits: nothing guards the file system."""

    OFF = "off"
    """A clean environment and limits only."""

    def at_least(self, other: "Level") -> bool:
        """Say whether this level is as strong as the other."""
        return _STRENGTH.index(self) >= _STRENGTH.index(other)


_STRENGTH = (Level.OFF, Level.PARTIAL, Level.LANDLOCK, Level.FULL)


@dataclasses.dataclass(frozen=True, slots=True)
class Support:
    """What this machine can do, as found by `probe`."""

    best: Level
    landlock_abi: int = 0
    """0: none."""

    bwrap: Path | None = None
    bwrap_version: str | None = None
    reason: str | None = None
    """Why the best level is not `full`."""

    hint: str | None = None
    """How to get there."""


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """A server's command as it is configured."""

    command: str
    args: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Bounds that the kernel keeps, each for one process unless said otherwise."""

    memory_bytes: int = 2 << 30
    """Of data (RLIMIT_DATA): of address space node reserves far more than it uses."""

    processes: int = 64
    """Of the whole server; only at level full, where they are counted per sandbox."""

    open_files: int = 1024
    file_bytes: int = 4 << 30
    """Of one written file, so that a log does not fill the disk."""


@dataclasses.dataclass(frozen=True, slots=True)
class Grants:
    """What a server may beyond its own program. The default is nothing."""

    fs_read: tuple[Path, ...] = ()
    fs_write: tuple[Path, ...] = ()
    net: bool | tuple[str, ...] = False
    """False: no socket. True: TCP to the ports of the web and of DNS, and UDP. `("*:5432",)`: TCP
    to these ports of any host, and UDP."""

    env: Mapping[str, str] = dataclasses.field(default_factory=lambda: types.MappingProxyType({}))
    """Variables for the server, with their values."""

    spawn: bool = False
    """Whether it may start processes; threads are always allowed."""

    limits: ProcessLimits = dataclasses.field(default_factory=ProcessLimits)
    hides_secrets: bool = False
    """Whether files in writable folders that look secret are hidden; only level full can."""


@dataclasses.dataclass(frozen=True, slots=True)
class Places:
    """The folders around a server. All but `user_home` exist."""

    workspace: Path
    """Where it starts; it sees no file there unless that is granted."""

    home: Path
    """Its own HOME, of nobody else, mode 0700."""

    tmp: Path
    """Its own TMPDIR."""

    user_home: Path
    """The human's: nothing may open it as a whole."""


@dataclasses.dataclass(frozen=True, slots=True)
class Confined:
    """A server ready to start, by the same process that called `confine`.

    Start `argv` with pipes, `environment` and `cwd`, closed descriptors and a session of its own.
    The direct child is a supervisor (on Linux): end it through `ask_to_end` and `end_now`, never
    by SIGKILL, which it cannot act on.
    """

    level: Level
    argv: tuple[str, ...]
    environment: dict[str, str]
    cwd: Path
    enforced: tuple[str, ...]
    missing: tuple[str, ...]
    """What this level leaves open, in plain words: to be shown, and recorded."""

    policy_hash: str
    """sha256 of all of it but the values of the environment."""

    wanted: Level
    reason: str | None
    """Why it is less than was wanted."""

    landlock_abi: int
    seccomp_hash: str | None
    bwrap_version: str | None
    how_to_end: str
    """Known to `ending.py` alone."""

    def record(self) -> dict[str, Any]:
        """Give what the audit keeps of a start."""
        return {
            "level": str(self.level),
            "wanted": str(self.wanted),
            "reason": self.reason,
            "landlockAbi": self.landlock_abi,
            "seccompHash": self.seccomp_hash,
            "bwrapVersion": self.bwrap_version,
            "enforced": list(self.enforced),
            "missing": list(self.missing),
            "policyHash": self.policy_hash,
        }
