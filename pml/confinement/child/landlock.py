"""Landlock through its three system calls: the rights, the probe, and laying rules on oneself.

Allow-only and for good: what is not named is refused, to this process and all that it starts.
See https://docs.kernel.org/userspace-api/landlock.html; the numbers are its ABI.
"""

import ctypes
import errno
import os
import stat
import struct

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
REMOVE_DIR, REMOVE_FILE, MAKE_CHAR, MAKE_DIR = 1 << 4, 1 << 5, 1 << 6, 1 << 7
MAKE_REG, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK = 1 << 8, 1 << 9, 1 << 10, 1 << 11
MAKE_SYM, REFER, TRUNCATE, IOCTL_DEV = 1 << 12, 1 << 13, 1 << 14, 1 << 15

READ = READ_FILE | READ_DIR
READ_EXECUTE = READ | EXECUTE
WRITE = (
    READ | WRITE_FILE | TRUNCATE | REFER | REMOVE_DIR | REMOVE_FILE
    | MAKE_DIR | MAKE_REG | MAKE_SYM | MAKE_FIFO
)  # fmt: skip
"""No device nodes, and no sockets: they could only be used against someone else."""

DEVICE = READ_FILE | WRITE_FILE | IOCTL_DEV

OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""The rights that exist for a file; naming others is an error."""

ABI_REFER, ABI_TRUNCATE, ABI_TCP, ABI_IOCTL, ABI_SCOPES = 2, 3, 4, 5, 6
"""The versions that brought what our promises depend on."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_PATH_BENEATH, _TCP_PORT = 1, 2  # kinds of rule
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_ASK_VERSION = 1


def abi() -> int:
    """Ask the kernel for its Landlock version; 0 if there is none, or it is switched off.

    Not through securityfs: that is often not mounted where Landlock works well.
    """
    try:
        version = _call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0
    return version


def handled(version: int) -> int:
    """Give the file rights that a version knows: all of them get refused unless allowed."""
    count = 13 + (version >= ABI_REFER) + (version >= ABI_TRUNCATE) + (version >= ABI_IOCTL)
    return (1 << count) - 1


def restrict(version: int, rules: list[tuple[str, int]], ports: list[int]) -> None:
    """Lay the rules on this process, at most those of `version`. Needs no_new_privs.

    A path that is not there is skipped, which refuses it. A kernel that knows less than was
    promised is an error.
    """
    if abi() < version:
        raise OSError(errno.ENOSYS, f"landlock: version {version} is not there")
    tcp = _BIND_TCP | _CONNECT_TCP if version >= ABI_TCP else 0
    scopes = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if version >= ABI_SCOPES else 0
    size = 24 if version >= ABI_SCOPES else 16 if version >= ABI_TCP else 8
    attributes = struct.pack("=QQQ", handled(version), tcp, scopes)[:size]
    ruleset = _call(_CREATE, attributes, size, 0)
    for path, rights in rules:
        _allow_path(ruleset, path, rights & handled(version))
    if tcp:
        for port in ports:
            _call(_ADD, ruleset, _TCP_PORT, struct.pack("=QQ", _CONNECT_TCP, port), 0)
    _call(_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _allow_path(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= OF_FILES
        _call(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, opened), 0)
    finally:
        os.close(opened)


def _call(number: int, *arguments: int | bytes | None) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    widened = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *widened)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"landlock: {os.strerror(code)}")
    return int(result)
