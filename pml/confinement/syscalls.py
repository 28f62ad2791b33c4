"""Numbers of the system calls that the filter names, per processor. Data only.

Checked against the kernel's headers by a test. A name missing on one side does not exist there.
"""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """A processor as seccomp sees it."""

    audit: int
    """AUDIT_ARCH_*: what a filter compares first."""

    numbers: Mapping[str, int]
    other_abi: int | None = None
    """From this number on, calls belong to another ABI of the same processor."""


_X86_64 = {
    "socket": 41, "socketpair": 53, "sendto": 44, "sendmsg": 46, "sendmmsg": 307,
    "clone": 56, "clone3": 435, "fork": 57, "vfork": 58, "unshare": 272, "setns": 308,
    "kill": 62, "tkill": 200, "tgkill": 234, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
    "pidfd_open": 434, "pidfd_getfd": 438, "ptrace": 101, "process_vm_readv": 310,
    "process_vm_writev": 311, "process_madvise": 440, "process_mrelease": 448, "kcmp": 312,
    "prlimit64": 302, "setpriority": 141, "ioprio_set": 251, "sched_setaffinity": 203,
    "sched_setscheduler": 144, "sched_setparam": 142, "sched_setattr": 314,
    "migrate_pages": 256, "move_pages": 279, "ioctl": 16, "fcntl": 72,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442, "quotactl": 179, "quotactl_fd": 443, "swapon": 167, "swapoff": 168,
    "open_by_handle_at": 304, "name_to_handle_at": 303, "fanotify_init": 300,
    "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
    "keyctl": 250, "add_key": 248, "request_key": 249,
    "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313,
    "delete_module": 176, "reboot": 169, "acct": 163, "syslog": 103, "vhangup": 153,
    "iopl": 172, "ioperm": 173, "modify_ldt": 154, "uselib": 134, "lookup_dcookie": 212,
    "settimeofday": 164, "clock_settime": 227, "clock_adjtime": 305, "adjtimex": 159,
    "sethostname": 170, "setdomainname": 171,
    "shmget": 29, "shmat": 30, "shmctl": 31, "semget": 64, "semop": 65, "semctl": 66,
    "semtimedop": 220, "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71,
    "mq_open": 240, "mq_unlink": 241,
}  # fmt: skip

_AARCH64 = {
    "socket": 198, "socketpair": 199, "sendto": 206, "sendmsg": 211, "sendmmsg": 269,
    "clone": 220, "clone3": 435, "unshare": 97, "setns": 268,
    "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
    "pidfd_open": 434, "pidfd_getfd": 438, "ptrace": 117, "process_vm_readv": 270,
    "process_vm_writev": 271, "process_madvise": 440, "process_mrelease": 448, "kcmp": 272,
    "prlimit64": 261, "setpriority": 140, "ioprio_set": 30, "sched_setaffinity": 122,
    "sched_setscheduler": 119, "sched_setparam": 118, "sched_setattr": 274,
    "migrate_pages": 238, "move_pages": 239, "ioctl": 29, "fcntl": 25,
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442, "quotactl": 60, "quotactl_fd": 443, "swapon": 224, "swapoff": 225,
    "open_by_handle_at": 265, "name_to_handle_at": 264, "fanotify_init": 262,
    "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
    "keyctl": 219, "add_key": 217, "request_key": 218,
    "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273,
    "delete_module": 106, "reboot": 142, "acct": 89, "syslog": 116, "vhangup": 58,
    "lookup_dcookie": 18,
    "settimeofday": 170, "clock_settime": 112, "clock_adjtime": 266, "adjtimex": 171,
    "sethostname": 161, "setdomainname": 162,
    "shmget": 194, "shmat": 196, "shmctl": 195, "semget": 190, "semop": 193, "semctl": 191,
    "semtimedop": 192, "msgget": 186, "msgsnd": 189, "msgrcv": 188, "msgctl": 187,
    "mq_open": 180, "mq_unlink": 181,
}  # fmt: skip

MACHINES: Mapping[str, Machine] = {
    "x86_64": Machine(0xC000003E, _X86_64, other_abi=0x40000000),  # x32
    "aarch64": Machine(0xC00000B7, _AARCH64),
}
"""By the name that `uname -m` gives."""
