"""The command line of `bwrap`: own namespaces, and a file system of only what is named.

Pure but for looking at links of the system's folders. Mounts are laid on from the outermost path
to the innermost, so that each covers what its parents show.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from pml.confinement.model import Support
from pml.confinement.protected import Protection
from pml.confinement.reach import Reach
from pml.confinement.width import SYSTEM

_DISABLES_NAMESPACES = (0, 8)  # the version that brought --disable-userns


def isolation(support: Support, *, net: bool) -> list[str]:
    """Give the options for namespaces; the probe tries exactly these."""
    options = [
        str(support.bwrap),
        "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
        "--unshare-cgroup-try", "--hostname", "sandbox",
        "--die-with-parent", "--new-session", "--cap-drop", "ALL",
    ]  # fmt: skip
    if not net:
        options.append("--unshare-net")
    if _version(support.bwrap_version) >= _DISABLES_NAMESPACES:
        options.append("--disable-userns")
    return options


def system_mounts() -> list[str]:
    """Give the options for programs, libraries, devices and /proc."""
    options = []
    for folder in SYSTEM:
        if folder.is_symlink():
            options += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            options += ["--ro-bind", str(folder), str(folder)]
    return [*options, "--proc", "/proc", "--dev", "/dev"]


def sealed() -> list[str]:
    """Give the option that comes last: the root, so far an empty tmpfs, takes no more names."""
    return ["--remount-ro", "/"]


@dataclasses.dataclass(frozen=True, slots=True)
class _Mount:
    target: Path
    source: Path
    option: str


def mounts(reach: Reach, protection: Protection, *, cwd: Path, own: tuple[Path, ...]) -> list[str]:
    """Give the options for what this server sees; `own` is what the launcher itself needs."""
    chosen: dict[Path, _Mount] = {}
    for mount in _in_order_of_weight(reach, protection, own):
        chosen[mount.target] = mount
    options = []
    for mount in sorted(
        chosen.values(), key=lambda mount: (len(mount.target.parts), mount.target)
    ):
        options += [mount.option, str(mount.source), str(mount.target)]
    for path in protection.hidden:
        options += _covered(path)
    if not reach.sees(cwd):
        options += ["--dir", str(cwd)]
    return options


def _covered(path: Path) -> list[str]:
    """Cover a file with a device that cannot be opened, a folder with an empty one.

    To programs that look for a file there is none; those that read it are refused.
    """
    if path.is_dir():
        return ["--tmpfs", str(path), "--remount-ro", str(path)]
    return ["--ro-bind", "/dev/null", str(path)]


def _in_order_of_weight(
    reach: Reach, protection: Protection, own: tuple[Path, ...]
) -> Iterator[_Mount]:
    """Where two name the same target, the later one stands."""
    aliases = (path for path in reach.aliases if not reach.sees(path))
    settings = (path for path in reach.settings if path.exists())
    for path in (*settings, *aliases):
        yield _Mount(path, path.resolve(), "--ro-bind")
    for path in (*own, *reach.runs, *reach.reads):
        yield _Mount(path, path, "--ro-bind")
    for path in (*protection.pinned, *reach.writes, *reach.private):
        yield _Mount(path, path, "--bind")
    for path in protection.read_only:
        yield _Mount(path, path, "--ro-bind")


def _version(text: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in (text or "").split(".") if part.isdigit())
