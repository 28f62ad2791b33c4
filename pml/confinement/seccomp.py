"""The filter of system calls, as a BPF program: built here, installed by the child.

Pure. Most calls are allowed; refused is what reaches other processes, other namespaces, the
network or seldom-tested corners of the kernel. A filter sees numbers, never paths: files are not
its matter. A test interprets the program for both processors.
"""

import enum
import errno
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pml.confinement.child import kernel
from pml.confinement.syscalls import Machine

REFUSED = (
    # other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
    "pidfd_getfd", "kcmp", "migrate_pages", "move_pages",
    # namespaces, mounts, files by handle
    "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount",
    "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at",
    "name_to_handle_at", "fanotify_init", "quotactl", "quotactl_fd", "swapon", "swapoff",
    # the kernel itself
    "bpf", "perf_event_open", "userfaultfd", "kexec_load", "kexec_file_load", "init_module",
    "finit_module", "delete_module", "reboot", "acct", "syslog", "vhangup", "iopl", "ioperm",
    "modify_ldt", "uselib", "lookup_dcookie", "settimeofday", "clock_settime", "clock_adjtime",
    "adjtimex", "sethostname", "setdomainname",
    # keys and shared memory of the same user's other processes
    "keyctl", "add_key", "request_key", "shmget", "shmat", "shmctl", "semget", "semop", "semctl",
    "semtimedop", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
)  # fmt: skip

ABSENT = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register")
"""Answered as by an older kernel: libraries then use what the filter can see into."""

_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _MACHINE_AT, _ARGUMENTS_AT = 0, 4, 16  # in struct seccomp_data; arguments have 8 bytes

_NEW_NAMESPACES = 0x7E020000  # any CLONE_NEW*; CLONE_NEWTIME needs clone3 or unshare
_THREAD = 0x00010000  # CLONE_THREAD
_UNIX, _INET, _INET6 = 1, 2, 10
_STREAM, _DATAGRAM, _TYPE_MASK = 1, 2, 0xF
_ANY_PROTOCOL, _TCP, _UDP = 0, 6, 17  # MPTCP and SCTP would pass Landlock by
_FAST_OPEN = 0x20000000  # MSG_FASTOPEN connects without connect(), past Landlock
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX: type into the user's terminal
_OWNER_BY_IOCTL = (0x8901, 0x8902)  # FIOSETOWN, SIOCSPGRP
_OWNER_BY_FCNTL = (8, 15)  # F_SETOWN, F_SETOWN_EX: signals to anyone, through a descriptor
_THREAD_PIDFD = 0x80  # PIDFD_THREAD
_PRIORITY_OF_PROCESS, _IO_PRIORITY_OF_PROCESS = 0, 1  # not of a group, not of a user


class Signals(enum.Enum):
    """What keeps a server from signalling others, and so what the filter has to add."""

    BY_NAMESPACE = enum.auto()
    """It sees no other process: nothing to add."""

    BY_LANDLOCK = enum.auto()
    """Landlock keeps signals in; priorities of the gateway and supervisor are ours to guard."""

    ONLY_ITSELF = enum.auto()
    """By the filter; possible as long as it cannot start processes."""

    NOT_TO_US = enum.auto()
    """By the filter, for the supervisor and the gateway only."""


class Instruction(NamedTuple):
    """One instruction of classic BPF."""

    code: int
    yes: int
    no: int
    value: int


Block = list[Instruction]


def build(machine: Machine, *, net: bool, spawn: bool, signals: Signals) -> Sequence[Instruction]:
    """Give the program that ends in a decision for every call."""
    program = [
        *_require(_MACHINE_AT, [machine.audit], _KILL),  # before numbers mean anything
        Instruction(_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine.other_abi is not None:
        program += [Instruction(_AT_LEAST, 0, 1, machine.other_abi), _failing(errno.ENOSYS)]
    rules = {
        **{name: [_failing(errno.EPERM)] for name in REFUSED},
        **{name: [_failing(errno.ENOSYS)] for name in ABSENT},
        **_process_rules(spawn=spawn),
        **_socket_rules(net=net),
        **_signal_rules(signals),
        **_priority_rules(signals),
    }
    for name, block in rules.items():
        if name in machine.numbers:
            body = [*block, Instruction(_RETURN, 0, 0, _ALLOW)]
            program += [Instruction(_EQUAL, 0, len(body), machine.numbers[name]), *body]
    return [*program, Instruction(_RETURN, 0, 0, _ALLOW)]


def packed(program: Iterable[Instruction]) -> bytes:
    """Give the program as the kernel reads it."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _process_rules(*, spawn: bool) -> dict[str, Block]:
    clone = _forbid_bits(_argument(0), _NEW_NAMESPACES)
    if not spawn:
        clone = [*clone, Instruction(_ANY_BIT, 1, 0, _THREAD), _failing(errno.EPERM)]
    forks = () if spawn else ("fork", "vfork")
    return {
        **{name: [_failing(errno.EPERM)] for name in forks},
        "clone": clone,
        "prlimit64": _require(_argument(0), [0], _ERRNO | errno.EPERM),
        "ioctl": _forbid(_argument(1), [*_TERMINAL_INPUT, *_OWNER_BY_IOCTL]),
        "fcntl": _forbid(_argument(1), _OWNER_BY_FCNTL),
    }


def _socket_rules(*, net: bool) -> dict[str, Block]:
    """Not even AF_UNIX: the ssh agent, Docker and D-Bus listen there."""
    refused = _ERRNO | errno.EACCES
    pair = _require(_argument(0), [_UNIX], refused)
    if not net:
        return {"socketpair": pair, "socket": [Instruction(_RETURN, 0, 0, refused)]}
    return {
        "socketpair": pair,
        "socket": [
            *_require(_argument(0), [_INET, _INET6], refused),
            *_require(_argument(1), [_STREAM, _DATAGRAM], refused, mask=_TYPE_MASK),
            *_require(_argument(2), [_ANY_PROTOCOL, _TCP, _UDP], refused),
        ],
        "sendto": _forbid_bits(_argument(3), _FAST_OPEN),
        "sendmsg": _forbid_bits(_argument(2), _FAST_OPEN),
        "sendmmsg": _forbid_bits(_argument(3), _FAST_OPEN),
    }


def _signal_rules(signals: Signals) -> dict[str, Block]:
    if signals in {Signals.BY_NAMESPACE, Signals.BY_LANDLOCK}:
        return {}
    first = _argument(0)
    if signals is Signals.ONLY_ITSELF:
        checked = _require(first, [0, kernel.SELF, kernel.SELF_GROUP], _ERRNO | errno.EPERM)
    else:
        everyone = 0xFFFFFFFF  # kill(-1)
        checked = _forbid(first, [everyone, *_US, kernel.GATEWAY_GROUP, kernel.SUPERVISOR_GROUP])
    return {
        "kill": checked,
        "tgkill": checked,
        "rt_sigqueueinfo": checked,
        "rt_tgsigqueueinfo": checked,
        "pidfd_open": [*checked, *_forbid_bits(_argument(1), _THREAD_PIDFD)],
        "tkill": [_failing(errno.EPERM)],  # by thread: could be any process's
    }


_US = (kernel.GATEWAY, kernel.SUPERVISOR)


def _priority_rules(signals: Signals) -> dict[str, Block]:
    """Keep a server from slowing down those who watch it."""
    if signals is Signals.BY_NAMESPACE:
        return {}
    by_first = ("sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr")
    refused = _ERRNO | errno.EPERM
    not_us = _forbid(_argument(1), _US)
    return {
        **dict.fromkeys(by_first, _forbid(_argument(0), _US)),
        "setpriority": [*_require(_argument(0), [_PRIORITY_OF_PROCESS], refused), *not_us],
        "ioprio_set": [*_require(_argument(0), [_IO_PRIORITY_OF_PROCESS], refused), *not_us],
    }


# --- pieces: each falls through when it has nothing against the call -----------------------------


def _argument(index: int) -> int:
    """Give the place of an argument's low half; the kernel ignores the high half of an int."""
    return _ARGUMENTS_AT + 8 * index


def _failing(code: int) -> Instruction:
    return Instruction(_RETURN, 0, 0, _ERRNO | code)


def _require(at: int, values: Sequence[int], otherwise: int, mask: int | None = None) -> Block:
    masked = [] if mask is None else [Instruction(_AND, 0, 0, mask)]
    last = len(values)
    return [
        Instruction(_LOAD, 0, 0, at),
        *masked,
        *(Instruction(_EQUAL, last - index, 0, value) for index, value in enumerate(values)),
        Instruction(_RETURN, 0, 0, otherwise),
    ]


def _forbid(at: int, values: Sequence[int]) -> Block:
    checks = [(Instruction(_EQUAL, 0, 1, value), _failing(errno.EPERM)) for value in values]
    return [Instruction(_LOAD, 0, 0, at), *(one for pair in checks for one in pair)]


def _forbid_bits(at: int, mask: int) -> Block:
    return [
        Instruction(_LOAD, 0, 0, at),
        Instruction(_ANY_BIT, 0, 1, mask),
        _failing(errno.EPERM),
    ]
