"""Lays the restrictions of a policy on this process and becomes the server.

The order matters. Descriptors and folder first, while everything is still allowed; capabilities
before the file rules, so that a rule opens nothing that the server itself could not reach; the
filter of system calls last, because it refuses some of what comes before. After it only exec: with
spawn refused not even a fork is possible. Any step that fails raises OSError: better no server.
"""

from __future__ import annotations

import os
import resource
import struct

from . import kernel, landlock

TYPE_CHECKING = False  # `typing` itself is not imported: it costs milliseconds
if TYPE_CHECKING:
    from pml.confinement.policy import Policy

_INSTRUCTION = "=HBBI"


def launch(policy: Policy, command: list[str]) -> None:
    """Restrict this process, then run the command in its place."""
    close_descriptors()
    os.chdir(policy["cwd"])
    for number, value in policy["limits"]:
        _limit(number, value)
    if policy["privileges"]:
        kernel.drop_capabilities()
        kernel.no_new_privileges()
    if policy["landlock"]:
        landlock.restrict(*policy["landlock"])
    kernel.default_signals()
    if policy["seccomp"]:
        kernel.filter_calls(_settled(policy["seccomp"], policy["gateway"]))
    os.execv(policy["file"], command)  # noqa: S606 - the very purpose


def run(file: str, command: list[str]) -> None:
    """Run a command in place of this process, with nothing laid on it."""
    close_descriptors()
    kernel.default_signals()
    os.execv(file, command)  # noqa: S606 - as above


def close_descriptors() -> None:
    """Keep stdin, stdout and stderr only."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:  # noqa: PLR2004 - stdin, stdout, stderr
            try:
                os.close(int(name))
            except OSError:
                continue  # the one that listed them


def _limit(number: int, value: int) -> None:
    """Lower a limit for good; it never rises above what we were given."""
    hard = resource.getrlimit(number)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(number, (value, value))


def _settled(program: bytes, gateway: tuple[int, int]) -> bytes:
    """Put the real process ids where the program has stand-ins."""
    pid, group = gateway
    actual = {
        kernel.GATEWAY: pid, kernel.GATEWAY_GROUP: -group,
        kernel.SUPERVISOR: os.getppid(), kernel.SUPERVISOR_GROUP: -os.getppid(),
        kernel.SELF: os.getpid(), kernel.SELF_GROUP: -os.getpid(),
    }  # fmt: skip
    return b"".join(
        struct.pack(_INSTRUCTION, code, yes, no, actual.get(value, value) & 0xFFFFFFFF)
        for code, yes, no, value in struct.iter_unpack(_INSTRUCTION, program)
    )
