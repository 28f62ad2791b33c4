"""Ending a confined server from outside: asking it, and making sure.

Closing its stdin comes first and is the backend's; then `ask_to_end`, a bounded wait, `end_now`.
Both only send signals and return at once; whoever started the process waits for it.
"""

import os
import signal

from pml.confinement.model import Confined

_SUPERVISOR, _PLAIN = "supervisor", "plain"


def way(platform: str) -> str:
    """Say what stands between the gateway and the server."""
    return _SUPERVISOR if platform == "linux" else _PLAIN


def ask_to_end(pid: int, confined: Confined) -> None:
    """Ask the server to end; one that is already gone is none to ask.

    The supervisor passes TERM on to the server itself, gives it one second and then kills all.
    """
    if confined.how_to_end == _SUPERVISOR:
        _send(pid, signal.SIGTERM)
    else:
        _send_to_group(pid, signal.SIGTERM)


def end_now(pid: int, confined: Confined) -> bool:
    """Kill the server with all that it started; say whether something may be left.

    Nothing is, if the supervisor lives to do it: SIGKILL would end it before its work, so it gets
    SIGQUIT. Without one (not on Linux) only the server's process group is reached.
    """
    if confined.how_to_end == _SUPERVISOR:
        return not _send(pid, signal.SIGQUIT)
    _send_to_group(pid, signal.SIGKILL)
    return True


def _send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _send_to_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return
