"""A hostile server: one attack per line of stdin, as JSON `[name, argument, ...]`.

Answers each with OPEN if the attack worked, else with the name of the errno that stopped it. It is
the program under confinement, run by any Python, so it uses the standard library only.
"""

import ctypes
import errno
import fcntl
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
UNSHARE, IO_URING_SETUP, PTRACE, VM_READV = (
    (97, 425, 117, 270) if os.uname().machine == "aarch64" else (272, 425, 101, 310)
)
CLONE_NEWUSER, PTRACE_ATTACH, PTRACE_DETACH = 0x10000000, 16, 17
RLIMIT_NOFILE = 7


def checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def call(number: int, *arguments: object) -> int:
    widened = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return checked(LIBC.syscall(ctypes.c_long(number), *widened))


def read(path: str) -> None:
    with Path(path).open("rb") as file:
        file.read(1)


def write(path: str) -> None:
    with Path(path).open("a") as file:
        file.write("planted")


def listing(path: str) -> None:
    list(Path(path).iterdir())


def tcp(host: str, port: int) -> None:
    socket.create_connection((host, port), timeout=3).close()


def udp(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.settimeout(3)
        out.sendto(b"leak", (host, port))
        out.recv(16)


def unix(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as out:
        out.connect(path)


def abstract(name: str) -> None:
    unix("\0" + name)


def netlink() -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()


def mptcp() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262).close()


def fast_open(host: str, port: int) -> None:
    with socket.socket() as out:  # without a timeout: that would make it not wait
        out.sendto(b"leak", 0x20000000, (host, port))


def ptrace(pid: int) -> None:
    call(PTRACE, PTRACE_ATTACH, pid, 0, 0)
    os.waitpid(pid, 0x40000000)  # __WALL
    call(PTRACE, PTRACE_DETACH, pid, 0, 0)


def vm_readv(pid: int, address: int) -> None:
    class Vector(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]

    own = ctypes.create_string_buffer(8)
    here = Vector(ctypes.cast(own, ctypes.c_void_p), 8)
    there = Vector(address, 8)
    call(VM_READV, pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)


def kill(pid: int, number: int) -> None:
    os.kill(pid, number)


def tgkill(pid: int, number: int) -> None:
    call(131 if os.uname().machine == "aarch64" else 234, pid, pid, number)


def pidfd_kill(pid: int, number: int) -> None:
    descriptor = os.pidfd_open(pid)
    call(424, descriptor, number, None, 0)


def owner_kill(pid: int, number: int) -> None:
    """Have the kernel signal the owner of a pipe, who need not be oneself."""
    reading, writing = os.pipe()
    fcntl.fcntl(reading, 8, pid)  # F_SETOWN
    fcntl.fcntl(reading, 10, number)  # F_SETSIG
    fcntl.fcntl(reading, fcntl.F_SETFL, fcntl.fcntl(reading, fcntl.F_GETFL) | os.O_ASYNC)
    os.write(writing, b"x")


def parent() -> int:
    return os.getppid()


def prlimit(pid: int) -> None:
    limits = (ctypes.c_ulong * 2)(64, 64)
    checked(LIBC.prlimit(pid, RLIMIT_NOFILE, limits, None))


def renice(pid: int) -> None:
    os.setpriority(os.PRIO_PROCESS, pid, 19)


def pin(pid: int) -> None:
    os.sched_setaffinity(pid, os.sched_getaffinity(0))


def unshare() -> None:
    call(UNSHARE, CLONE_NEWUSER)


def io_uring() -> None:
    parameters = ctypes.create_string_buffer(120)
    os.close(call(IO_URING_SETUP, 2, ctypes.byref(parameters)))


def keyring() -> None:
    call(219 if os.uname().machine == "aarch64" else 250, 0, -4, 0)  # keyctl: the user's keyring


def forks(count: int) -> None:
    """Bounded: children wait for the end of a pipe, which comes even if we die."""
    reading, writing = os.pipe()
    children = []
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            children.append(child)
    finally:
        os.close(writing)
        os.close(reading)
        for child in children:
            os.waitpid(child, 0)


def memory(count: int) -> None:
    try:
        block = bytearray(count)
        block[:: 1 << 12] = bytes(len(range(0, count, 1 << 12)))
    except MemoryError as error:
        raise OSError(errno.ENOMEM, "no memory") from error


def open_many(count: int) -> None:
    held = []
    try:
        held += [os.open(os.devnull, os.O_RDONLY) for _ in range(count)]
    finally:
        for descriptor in held:
            os.close(descriptor)


def grow(path: str, count: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # as a hostile program would
    with Path(path).open("wb") as file:
        file.truncate(count)


def environment(name: str) -> None:
    if name not in os.environ:
        raise OSError(errno.ENOENT, "not there")


def proc_environ(pid: int, word: str) -> None:
    with Path(f"/proc/{pid}/environ").open("rb") as file:
        if word.encode() not in file.read():
            raise OSError(errno.ENOENT, "not there")


def proc_mem(pid: int, address: int) -> None:
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as file:
        file.seek(address)
        file.read(8)


def descriptors() -> None:
    """Work with something that the gateway left open."""
    inherited = [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]
    for number in inherited:
        try:
            os.fstat(number)
        except OSError:
            continue  # the one that listed them
        if number > 2:
            return
    raise OSError(errno.EBADF, "none")


ATTACKS: dict[str, Callable[..., object]] = {
    "read": read, "write": write, "list": listing, "truncate": lambda path: os.truncate(path, 0),
    "rename": os.rename, "chmod": lambda path: Path(path).chmod(0o700), "stat": os.stat, "mkdir": os.mkdir,
    "link": os.link, "symlink": os.symlink, "unlink": os.unlink, "utime": lambda path: os.utime(path, (1, 1)),
    "tcp": tcp, "udp": udp, "unix": unix, "abstract": abstract, "netlink": netlink, "mptcp": mptcp,
    "fast_open": fast_open, "ptrace": ptrace, "vm_readv": vm_readv, "kill": kill, "tgkill": tgkill,
    "pidfd_kill": pidfd_kill, "owner_kill": owner_kill, "prlimit": prlimit, "renice": renice, "pin": pin,
    "unshare": unshare, "io_uring": io_uring, "keyring": keyring, "forks": forks, "memory": memory,
    "open_many": open_many, "grow": grow, "environment": environment, "proc_environ": proc_environ,
    "proc_mem": proc_mem, "descriptors": descriptors,
}  # fmt: skip


def main() -> None:
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        try:
            if name == "parent":
                answer = str(parent())
            else:
                ATTACKS[name](*arguments)
                answer = "OPEN"
        except OSError as error:
            answer = errno.errorcode.get(error.errno or 0, type(error).__name__)
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
