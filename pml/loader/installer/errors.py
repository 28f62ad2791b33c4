"""Why a package is not installed or not started, one class per situation a caller can act on.

InstallError (PmlError)
├── InstallCommandError       install_command: it starts no package in a way we understand
├── PackageNameError          package_name: no name or version that a registry could have
├── ManagerMissingError       install_manager_missing: npm, pip or uv is not there
├── PackageUnknownError       package_unknown: the registry has no such package or version
├── RegistryUnreachableError  install_offline: the registry does not answer
├── NoWheelError              package_no_wheel: only source, which runs code to be built
├── InstallFailedError        install_failed: the package manager says so
├── InstallTimeoutError       install_timeout
├── EntryUnclearError         package_entry: no program of that name in the package
├── TreeUnsafeError           package_unsafe: links that lead out, devices, too much
├── IntegrityError            integrity_failed: not what was expected, so nothing runs
├── NotInstalledError         not_installed: the human has not said yes to it yet
└── RecordDamagedError        install_record: what we wrote down is not what we wrote
"""

from collections.abc import Sequence

from pml.errors import PmlError
from sandbox_host.errors import printable

_SHOWN = 200  # characters of a name or word in a message
_LINES = 6  # of what a package manager says
_LINE_CHARACTERS = 300


def _shown(text: object) -> str:
    return f"`{printable(str(text), _SHOWN)}`"


class InstallError(PmlError):
    """A package cannot be used."""

    code = "install"


class InstallCommandError(InstallError):
    """A package runner is called in a way that we cannot carry out for it."""

    code = "install_command"

    def __init__(self, command: str, reason: str) -> None:
        """Name the command and what is wrong with it."""
        super().__init__(
            f"{_shown(command)} cannot be installed: {reason}",
            hint="forms that work: `npx PACKAGE@VERSION`, `uvx PACKAGE@VERSION`, "
            "`uvx --from PACKAGE==VERSION PROGRAM`",
        )


class PackageNameError(InstallError):
    """A text that is no package."""

    code = "package_name"

    def __init__(self, text: str, reason: str) -> None:
        """Name it and the reason."""
        super().__init__(f"{_shown(text)} is no package that can be installed: {reason}")


class ManagerMissingError(InstallError):
    """The program that installs is not there."""

    code = "install_manager_missing"

    def __init__(self, manager: str) -> None:
        """Name it and where it comes from."""
        hints = {
            "npm": "install Node.js, which brings npm: https://nodejs.org",
            "node": "install Node.js: https://nodejs.org",
            "pip": "install pip (python -m ensurepip, or the python3-venv package) or uv",
        }
        super().__init__(f"{manager} is needed for this, and not there", hint=hints[manager])


class PackageUnknownError(InstallError):
    """The registry has no such thing."""

    code = "package_unknown"

    def __init__(self, package: str) -> None:
        """Name it."""
        super().__init__(
            f"the registry has no {_shown(package)}", hint="check its name and version"
        )


class RegistryUnreachableError(InstallError):
    """No connection to the registry."""

    code = "install_offline"

    def __init__(self, package: str) -> None:
        """Name what was to be installed."""
        super().__init__(
            f"cannot install {_shown(package)}: the package registry does not answer",
            hint="restore the connection (or the proxy or mirror that npm, pip or uv is set to), "
            "then try again; what is installed already works offline",
        )


class NoWheelError(InstallError):
    """There is nothing that can be installed without building it."""

    code = "package_no_wheel"

    def __init__(self, package: str) -> None:
        """Name it."""
        super().__init__(
            f"there is no {_shown(package)} for this machine, or no wheel of it",
            hint="source distributions are not installed, as building one runs its code; "
            "build it yourself and name its program as `command`",
        )


class InstallFailedError(InstallError):
    """The package manager gave up."""

    code = "install_failed"

    def __init__(self, package: str, manager: str, said: Sequence[str]) -> None:
        """Show its last words, which are a stranger's."""
        lines = [printable(line, _LINE_CHARACTERS) for line in said if line.strip()][-_LINES:]
        words = "".join(f"\n{line}" for line in lines)
        super().__init__(f"{manager} could not install {_shown(package)}{words}")


class InstallTimeoutError(InstallError):
    """It took too long."""

    code = "install_timeout"

    def __init__(self, package: str, seconds: float) -> None:
        """Name it and the bound."""
        super().__init__(f"installing {_shown(package)} took longer than {seconds:g} s")


class EntryUnclearError(InstallError):
    """A package without the program that is to be started."""

    code = "package_entry"

    def __init__(self, package: str, program: str | None, offered: Sequence[str]) -> None:
        """Name what was looked for, and what there is."""
        names = ", ".join(_shown(name) for name in sorted(offered)[:20])
        wanted = f"no program {_shown(program)}" if program else "no single program to start"
        super().__init__(
            f"{_shown(package)} has {wanted}",
            hint=f"it has {names}: npx -p PACKAGE PROGRAM, uvx --from PACKAGE PROGRAM"
            if names
            else "it is a library, not a server",
        )


class TreeUnsafeError(InstallError):
    """A package that holds what no package needs."""

    code = "package_unsafe"

    def __init__(self, path: str, reason: str) -> None:
        """Name the file and the reason."""
        super().__init__(f"the package is refused: {_shown(path)} {reason}")


class IntegrityError(InstallError):
    """What is there is not what was expected. Nothing of it has run."""

    code = "integrity_failed"

    def __init__(self, name: str, version: str, expected: str, actual: str) -> None:
        """Name it as the user knows it; give both hashes, in full."""
        super().__init__(
            f"Integrity check failed for {printable(f'{name}@{version}', _SHOWN)}\n"
            f"Expected {printable(expected, _SHOWN)}, got {actual}",
            hint="nothing of it was run; look at what changed it, then install it anew: "
            "pml servers install",
        )
        self.expected = expected
        self.actual = actual


class NotInstalledError(InstallError):
    """A server whose package waits for the human's word."""

    code = "not_installed"

    def __init__(self, server: str, package: str) -> None:
        """Name server and package, and the command."""
        super().__init__(
            f"server {_shown(server)} is not installed: its package {_shown(package)} "
            "needs your yes first",
            hint=f"pml servers install {printable(server, _SHOWN)}",
        )


class RecordDamagedError(InstallError):
    """A file of ours that was changed by somebody else."""

    code = "install_record"

    def __init__(self, path: object, reason: str) -> None:
        """Name it and the reason."""
        super().__init__(
            f"{path} cannot be used: {reason}",
            hint="remove it, then run pml servers install",
        )
