"""Stays beside a server, or beside its bubblewrap, and sees that nothing of it is left behind.

As subreaper it becomes the parent of every daemon that the server leaves, and a pidfd tells it
when the gateway is gone, however that happened. Then, or when the server ends, it kills all that
descends from it. SIGTERM: the server is asked to end and has a bounded time. SIGQUIT: at once.

Bubblewrap needs it too: until its sandbox is set up, some 10 ms, its inner process does not end
with the outer one. It cannot protect itself from SIGKILL by the gateway: then the kernel kills
the server, but without a namespace not what the server left behind. So: never SIGKILL the
supervisor, send it SIGQUIT.
"""

from __future__ import annotations

import os
import select
import signal
import time

from . import kernel, launcher, tree

TYPE_CHECKING = False  # `typing` itself is not imported: it costs milliseconds
if TYPE_CHECKING:
    from pml.confinement.policy import Policy

GRACE_SECONDS = 1.0
"""For a server that was asked to end; the gateway has closed its stdin before that."""

_OF_BUBBLEWRAP = 2  # processes above the server: its monitor and the namespace's init
_ORPHANED = 137  # exit status when the gateway was gone before we began
_PIPE_BYTES = 1 << 16  # all that it can hold
_POLL = 0.002  # seconds between two looks at a tree that is being killed


def supervise(gateway: int, policy: Policy | None, command: list[str]) -> None:
    """Start the server as a child, watch, clean up, and exit as the server did.

    Without a policy the command is bubblewrap, which starts the launcher inside.
    """
    watched = os.pidfd_open(gateway)
    if os.getppid() != gateway:
        os._exit(_ORPHANED)
    if os.getpgrp() != os.getpid():
        os.setsid()  # the filter knows our group by our pid
    kernel.adopt_orphans()
    kernel.forbid_tracing()
    wakeup = _Wakeup()
    myself = os.getpid()
    server = os.fork()
    if server == 0:
        wakeup.forget()
        os.setsid()  # a signal that the server sends to its group does not reach us
        kernel.die_with_parent(myself)
        if policy is None:
            launcher.run(command[0], command)
        else:
            launcher.launch(policy, command)
    _let_go_of_stdio()
    status = _watch(server, watched, wakeup, 0 if policy else _OF_BUBBLEWRAP)
    _kill_all()
    os._exit(status)


class _Wakeup:
    """Turns signals into something that can be waited for together with a pidfd.

    The pipe only wakes: a flood of children's ends may fill it, and must not hide a SIGTERM.
    """

    def __init__(self) -> None:
        self._noted: set[int] = set()
        self.reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writing)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD):
            signal.signal(number, self._note)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def taken(self, *, ready: bool) -> set[int]:
        """Give the signals since the last time; `ready` says that the pipe has something."""
        if ready:
            os.read(self.reading, _PIPE_BYTES)
        noted, self._noted = self._noted, set()
        return noted

    def _note(self, number: int, _frame: object) -> None:
        self._noted.add(number)

    def forget(self) -> None:
        """Make signals plain again: this process becomes the server."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _let_go_of_stdio() -> None:
    """Hold no end of the server's pipes: the gateway must see them close."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)


def _watch(server: int, gateway: int, wakeup: _Wakeup, between: int) -> int:
    """Wait for the first reason to clean up; give the exit status it stands for."""
    deadline = float("inf")
    while True:
        left = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([gateway, wakeup.reading], [], [], left)
        signals = wakeup.taken(ready=wakeup.reading in ready)
        ended = _reap(server)
        if ended is not None:
            return ended
        # By the clock: a server whose children come and go keeps the pipe ready all the time.
        if gateway in ready or signal.SIGQUIT in signals or time.monotonic() >= deadline:
            return 128 + signal.SIGKILL
        if left is None and signals & {signal.SIGTERM, signal.SIGINT}:
            _ask(server, between)
            deadline = time.monotonic() + GRACE_SECONDS


def _ask(server: int, between: int) -> None:
    """Send TERM to the server itself, below the processes of bubblewrap; if it is there yet."""
    for _ in range(between):
        server = next(iter(tree.children_of(server)), server)
    try:
        os.kill(server, signal.SIGTERM)
    except ProcessLookupError:
        return


def _reap(server: int) -> int | None:
    """Collect the dead; give the server's exit status if it is among them."""
    found: int | None = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == server:
            code = os.waitstatus_to_exitcode(status)
            found = code if code >= 0 else 128 - code


def _kill_all() -> None:
    """Kill every descendant, again and again until the kernel says that none is left."""
    mortal = True
    while mortal:
        mortal = _kill_each(tree.descendants_of(os.getpid()))
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                mortal = True
        except ChildProcessError:
            return
        time.sleep(_POLL)


def _kill_each(pids: list[int]) -> bool:
    """Say whether any could be killed: what became another user's (level off only) cannot."""
    killed = not pids
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
            killed = True
        except ProcessLookupError:
            killed = True
        except PermissionError:
            continue
    return killed
