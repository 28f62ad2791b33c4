"""The interface through which everything above drives a guest, whichever kind it is.

A guest is entered (`start`, `settle`), runs until nothing in it is runnable, and leaves a `Slice`:
what it asks, says and became. It never waits inside an entry. An entry is polled, so that whoever
drives it decides where it runs and when to give up.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from sandbox_host.engine.ticker import Ticker
from sandbox_host.errors import SandboxError
from sandbox_host.outcome import Log

TOOL = re.compile(r"[^:\x00-\x1f\x7f]{1,128}:[^\x00-\x1f\x7f]{1,128}")
"""A tool id, "server:tool": one colon at least, and the first one ends the server's name."""


class Program(NamedTuple):
    """What to run: JavaScript (types erased), nothing for a raw module; and its input."""

    source: bytes
    args: bytes
    entry: str = ""
    log_bytes: int = 0
    output_bytes: int = 0
    calls: int = 0
    seed: int = 0


class Asked(NamedTuple):
    """A call as the guest wrote it: the arguments are JSON text that nobody has read yet."""

    id: int
    tool: str
    args: bytes
    line: int
    column: int


class Answer(NamedTuple):
    """What becomes of a call: the value's JSON, or an error's."""

    id: int
    ok: bool
    json: bytes


class Slice(NamedTuple):
    """What one entry left."""

    calls: Sequence[Asked] = ()
    logs: Sequence[Log] = ()
    value: bytes | None = None
    """The program's value as JSON; None while it goes on."""

    failure: SandboxError | None = None
    timer_seconds: float | None = None
    wants_files: bool = False


class GuestState(NamedTuple):
    """A guest at rest, as the pages of its memory that differ from a fresh one's."""

    memory_bytes: int
    pages: Sequence[tuple[int, bytes]]


class Entry(Protocol):
    """A guest that was entered and has not come back yet."""

    may_block: bool
    """Whether it may wait in a system call: then it never runs on the event loop's thread."""

    def relax(self) -> None:
        """Let polls take a few ticks from now on: whoever polls has time."""

    def poll(self) -> Slice | None:
        """Go on for at most a tick; None if it is not at rest yet. Any thread, one at a time."""


class Guest(Protocol):
    """One program's world."""

    ticker: Ticker
    """The clock that makes its polls come back."""

    can_suspend: bool
    """Whether a guest that waits can be put away: it has no stack then."""

    def start(self, program: Program, now_ms: float) -> Entry:
        """Begin a program."""

    def settle(
        self, answers: Sequence[Answer], now_ms: float, *, tick: bool, files: bool
    ) -> Entry:
        """Bring answers; `tick`: timers are due; `files`: this entry may block on files."""

    def snapshot(self) -> GuestState:
        """Copy a guest at rest."""

    def restore(self, state: GuestState) -> None:
        """Become the guest that was copied."""

    def refusals(self) -> tuple[str, ...]:
        """Give the file operations that were refused to it."""

    def close(self) -> None:
        """Free it, in the middle of an entry if need be."""
