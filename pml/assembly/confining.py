"""How a local server, or a command, is started: with no more than it was granted."""

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path

from pml.assembly.packages import Start, start_of
from pml.assembly.setup import Setup
from pml.backends.shell import NAME as SHELL
from pml.config import StdioServerConfig
from pml.confinement import (
    Confined,
    Grants,
    Level,
    Places,
    ProcessLimits,
    Program,
    confine,
)
from pml.places import emptied_folder, private_folder


def planned_level(setup: Setup, server: StdioServerConfig) -> Level:
    """Say at which level a server would be started."""
    return Level.OFF if server.sandbox.mode == "off" else setup.support.best


def confined(setup: Setup, server: StdioServerConfig, start: Start | None = None) -> Confined:
    """Say how to start a server with no more than it was granted; raises why it must not be.

    `start` is what to start, where that is not what the configuration says.
    """
    box = server.sandbox
    start = start or start_of(setup, server)
    grants = Grants(
        fs_read=box.fs_read,
        fs_write=box.fs_write,
        net=box.net,
        env={**start.environment, **server.environment},
        spawn=box.spawn,
        limits=_limits(server),
    )
    folder = _folder(setup, server.name)
    places = Places(
        setup.workspace,
        private_folder(folder / "home"),
        emptied_folder(_temporary(setup, server.name)),
        setup.user_home,
    )
    return confine(
        start.program,
        grants,
        places,
        support=setup.support,
        environ=setup.environ,
        level=Level.OFF if box.mode == "off" else None,
        floor=Level(box.require or setup.config.require),
        allow_off=box.mode == "off",
    )


def confined_command(setup: Setup, command: str) -> Confined:
    """Say how `shell:exec` starts a command: it may write the workspace, and nothing else.

    At level full it does not see the files of the workspace that look secret.
    """
    folder = _folder(setup, SHELL)
    places = Places(
        setup.workspace,
        private_folder(folder / "home"),
        emptied_folder(_temporary(setup, SHELL) / secrets.token_hex(4)),
        setup.user_home,
    )
    return confine(
        Program("/bin/sh", ("-c", f"exec 2>&1\n{command}")),
        Grants(
            fs_read=(setup.workspace,),
            fs_write=(setup.workspace,),
            spawn=True,
            hides_secrets=True,
        ),
        places,
        support=setup.support,
        environ=setup.environ,
        floor=Level(setup.config.require),
    )


def _limits(server: StdioServerConfig) -> ProcessLimits:
    given = server.sandbox.limits
    chosen = {
        "memory_bytes": None if given.memory_mb is None else given.memory_mb << 20,
        "processes": given.procs,
        "open_files": given.open_files,
    }
    return ProcessLimits(**{name: value for name, value in chosen.items() if value is not None})


def _folder(setup: Setup, server: str) -> Path:
    return setup.state / "servers" / server


def _temporary(setup: Setup, server: str) -> Path:
    return _folder(setup, server) / "tmp" / str(os.getpid()) / setup.mark


def remove_temporary(setup: Setup, names: Iterable[str]) -> None:
    """Remove what servers of this setup kept for a while."""
    for name in (*names, SHELL):
        own = _temporary(setup, name)
        shutil.rmtree(own, ignore_errors=True)
        with contextlib.suppress(OSError):  # another setup of this process uses it
            own.parent.rmdir()
