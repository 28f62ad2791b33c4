"""Where a guest computes: on the event loop's thread while it is short, on another when it is not.

A short slice costs no thread hop. One that goes on past `INLINE_SECONDS` moves to a worker thread
and the loop goes on. The time that slices took from the loop is counted, and when it is too much
(many heavy programs at once) slices start on a worker at once. There are as many computing workers
as cores; a slice that takes long gives its place up to those that wait. Guest CPU time is metered.
"""

import os
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

QUANTUM_SECONDS = 0.05
"""How long a slice may hold a worker while others wait for one."""

BLOCKING_THREADS = 32
"""Work that may wait in a system call or cannot be interrupted: files, raw modules, erasing."""

_DEBT_SECONDS = 0.006  # the loop may be late by this much in all before slices go elsewhere
_REPAY = 0.1  # the share of passing time that pays for it
_FREE_SECONDS = 0.0005  # a slice this short is no burden: a fresh program takes half of it
_FAIR_SECONDS = 0.001  # programs answered at once keep the loop this long, together
_STOP_SECONDS = 5.0  # how long a cancelled worker may take to notice; a tick unless a disk hangs

_computing: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("pml_computing")
_blocking: anyio.lowlevel.RunVar[anyio.CapacityLimiter] = anyio.lowlevel.RunVar("pml_blocking")

Result = TypeVar("Result")


class LoopDebt:
    """How late guests have made the loop, and how many share it. One per process."""

    def __init__(self) -> None:
        """Begin without debt."""
        self._seconds = 0.0
        self._at = 0.0
        self.running = 0

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

    def turn_seconds(self) -> float:
        """Give how long one program may go on before it lets the loop look at others."""
        return _FAIR_SECONDS / max(1, self.running)


class Worker:
    """What is known of work on a thread: asked to stop, begun, ended."""

    def __init__(self) -> None:
        """Begin with work that has not begun."""
        self._deciding = threading.Lock()
        self._began = False
        self.stopped = False
        self.ended = threading.Event()

    def begin(self) -> bool:
        """Say whether the work may begin: not if it was stopped before its thread came to it."""
        with self._deciding:
            self._began = not self.stopped
            return self._began

    def stop(self) -> None:
        """Ask the work to end, or not to begin."""
        with self._deciding:
            self.stopped = True

    def is_inside(self) -> bool:
        """Say whether the thread is still at it."""
        return self._began and not self.ended.is_set()


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
        left: Slice | None = None
        if not entry.may_block:
            started = time.perf_counter()
            if self._debt.allows(started):
                left = self._inline(entry, started)
        while left is None:
            self._check()
            left = await self._elsewhere(entry)
        self._check()
        return left

    def turn_seconds(self) -> float:
        """Give how long a program may go on before it lets the loop look at others."""
        return self._debt.turn_seconds()

    def _check(self) -> None:
        if self.cpu_seconds > self._budget:
            raise LimitExceeded(
                "cpu_limit", f"the program computed for more than {self._budget:g} s",
                hint="do less work per run, or raise Limits.cpu_seconds",
            )  # fmt: skip

    def _inline(self, entry: Entry, started: float) -> Slice | None:
        self._ticker.keep(started)
        try:
            while True:
                left = entry.poll()
                if left is not None or time.perf_counter() - started > INLINE_SECONDS:
                    return left
        finally:
            now = time.perf_counter()
            self.cpu_seconds += now - started
            self._debt.charge(now, now - started)

    async def _elsewhere(self, entry: Entry) -> Slice | None:
        worker = Worker()
        try:
            work = in_thread if entry.may_block else in_turn
            return await work(lambda: self._for_a_while(entry, worker), worker)
        finally:
            self.lost = worker.is_inside()

    def _for_a_while(self, entry: Entry, worker: Worker) -> Slice | None:
        """Poll until the entry ends, the budget does, or the quantum is over."""
        entry.relax()
        before = time.thread_time()
        until = time.perf_counter() + QUANTUM_SECONDS
        while True:
            self._ticker.keep(time.perf_counter())
            left = entry.poll()
            now = time.thread_time()
            self.cpu_seconds += now - before
            before = now
            over = time.perf_counter() > until or self.cpu_seconds > self._budget
            if left is not None or over or worker.stopped:
                return left


async def in_turn(work: Callable[[], Result], worker: Worker) -> Result:
    """Run work that only computes, on one of as many threads as there are cores."""
    return await _in_thread(work, worker, _limiter(_computing, os.cpu_count() or 1))


async def in_thread(work: Callable[[], Result], worker: Worker) -> Result:
    """Run work that may wait in a system call."""
    return await _in_thread(work, worker, _limiter(_blocking, BLOCKING_THREADS))


async def aside(work: Callable[[], Result]) -> Result:
    """Run work that cannot be stopped and holds no guest: when cancelled, it is left alone."""
    limiter = _limiter(_blocking, BLOCKING_THREADS)
    return await _in_thread(work, Worker(), limiter, waits=False)


def _limiter(
    variable: anyio.lowlevel.RunVar[anyio.CapacityLimiter], threads: int
) -> anyio.CapacityLimiter:
    try:
        return variable.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(threads)
        variable.set(limiter)
        return limiter


async def _in_thread(
    work: Callable[[], Result],
    worker: Worker,
    limiter: anyio.CapacityLimiter,
    *,
    waits: bool = True,
) -> Result:
    """Run `work` on a worker thread; when cancelled, ask it to stop and wait until it has.

    The wait is bounded: of work that hangs in a disk, `worker.is_inside()` stays true.
    """

    def run() -> Result:
        if not worker.begin():
            raise LimitExceeded("cancelled", "the work was cancelled before it began")
        try:
            return work()
        finally:
            worker.ended.set()

    try:
        return await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=limiter)
    except anyio.get_cancelled_exc_class():
        worker.stop()
        if waits and worker.is_inside():
            with anyio.CancelScope(shield=True):
                own = anyio.CapacityLimiter(1)
                await anyio.to_thread.run_sync(worker.ended.wait, _STOP_SECONDS, limiter=own)
        raise
