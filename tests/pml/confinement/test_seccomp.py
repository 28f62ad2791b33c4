"""The filter, interpreted instruction by instruction as the kernel would, for both processors."""

import errno
import re
import struct
from pathlib import Path

import pytest

from pml.confinement.child import kernel
from pml.confinement.seccomp import ABSENT, REFUSED, Signals, build, packed
from pml.confinement.syscalls import MACHINES

ALLOW, KILL = 0x7FFF0000, 0x80000000
MOST_INSTRUCTIONS = 4096  # the kernel's bound
CLONE_THREAD, CLONE_VM, SIGCHLD, CLONE_NEWUSER, CLONE_NEWNS = (
    0x10000,
    0x100,
    17,
    0x10000000,
    0x20000,
)


def interpret(program, audit: int, number: int, *arguments: int) -> int:
    """Run classic BPF over a struct seccomp_data."""
    wide = [argument & (2**64 - 1) for argument in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("=IIQ6Q", number, audit, 0, *wide)
    accumulator, at = 0, 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == 0x54:
            accumulator &= value
        elif code == 0x06:
            return value
        else:
            taken = {
                0x15: accumulator == value,
                0x35: accumulator >= value,
                0x45: bool(accumulator & value),
            }[code]
            at += yes if taken else no


class Filter:
    def __init__(self, machine: str, **options: object) -> None:
        self.machine = MACHINES[machine]
        self.program = build(
            self.machine,
            **{"net": False, "spawn": False, "signals": Signals.BY_NAMESPACE, **options},
        )

    def __call__(self, name: str, *arguments: int) -> str:
        answer = interpret(
            self.program, self.machine.audit, self.machine.numbers[name], *arguments
        )
        if answer == ALLOW:
            return "allowed"
        assert answer & 0xFFFF0000 == 0x00050000
        return errno.errorcode[answer & 0xFFFF]


both = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


@both
def test_calls_of_another_processor_kill(machine: str) -> None:
    filtered = Filter(machine)
    other = next(m for name, m in MACHINES.items() if name != machine)
    assert interpret(filtered.program, other.audit, 0) == KILL
    assert interpret(filtered.program, 0x40000003, 11) == KILL  # 32-bit x86


def test_x32_calls_do_not_exist() -> None:
    filtered = Filter("x86_64")
    answer = interpret(filtered.program, filtered.machine.audit, 0x40000000 | 41)
    assert answer == 0x00050000 | errno.ENOSYS


@both
def test_dangerous_calls_are_refused_whatever_is_granted(machine: str) -> None:
    filtered = Filter(machine, net=True, spawn=True)
    for name in REFUSED:
        if name in filtered.machine.numbers:
            assert filtered(name) == "EPERM", name
    for name in ABSENT:
        assert filtered(name) == "ENOSYS", name


@both
def test_every_call_that_is_not_named_is_allowed(machine: str) -> None:
    filtered = Filter(machine)
    named = set(filtered.machine.numbers.values())
    for number in set(range(470)) - named:
        assert interpret(filtered.program, filtered.machine.audit, number) == ALLOW


@both
def test_threads_are_allowed_and_processes_only_when_granted(machine: str) -> None:
    closed, opened = Filter(machine), Filter(machine, spawn=True)
    assert closed("clone", CLONE_VM | CLONE_THREAD) == "allowed"
    assert closed("clone", SIGCHLD) == "EPERM"
    assert opened("clone", SIGCHLD) == "allowed"
    for flags in (
        CLONE_NEWUSER | SIGCHLD,
        CLONE_NEWNS | CLONE_THREAD,
        CLONE_NEWUSER | CLONE_THREAD,
    ):
        assert closed("clone", flags) == "EPERM"
        assert opened("clone", flags) == "EPERM"
    for name in {"fork", "vfork"} & closed.machine.numbers.keys():
        assert (closed(name), opened(name)) == ("EPERM", "allowed")


@both
def test_without_the_network_no_socket_can_be_made(machine: str) -> None:
    filtered = Filter(machine)
    for family in range(46):
        assert filtered("socket", family, 1, 0) == "EACCES"
    assert filtered("socketpair", 1, 1, 0) == "allowed"  # Python's event loop needs one
    assert filtered("socketpair", 2, 1, 0) == "EACCES"


@both
def test_with_the_network_only_tcp_and_udp_can_be_had(machine: str) -> None:
    filtered = Filter(machine, net=True)
    flags = 0x80000 | 0x800  # SOCK_CLOEXEC | SOCK_NONBLOCK
    for family in (2, 10):
        for kind, protocol in ((1, 0), (1, 6), (2, 0), (2, 17), (1 | flags, 0), (2 | flags, 17)):
            assert filtered("socket", family, kind, protocol) == "allowed"
        for kind, protocol in ((3, 0), (5, 0), (1, 262), (1, 132), (2, 136), (3, 255), (2, 1)):
            assert filtered("socket", family, kind, protocol) == "EACCES"
    for family in {*range(46)} - {2, 10}:
        assert filtered("socket", family, 1, 0) == "EACCES"


@both
def test_a_connection_cannot_be_made_past_connect(machine: str) -> None:
    fast_open = 0x20000000
    filtered = Filter(machine, net=True)
    assert filtered("sendto", 3, 0, 0, fast_open) == "EPERM"
    assert filtered("sendmsg", 3, 0, fast_open) == "EPERM"
    assert filtered("sendmmsg", 3, 0, 1, fast_open) == "EPERM"
    assert filtered("sendto", 3, 0, 0, 0x4000) == "allowed"


@both
def test_limits_can_be_set_for_oneself_alone(machine: str) -> None:
    filtered = Filter(machine)
    assert filtered("prlimit64", 0, 7) == "allowed"
    assert filtered("prlimit64", 4711, 7) == "EPERM"


@both
def test_nobody_can_type_into_a_terminal_or_give_a_descriptor_an_owner(machine: str) -> None:
    filtered = Filter(machine)
    for command in (
        0x5412,
        0x541C,
        0x8901,
        0x8902,
        0x5412 | 1 << 40,
    ):  # the kernel cuts to 32 bits
        assert filtered("ioctl", 0, command) == "EPERM"
    assert filtered("ioctl", 0, 0x5401) == "allowed"
    for command in (8, 15):
        assert filtered("fcntl", 0, command, 4711) == "EPERM"
    assert filtered("fcntl", 0, 3) == "allowed"


SIGNALLING = ["kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"]


@both
def test_where_nothing_else_keeps_signals_in_only_itself_can_be_signalled(machine: str) -> None:
    filtered = Filter(machine, signals=Signals.ONLY_ITSELF)
    for name in SIGNALLING:
        for pid in (0, kernel.SELF, kernel.SELF_GROUP):
            assert filtered(name, pid) == "allowed"
        for pid in (1, 4711, -1, -4711, kernel.GATEWAY, kernel.SUPERVISOR):
            assert filtered(name, pid) == "EPERM"
    assert filtered("tkill", kernel.SELF, 9) == "EPERM"


@both
def test_where_children_must_be_signalled_the_gateway_and_supervisor_are_left_out(
    machine: str,
) -> None:
    filtered = Filter(machine, spawn=True, signals=Signals.NOT_TO_US)
    refused = (
        -1, kernel.GATEWAY, kernel.GATEWAY_GROUP, kernel.SUPERVISOR, kernel.SUPERVISOR_GROUP,
    )  # fmt: skip
    for name in SIGNALLING:
        assert filtered(name, 4711) == "allowed"
        for pid in refused:
            assert filtered(name, pid) == "EPERM"
    assert filtered("pidfd_open", 4711, 0x80) == "EPERM"


@both
def test_priorities_of_the_gateway_and_supervisor_cannot_be_changed(machine: str) -> None:
    filtered = Filter(machine, signals=Signals.BY_LANDLOCK)
    for pid in (kernel.GATEWAY, kernel.SUPERVISOR):
        assert filtered("sched_setaffinity", pid) == "EPERM"
        assert filtered("setpriority", 0, pid) == "EPERM"
        assert filtered("ioprio_set", 1, pid) == "EPERM"
    assert filtered("setpriority", 2, 0) == "EPERM"  # of all processes of the user
    assert filtered("setpriority", 0, 0) == "allowed"
    assert filtered("sched_setaffinity", 0) == "allowed"
    assert filtered("kill", 4711) == "allowed"  # Landlock's part


@both
@pytest.mark.parametrize("signals", list(Signals))
def test_the_program_is_one_the_kernel_takes(machine: str, signals: Signals) -> None:
    program = build(MACHINES[machine], net=True, spawn=False, signals=signals)
    assert len(program) <= MOST_INSTRUCTIONS
    assert len(packed(program)) == 8 * len(program)
    for at, (code, yes, no, _) in enumerate(program):
        assert 0 <= yes <= 255
        assert 0 <= no <= 255
        if code not in {0x20, 0x54, 0x06}:
            assert at + 1 + max(yes, no) < len(program)
    assert program[-1].code == 0x06


HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}


@both
def test_the_numbers_are_those_of_the_kernel(machine: str) -> None:
    header = Path(HEADERS[machine])
    if not header.is_file():
        pytest.skip("the kernel's headers are not installed")
    told = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text()))
    for name, number in MACHINES[machine].numbers.items():
        assert int(told[name]) == number, name
    if machine == "aarch64":
        missing = {*REFUSED, *ABSENT} - MACHINES[machine].numbers.keys()
        assert missing.isdisjoint(told), "known there, and left out here"
