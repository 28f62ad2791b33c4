"""The few calls to the kernel that the standard library lacks: prctl, capset, seccomp."""

import ctypes
import os
import struct

SIGPIPE, SIGXFSZ = 13, 25
"""Python ignores these two, and what is ignored stays so across exec."""

GATEWAY, GATEWAY_GROUP, SUPERVISOR, SUPERVISOR_GROUP, SELF, SELF_GROUP = range(
    0x7FFFFF00, 0x7FFFFF06
)
"""Stand-ins in a seccomp program for ids that only the child knows. No process id is so large."""

_SET_DEATH_SIGNAL, _SET_DUMPABLE, _SET_SECCOMP, _DROP_BOUNDING = 1, 4, 22, 24
_SET_SECUREBITS, _SET_SUBREAPER, _SET_NO_NEW_PRIVS, _AMBIENT = 28, 36, 38, 47
_AMBIENT_CLEAR_ALL = 4
_SECCOMP_FILTER = 2
_ROOT_IS_NOTHING_SPECIAL = 0b11101111  # NOROOT, NO_SETUID_FIXUP, no ambient raise; all locked
_CAPABILITIES_VERSION_3 = 0x20080522
_MOST_CAPABILITIES = 64  # what version 3 can name
_EINVAL = 22
_INSTRUCTION = 8  # bytes of one


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; end now if that was already so."""
    _prctl(_SET_DEATH_SIGNAL, 9)
    if os.getppid() != parent:
        os._exit(137)


def adopt_orphans() -> None:
    """Become the parent of every descendant that loses its own, daemons included."""
    _prctl(_SET_SUBREAPER, 1)


def forbid_tracing() -> None:
    """Close this process's memory, environment and descriptors to others of the same user."""
    _prctl(_SET_DUMPABLE, 0)


def no_new_privileges() -> None:
    """Make setuid programs plain ones, for this process and its descendants."""
    _prctl(_SET_NO_NEW_PRIVS, 1)


def drop_capabilities() -> None:
    """Give up all that sets root apart; for an ordinary user there is nothing to give up."""
    if os.geteuid() == 0:
        _lock_root()
    _prctl(_AMBIENT, _AMBIENT_CLEAR_ALL)
    header = struct.pack("=Ii", _CAPABILITIES_VERSION_3, 0)
    _checked(_libc().capset(header, bytes(24)), "capset")


def _lock_root() -> None:
    """Empty the bounding set and make uid 0 gain nothing by exec.

    Already refused where uid 0 is only the root of a user namespace without capabilities; then
    there is nothing to regain either.
    """
    try:
        _prctl(_SET_SECUREBITS, _ROOT_IS_NOTHING_SPECIAL)
        for capability in range(_MOST_CAPABILITIES):
            _prctl(_DROP_BOUNDING, capability)
    except PermissionError:
        return
    except OSError as error:
        if error.errno != _EINVAL:  # past the last one this kernel knows
            raise


def filter_calls(program: bytes) -> None:
    """Install a seccomp program; irrevocable, and inherited."""
    prepared = _Program(len(program) // _INSTRUCTION, program)
    _prctl(_SET_SECCOMP, _SECCOMP_FILTER, ctypes.byref(prepared))


def default_signals() -> None:
    """Undo what Python changed. Through libc: importing `signal` costs milliseconds."""
    for number in (SIGPIPE, SIGXFSZ):
        _libc().signal(number, None)


def _prctl(option: int, value: int, *more: object) -> None:
    rest = [*more, *[ctypes.c_ulong(0)] * (3 - len(more))]
    _checked(_libc().prctl(option, ctypes.c_ulong(value), *rest), f"prctl {option}")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
