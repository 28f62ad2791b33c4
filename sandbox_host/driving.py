"""Where a guest computes: on the event loop's thread while it is short, on another when it is not.

A short slice costs no thread hop. One that goes on past `INLINE_SECONDS` moves to a worker thread
and the loop goes on. The time that slices took from the loop is counted, and when it is too much
(many heavy programs at once) slices start on a worker at once. Guest CPU time is metered here.
"""

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from sandbox_host.engine.ticker import Ticker
from sandbox_host.errors import LimitExceeded
from sandbox_host.guests.guest import Entry, Slice

INLINE_SECONDS = 0.0015
"""How long a slice may hold the loop: ticks are 2 ms, so the worst case is about twice that."""

WORKER_THREADS = 32
"""Guests that compute at the same time; more would only fight over the cores."""

_DEBT_SECONDS = 0.006  # the loop may be late by this much in all before slices go elsewhere
_REPAY = 0.1  # the share of passing time that pays for it
_FREE_SECONDS = 0.001  # a slice this short is no burden: a fresh program takes a third of it
_STOP_SECONDS = 5.0  # how long a cancelled worker may take to notice; a tick unless a disk hangs

_limiter: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("pml_guest_workers")

Result = TypeVar("Result")


class LoopDebt:
    """How late slices have made the loop. One per process: there is one clock."""

    def __init__(self) -> None:
        """Begin without debt."""
        self._seconds = 0.0
        self._at = 0.0

    def allows(self, now: float) -> bool:
        """Say whether the next slice may run on the loop's thread."""
        if self._seconds:
            self._seconds = max(0.0, self._seconds - (now - self._at) * _REPAY)
            self._at = now
        return self._seconds < _DEBT_SECONDS

    def charge(self, now: float, seconds: float) -> None:
        """Count a slice that ran there."""
        if seconds > _FREE_SECONDS:
            self._seconds += seconds
            self._at = now


class Driver:
    """Drives one sandbox's entries and meters them."""

    def __init__(self, ticker: Ticker, debt: LoopDebt, cpu_seconds: float) -> None:
        """Start with an unused budget."""
        self._ticker = ticker
        self._debt = debt
        self._budget = cpu_seconds
        self.cpu_seconds = 0.0
        self.lost = False
        """A worker could not be stopped and is still inside the guest."""

    async def drive(self, entry: Entry) -> Slice:
        """Bring an entry to its end; cancelling stops the guest within a tick."""
        if not entry.may_block:
            started = time.perf_counter()
            if self._debt.allows(started):
                left = self._inline(entry, started)
                if left is not None:
                    return left
        return await self._elsewhere(entry)

    def _inline(self, entry: Entry, started: float) -> Slice | None:
        self._ticker.keep(started)
        try:
            while True:
                left = entry.poll()
                now = time.perf_counter()
                if left is not None or now - started > INLINE_SECONDS:
                    break
        finally:
            now = time.perf_counter()
            self.cpu_seconds += now - started
            self._debt.charge(now, now - started)
        return left

    async def _elsewhere(self, entry: Entry) -> Slice:
        worker = Worker()
        try:
            return await in_thread(lambda: self._to_the_end(entry, worker.stop), worker)
        finally:
            self.lost = worker.is_inside()

    def _to_the_end(self, entry: Entry, stop: threading.Event) -> Slice:
        before = time.thread_time()
        while True:
            self._ticker.keep(time.perf_counter())
            left = entry.poll()
            now = time.thread_time()
            self.cpu_seconds += now - before
            before = now
            if left is not None:
                return left
            if stop.is_set():
                raise LimitExceeded("cancelled", "the run was cancelled")
            if self.cpu_seconds > self._budget:
                raise LimitExceeded(
                    "cpu_limit", f"the program computed for more than {self._budget:g} s",
                    hint="do less work per run, or raise Limits.cpu_seconds",
                )  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Worker:
    """What is known of work on a thread: asked to stop, begun, ended."""

    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    began: threading.Event = dataclasses.field(default_factory=threading.Event)
    ended: threading.Event = dataclasses.field(default_factory=threading.Event)

    def is_inside(self) -> bool:
        """Say whether the thread is still at it."""
        return self.began.is_set() and not self.ended.is_set()


async def in_thread(work: Callable[[], Result], worker: Worker) -> Result:
    """Run `work` on a worker thread; when cancelled, ask it to stop and wait until it has.

    The wait is bounded: of work that hangs in a disk, `worker.is_inside()` stays true.
    """

    def run() -> Result:
        worker.began.set()
        try:
            return work()
        finally:
            worker.ended.set()

    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(WORKER_THREADS)
        _limiter.set(limiter)
    try:
        return await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=limiter)
    except anyio.get_cancelled_exc_class():
        worker.stop.set()
        if worker.is_inside():
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(worker.ended.wait, _STOP_SECONDS)
        raise
