"""From what a server is and may, to the command that starts it so confined: the room's spine.

Level, program, reach, filter, limits, command line. Looks at the disk, starts nothing. What cannot
be enforced as asked is an error: never silently one level less.
"""

import dataclasses
import hashlib
import json
import marshal
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from pml.confinement import bubblewrap, ending, seccomp, words
from pml.confinement.child import landlock
from pml.confinement.environment import child_environment, search_path
from pml.confinement.errors import (
    LevelBelowFloorError,
    LevelUnavailableError,
    MachineUnsupportedError,
    PrefixTooWideError,
)
from pml.confinement.model import Confined, Grants, Level, Places, Program, Support
from pml.confinement.policy import Policy
from pml.confinement.ports import granted_ports
from pml.confinement.programs import Resolved, resolve
from pml.confinement.protected import Protection, protect
from pml.confinement.reach import Reach, reach
from pml.confinement.rules import landlock_rules, limits
from pml.confinement.syscalls import MACHINES
from pml.confinement.width import too_wide

CHILD = Path(__file__).parent / "child"
"""The code that runs before the server does."""


def confine(  # noqa: PLR0913 - the public face; all but three by name
    program: Program,
    grants: Grants,
    places: Places,
    *,
    support: Support,
    environ: Mapping[str, str],
    level: Level | None = None,
    floor: Level = Level.LANDLOCK,
    allow_off: bool = False,
) -> Confined:
    """Give the command that starts a program with these grants and no more.

    `environ` is the gateway's: PATH, LANG, LC_* and TZ are taken from it. `allow_off` lets level
    off pass below the floor. Raises `ConfinementError`.
    """
    chosen = _level(support, level, floor, allow_off=allow_off)
    environment = child_environment(environ, grants.env, home=places.home, tmp=places.tmp)
    resolved = resolve(
        program,
        path=search_path(environ),
        places=places,
        may_install=bool(grants.net) and grants.spawn,
    )
    _check_our_own(chosen, places)
    plan = _Plan(
        level=chosen,
        support=support,
        grants=grants,
        resolved=resolved,
        reach=reach(resolved, grants, places),
        cwd=places.workspace.resolve(),
    )
    return plan.confined(environment, wanted=level or Level.FULL)


def _level(support: Support, asked: Level | None, floor: Level, *, allow_off: bool) -> Level:
    level = asked or support.best
    if not support.best.at_least(level) or (level is Level.LANDLOCK and support.landlock_abi == 0):
        raise LevelUnavailableError(level, support.reason, support.hint)
    if level is Level.OFF and allow_off:
        return level
    if level is Level.OFF or not level.at_least(floor):
        raise LevelBelowFloorError(level, floor, support.reason, support.hint)
    return level


def _check_our_own(level: Level, places: Places) -> None:
    """Refuse a Python whose own folder would have to be shown to every server, and is too much."""
    if level is Level.FULL:
        for folder in launcher_needs():
            if too_wide(folder, places.user_home):
                raise PrefixTooWideError(Path(sys.executable), folder)


@dataclasses.dataclass(frozen=True, slots=True)
class _Plan:
    """All that is decided; its methods only put it into words for bwrap, child and people."""

    level: Level
    support: Support
    grants: Grants
    resolved: Resolved
    reach: Reach
    cwd: Path

    def confined(self, environment: Mapping[str, str], *, wanted: Level) -> Confined:
        """Give the result."""
        protection = self._protection()
        policy = self._policy()
        facts = self._facts(protection)
        return Confined(
            level=self.level,
            argv=tuple(self._argv(policy, protection)),
            environment=dict(environment),
            cwd=self.cwd,
            enforced=words.enforced(facts),
            missing=words.missing(facts),
            policy_hash=_policy_hash(self.level, policy, protection, environment),
            wanted=wanted,
            reason=self.support.reason if self.level is not wanted else None,
            landlock_abi=self._abi,
            seccomp_hash=_sha256(policy["seccomp"]) if policy["seccomp"] else None,
            bwrap_version=self.support.bwrap_version if self.level is Level.FULL else None,
            how_to_end=ending.way(sys.platform),
        )

    def _protection(self) -> Protection:
        if self.level is not Level.FULL:
            return Protection()  # nothing else could keep it
        code = [*self.reach.runs, *_own_code()]
        return protect(self.reach.writes, code, hides_secrets=self.grants.hides_secrets)

    @property
    def _abi(self) -> int:
        """The version of Landlock that is in force."""
        return self.support.landlock_abi if self.level.at_least(Level.LANDLOCK) else 0

    def _facts(self, protection: Protection) -> words.Facts:
        code = [*self.reach.runs, *_own_code()]
        return words.Facts(
            linux=sys.platform == "linux",
            level=self.level,
            abi=self._abi,
            grants=self.grants,
            ports=granted_ports(self.grants.net),
            root=_is_root(),
            searched=protection.complete,
            code_writable=any(
                path.is_relative_to(folder) for path in code for folder in self.reach.writes
            ),
        )

    def _policy(self) -> Policy:
        confined = self.level.at_least(Level.PARTIAL)
        ports = list(granted_ports(self.grants.net))
        rules = landlock_rules(self.reach, self.level, spawn=self.grants.spawn)
        return Policy(
            file=str(self.resolved.file),
            cwd=str(self.cwd),
            limits=limits(self.grants.limits, self.level),
            privileges=confined,
            landlock=(self._abi, rules, ports) if self._abi else None,
            seccomp=self._filter() if confined else None,
            gateway=(os.getpid(), os.getpgrp()) if sys.platform == "linux" else (0, 0),
        )

    def _filter(self) -> bytes:
        machine = MACHINES.get(platform.machine())
        if machine is None:
            raise MachineUnsupportedError(platform.machine())
        program = seccomp.build(
            machine,
            net=bool(self.grants.net),
            spawn=self.grants.spawn,
            signals=self._signals(),
        )
        return seccomp.packed(program)

    def _signals(self) -> seccomp.Signals:
        if self.level is Level.FULL:
            return seccomp.Signals.BY_NAMESPACE
        if self._abi >= landlock.ABI_SCOPES:
            return seccomp.Signals.BY_LANDLOCK
        return seccomp.Signals.NOT_TO_US if self.grants.spawn else seccomp.Signals.ONLY_ITSELF

    def _argv(self, policy: Policy, protection: Protection) -> list[str]:
        command = list(self.resolved.argv)
        if sys.platform != "linux":
            return command
        if self.level is not Level.FULL:
            return [*_enter("supervise", dict(policy)), *command]
        return [
            *_enter("wrap", {"gateway": policy["gateway"]}),
            *bubblewrap.isolation(self.support, net=bool(self.grants.net)),
            *bubblewrap.system_mounts(),
            *bubblewrap.mounts(self.reach, protection, cwd=self.cwd, own=launcher_needs()),
            *bubblewrap.sealed(),
            "--",
            *_enter("launch", dict(policy)),
            *command,
        ]


def _enter(role: str, policy: Mapping[str, object]) -> list[str]:
    """Give the command line of the child side, up to what it starts."""
    told = marshal.dumps(dict(policy)).hex()
    return [*interpreter(), str(CHILD / "enter.py"), role, told, "--"]


def interpreter() -> list[str]:
    """Give our own Python, without site packages, environment or the virtual environment."""
    return [os.path.realpath(sys.executable), "-I", "-S"]


def launcher_needs() -> tuple[Path, ...]:
    """Give what the launcher reads before it confines itself; Landlock then closes it again."""
    needed = (Path(sys.base_prefix).resolve(), CHILD.resolve())
    return tuple(path for path in needed if not path.is_relative_to("/usr"))


def _own_code() -> Sequence[Path]:
    """Give what runs unconfined in the gateway, and so must not be written by a server."""
    return (CHILD.parents[1].resolve(), Path(sys.prefix).resolve(), *launcher_needs())


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def _policy_hash(
    level: Level, policy: Policy, protection: Protection, environment: Mapping[str, str]
) -> str:
    """Hash what is enforced; not the gateway's process id, and no value of a variable."""
    told = {
        **{key: value for key, value in policy.items() if key not in {"gateway", "seccomp"}},
        "level": str(level),
        "seccomp": _sha256(policy["seccomp"] or b""),
        "protected": [str(path) for path in protection.read_only],
        "hidden": [str(path) for path in protection.hidden],
        "environment": sorted(environment),
    }
    return _sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
