"""The reach and limits of a server in the numbers that the child hands to the kernel. Pure."""

import sys

from pml.confinement.child import landlock
from pml.confinement.model import Level, ProcessLimits
from pml.confinement.reach import Reach
from pml.confinement.width import SYSTEM

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_ABOUT_THE_MACHINE = (
    "/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/proc/loadavg", "/proc/uptime",
    "/proc/version", "/proc/filesystems", "/proc/sys/vm/overcommit_memory",
    "/proc/sys/kernel/ngroups_max", "/proc/sys/kernel/random",
    "/sys/devices/system/cpu", "/sys/fs/cgroup",
)  # fmt: skip
"""What runtimes read to size themselves."""


def landlock_rules(reach: Reach, level: Level, *, spawn: bool) -> list[tuple[str, int]]:
    """Give every path with its rights; a path that is not there is refused by being skipped."""
    own = landlock.EXECUTE if spawn else 0  # running what it may read or write itself
    rules = [
        *((path, landlock.READ_EXECUTE) for path in (*SYSTEM, *reach.runs)),
        *((path, landlock.READ) for path in reach.settings),
        *((path, landlock.READ | own) for path in reach.reads),
        *((path, landlock.WRITE | own) for path in (*reach.writes, *reach.private)),
        *((path, landlock.DEVICE) for path in _DEVICES),
        *((path, landlock.READ) for path in _ABOUT_THE_MACHINE),
    ]
    if level is Level.FULL:
        # Its own: /proc shows only the sandbox, /dev/shm is a new tmpfs.
        rules += [("/proc", landlock.READ), ("/dev/shm", landlock.WRITE)]  # noqa: S108
    else:
        rules.append(("/proc/self", landlock.READ))  # opened by the child: its own, not ours
    return [(str(path), rights) for path, rights in rules]


def limits(wanted: ProcessLimits, level: Level) -> list[tuple[int, int]]:
    """Give numbers and values of RLIMIT_*."""
    if sys.platform == "win32":
        return []
    import resource  # noqa: PLC0415 - does not exist on Windows

    chosen = [
        (resource.RLIMIT_DATA, wanted.memory_bytes),
        (resource.RLIMIT_NOFILE, wanted.open_files),
        (resource.RLIMIT_FSIZE, wanted.file_bytes),
        (resource.RLIMIT_CORE, 0),
    ]
    if level is Level.FULL:
        # Elsewhere the kernel counts all of the user's processes: node would not even start.
        chosen.append((resource.RLIMIT_NPROC, wanted.processes))
    return chosen
