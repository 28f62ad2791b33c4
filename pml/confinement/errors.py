"""Why a server is not started, one class per situation a caller can act on.

ConfinementError (PmlError)
├── LevelUnavailableError       sandbox_unavailable: this machine cannot do that level
├── LevelBelowFloorError        sandbox_below_floor: the best there is, is less than required
├── MachineUnsupportedError     sandbox_machine: no table of system calls for this processor
├── CommandNotFoundError        command_not_found
├── CommandUnreadableError      command_unreadable: it cannot be looked into
├── ShimError                   command_shim: it only picks the real program
├── PackageRunnerError          command_installs: it fetches programs, without net and spawn
├── PrefixTooWideError          prefix_too_wide: the program's folder would open the user's home
├── GrantMissingError           grant_missing: a granted path does not exist
├── GrantTooWideError           grant_too_wide: a granted path holds what no server may see
├── GrantLeadsOutError          grant_leads_out: a link in the workspace points elsewhere
├── HostsNotEnforceableError    net_hosts: a list of hosts cannot be kept to
├── NetInvalidError             net_invalid: what is granted is no port
├── SecretsTooManyError         secrets_too_many: more files to hide than can be
└── VariableRefusedError        env_refused: a variable that loads code or is ours to set
"""

from pathlib import Path

from pml.confinement.model import Level
from pml.errors import PmlError
from sandbox_host.errors import printable

_SHOWN = 300  # characters of a path or name in a message


def _shown(text: str | Path) -> str:
    return f"`{printable(str(text), _SHOWN)}`"


class ConfinementError(PmlError):
    """A server cannot be started as confined as it has to be."""

    code = "confinement"


class LevelUnavailableError(ConfinementError):
    """The level that was asked for does not work here."""

    code = "sandbox_unavailable"

    def __init__(self, level: Level, reason: str | None, hint: str | None) -> None:
        """Name the level and why it does not work."""
        because = f": {reason}" if reason else ""
        super().__init__(f"sandbox level {level} does not work here{because}", hint=hint)


class LevelBelowFloorError(ConfinementError):
    """The level is less than what is required."""

    code = "sandbox_below_floor"

    def __init__(self, level: Level, floor: Level, reason: str | None, hint: str | None) -> None:
        """Name both levels and why it is so."""
        because = f": {reason}" if reason else ""
        super().__init__(
            f"only sandbox level {level} is possible, {floor} is required{because}",
            hint=hint or f'accept it for this server: "sandbox": {{"require": "{level}"}}',
        )


class MachineUnsupportedError(ConfinementError):
    """The numbers of system calls differ per processor; ours is not among those we know."""

    code = "sandbox_machine"

    def __init__(self, machine: str) -> None:
        """Name the processor."""
        super().__init__(
            f"no sandbox for {_shown(machine)} processors",
            hint="x86_64 and aarch64 are supported",
        )


class CommandNotFoundError(ConfinementError):
    """There is no such program."""

    code = "command_not_found"

    def __init__(self, command: str) -> None:
        """Name it."""
        super().__init__(
            f"there is no program {_shown(command)}",
            hint="install it, or give its full path as `command`",
        )


class CommandUnreadableError(ConfinementError):
    """The program is there but cannot be looked into."""

    code = "command_unreadable"

    def __init__(self, path: Path, reason: str) -> None:
        """Name it and the reason."""
        super().__init__(f"cannot read the program {_shown(path)}: {reason}")


class ShimError(ConfinementError):
    """The command only picks another program, at every start."""

    code = "command_shim"

    def __init__(self, path: Path, tool: str) -> None:
        """Name it, and who made it."""
        super().__init__(
            f"{_shown(path)} is a shim of {tool}, not the program itself",
            hint=f"name the program that it picks: {tool} which {path.name}",
        )


class PackageRunnerError(ConfinementError):
    """Such a command fetches the program first: that takes the network and child processes."""

    code = "command_installs"

    def __init__(self, command: str) -> None:
        """Name it and the two ways out."""
        super().__init__(
            f"{_shown(command)} fetches and starts programs, which this server may not",
            hint='add "sandbox": {"net": true, "spawn": true}, or name the installed program',
        )


class PrefixTooWideError(ConfinementError):
    """Letting the program see its own folder would let it see far more."""

    code = "prefix_too_wide"

    def __init__(self, program: Path, folder: Path) -> None:
        """Name both."""
        super().__init__(
            f"to run {_shown(program)} a server would have to see all of {_shown(folder)}",
            hint="install the program in a folder of its own",
        )


class GrantMissingError(ConfinementError):
    """A path that is granted does not exist."""

    code = "grant_missing"

    def __init__(self, path: Path, kind: str) -> None:
        """Name the path and the setting it comes from."""
        super().__init__(f"{_shown(path)} in `{kind}` does not exist", hint="create it first")


class GrantTooWideError(ConfinementError):
    """A path that is granted holds what no server may see."""

    code = "grant_too_wide"

    def __init__(self, path: Path, kind: str, holds: str) -> None:
        """Name the path, the setting it comes from and what it holds."""
        super().__init__(
            f"{_shown(path)} in `{kind}` holds {holds}",
            hint="grant the folders inside that it needs",
        )


class GrantLeadsOutError(ConfinementError):
    """A granted path of the workspace is a link to elsewhere: anyone who writes there made it."""

    code = "grant_leads_out"

    def __init__(self, path: Path, kind: str, real: Path) -> None:
        """Name the path, the setting it comes from and where it leads."""
        super().__init__(
            f"{_shown(path)} in `{kind}` leads out of the workspace, to {_shown(real)}",
            hint="if that is meant, grant the place itself",
        )


class HostsNotEnforceableError(ConfinementError):
    """Host names are granted, and nothing here can keep a server to them."""

    code = "net_hosts"

    def __init__(self, host: str) -> None:
        """Name the first of them."""
        super().__init__(
            f"a server cannot be kept to the host {_shown(host)} yet",
            hint='"net": true, or ports of any host, such as "net": ["*:443"], can be enforced',
        )


class NetInvalidError(ConfinementError):
    """What is granted is no port."""

    code = "net_invalid"

    def __init__(self, entry: str) -> None:
        """Name it."""
        super().__init__(f"{_shown(entry)} in `net` has no port between 1 and 65535")


class SecretsTooManyError(ConfinementError):
    """More files look secret than can be hidden one by one; showing the rest would be worse."""

    code = "secrets_too_many"

    def __init__(self, found: int, most: int) -> None:
        """Name both numbers."""
        super().__init__(
            f"{found} files of the workspace look secret, {most} at most can be hidden",
            hint="move them out of the workspace (`.env`, `*.pem`, `*.key` and their like)",
        )


class VariableRefusedError(ConfinementError):
    """A declared variable that would run code around the confinement, or that is ours."""

    code = "env_refused"

    def __init__(self, name: str, reason: str) -> None:
        """Name it and the reason; never its value."""
        super().__init__(
            f"the variable {_shown(name)} is not passed to a server: {reason}",
            hint="remove it from `env`",
        )
