"""What this machine can enforce: asked of the kernel and by a real run of bubblewrap, once.

Never by version numbers or by the presence of a file: distributions and containers switch user
namespaces off in many ways. Synchronous, some 10 ms; the answer holds until the next boot.
"""

import ctypes
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from pml.confinement import bubblewrap
from pml.confinement.child import landlock
from pml.confinement.environment import search_path
from pml.confinement.model import Level, Support
from pml.confinement.syscalls import MACHINES
from sandbox_host.errors import printable

_TIMEOUT_SECONDS = 5.0  # it takes 5 ms; a machine under load takes longer
_WORDS = 200  # characters of what bwrap says
_GET_SECCOMP = 21  # prctl: an error if the kernel has none

_INSTALL = "install bubblewrap (apt, dnf or pacman install bubblewrap)"
_LOAD_PROFILE = (
    "sudo apt install apparmor-profiles && sudo ln -s "
    "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && "
    "sudo apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict"
)
_CAUSES = (
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
     "AppArmor refuses user namespaces", _LOAD_PROFILE),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0",
     "user namespaces are switched off", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0",
     "no user namespaces are allowed", "sudo sysctl -w user.max_user_namespaces=10000"),
)  # fmt: skip
"""A setting, its value that refuses, why, and what to do."""

_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")


def probe(environ: Mapping[str, str]) -> Support:
    """Find the best level, and why it is not the best there is."""
    if sys.platform != "linux":
        return Support(Level.OFF, reason=f"no OS sandbox on {sys.platform} yet")
    machine = platform.machine()
    if machine not in MACHINES:
        return Support(Level.OFF, reason=f"no sandbox for {machine} processors")
    if not _has_seccomp():
        return Support(Level.OFF, reason="the kernel has no seccomp")
    abi = landlock.abi()
    found = shutil.which("bwrap", path=search_path(environ))
    lesser = Level.LANDLOCK if abi else Level.PARTIAL
    if found is None:
        return Support(lesser, abi, reason="bubblewrap is not installed", hint=_INSTALL)
    bwrap = Path(found).resolve()
    tried = Support(Level.FULL, abi, bwrap, _version(bwrap))
    refusal = _refusal(tried)
    if refusal is None:
        return tried
    reason, hint = _cause(refusal)
    return Support(lesser, abi, bwrap, tried.bwrap_version, reason, hint)


def _has_seccomp() -> bool:
    result: int = ctypes.CDLL(None).prctl(_GET_SECCOMP, 0, 0, 0, 0)
    return result >= 0


def _version(bwrap: Path) -> str | None:
    said = _run([str(bwrap), "--version"])
    return None if isinstance(said, str) else said.stdout.strip().removeprefix("bubblewrap ")


def _refusal(tried: Support) -> str | None:
    """Run nothing in a sandbox as we make them; give what bwrap has against it."""
    program = shutil.which("true", path="/usr/bin:/bin") or "/proc/self/exe"
    command = [
        *bubblewrap.isolation(tried, net=False),
        *bubblewrap.system_mounts(),
        *bubblewrap.sealed(),
        "--",
        str(Path(program).resolve()),
    ]
    said = _run(command)
    if isinstance(said, str):
        return said
    return None if said.returncode == 0 else said.stderr.strip() or f"exit {said.returncode}"


def _run(command: list[str]) -> subprocess.CompletedProcess[str] | str:
    try:
        return subprocess.run(  # noqa: S603 - no shell, all arguments ours
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, env={},
            text=True, errors="replace", timeout=_TIMEOUT_SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)


def _cause(refusal: str) -> tuple[str, str]:
    """Give reason and hint; the words of bwrap alone help few."""
    said = printable(refusal.replace("\n", " "), _WORDS)
    for setting, value, reason, hint in _CAUSES:
        if _content(setting) == value:
            return f"{reason} ({said})", hint
    if any(Path(mark).exists() for mark in _CONTAINER_MARKS):
        return (
            f"the container refuses user namespaces ({said})",
            "run the container with --security-opt seccomp=unconfined, or stay with Landlock",
        )
    return f"bubblewrap does not work here ({said})", f"try it by hand: bwrap {_SMALLEST}"


_SMALLEST = "--unshare-user --unshare-net --ro-bind / / --proc /proc --dev /dev true"


def _content(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None
