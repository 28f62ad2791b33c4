"""One program from first entry to outcome: the guest asks, the host answers, timers fall due.

Between entries the guest is at rest; this room decides what to bring next. It knows no kind of
guest and no file. A program that makes one call at a time is served without a task per call; calls
side by side get a task group.
"""

import asyncio
import collections
import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import anyio
import anyio.abc
import anyio.lowlevel

from sandbox_host import answers
from sandbox_host.abi import LOG_LINE_BYTES
from sandbox_host.driving import Driver, aside
from sandbox_host.errors import (
    CannotSuspend,
    GuestProtocolError,
    LimitExceeded,
    NothingToWaitFor,
    ResultNotJson,
    SandboxError,
)
from sandbox_host.guests.guest import Answer, Asked, Entry, Guest, Slice
from sandbox_host.limits import Limits
from sandbox_host.outcome import (
    SUSPEND,
    Call,
    CallOutcome,
    CallRecords,
    Completed,
    Failed,
    Host,
    Log,
    Outcome,
    RecordFacts,
    Suspended,
)

Result = TypeVar("Result")


@dataclasses.dataclass(slots=True)
class Progress:
    """What a run has gathered; it goes into a snapshot and comes out of it again."""

    clock_ms: float = 0.0
    cpu_seconds: float = 0.0
    log_bytes: int = 0
    calls_made: int = 0
    logs: list[Log] = dataclasses.field(default_factory=list)
    records: list[RecordFacts] = dataclasses.field(default_factory=list)
    last_id: int = 0
    waiting: dict[int, Call] = dataclasses.field(default_factory=dict)
    """Calls that the host answered with SUSPEND."""
    value: bytes | None = None


def waiting_calls(progress: Progress) -> tuple[Call, ...]:
    """Give the calls that wait for an answer, in the order in which they were made."""
    return tuple(call for _, call in sorted(progress.waiting.items()))


Original = Callable[[int, int], tuple[int, int]]
"""Where a line and column of the running code stand in the source."""


def unmoved(line: int, column: int) -> tuple[int, int]:
    """The `Original` of code that runs as it was written."""
    return line, column


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """Who answers the calls, and how to find their places."""

    host: Host
    original: Original = unmoved


class _Queue:
    """Calls that have not begun, slice after slice, each read when it is its turn."""

    def __init__(self) -> None:
        self._slices: collections.deque[Sequence[Asked]] = collections.deque()
        self._next = 0  # in the first slice
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, calls: Sequence[Asked]) -> None:
        if calls:
            self._slices.append(calls)
            self._length += len(calls)

    def popleft(self) -> Asked:
        calls = self._slices[0]
        asked = calls[self._next]
        self._next += 1
        self._length -= 1
        if self._next == len(calls):
            self._slices.popleft()
            self._next = 0
        return asked


class Bridge:
    """Drives one guest's program."""

    def __init__(
        self, guest: Guest, driver: Driver, limits: Limits, service: Service, progress: Progress
    ) -> None:
        """Take a guest at rest; `progress` is empty for a new program."""
        self._guest = guest
        self._driver = driver
        self._limits = limits
        self._service = service
        self._progress = progress
        self._queue = _Queue()
        self._answers: list[Answer] = []
        self._active = 0
        self._changed = anyio.Event()
        self._began = time.perf_counter() - progress.clock_ms / 1000
        self._turn_began = time.perf_counter()
        self._timer_at: float | None = None
        self._wants_files = False

    async def run(self, first: Entry) -> Outcome:
        """Bring the program from this entry to its end, its failure or its suspension."""
        failure: SandboxError | None = None
        with anyio.move_on_after(self._limits.wall_seconds) as wall:
            failure = await self._go_on(await self._drive(first))
        if wall.cancelled_caught:
            failure = wall_limit(self._limits.wall_seconds)
        self._progress.clock_ms = self._now_ms()
        self._progress.cpu_seconds = self._driver.cpu_seconds
        return await self._outcome(failure)

    def _now_ms(self) -> float:
        return (time.perf_counter() - self._began) * 1000

    async def _go_on(self, left: Slice) -> SandboxError | None:
        """Serve one call at a time for as long as there is only one."""
        while True:
            failure = self._take(left)
            if failure is not None:
                return failure
            if self._is_idle():
                return self._rest()
            if not self._queue:
                await self._wait()
                left = await self._enter()
            elif len(self._queue) == 1 and self._timer_at is None and not self._wants_files:
                await self._answer(self._queue.popleft())
                if self._turn_is_over():
                    await anyio.lowlevel.checkpoint()
                    self._turn_began = time.perf_counter()
                left = await self._enter()
            else:
                async with anyio.create_task_group() as tasks:
                    left = await self._side_by_side(tasks)
                    if left.failure is not None:
                        tasks.cancel_scope.cancel()

    async def _side_by_side(self, tasks: anyio.abc.TaskGroup) -> Slice:
        """Serve calls at once until all are answered; give the slice after the last of them."""
        while True:
            await self._begin_calls(tasks)
            if not self._may_begin():
                await self._wait()
            left = await self._enter()
            if left.failure is None and (self._active or self._queue or left.calls):
                failure = self._take(left)
                left = left if failure is None else Slice(failure=failure)
                if failure is None:
                    continue
            return left

    def _may_begin(self) -> bool:
        return len(self._queue) > 0 and self._active < self._limits.calls_in_flight

    async def _begin_calls(self, tasks: anyio.abc.TaskGroup) -> None:
        """Let calls begin for one turn of the loop.

        A task goes on to the next call when it is done with one, so a host that answers at once
        needs one task for all. More of them begin, twice as many each time, while calls are left.
        """
        self._turn_began = time.perf_counter()
        wanted = 1
        while self._may_begin() and not self._turn_is_over():
            free = self._limits.calls_in_flight - self._active
            for _ in range(min(wanted, free, len(self._queue))):
                self._active += 1
                tasks.start_soon(self._answer_some)
            wanted *= 2
            await anyio.lowlevel.checkpoint()

    async def _answer_some(self) -> None:
        """Answer calls from the queue until none is left or the turn is over."""
        while self._queue:
            await self._answer(self._queue.popleft())
            if self._turn_is_over():
                break
        self._active -= 1
        self._changed.set()

    def _turn_is_over(self) -> bool:
        """Say whether the loop must look at others before this program goes on."""
        return time.perf_counter() - self._turn_began > self._driver.turn_seconds()

    async def _answer(self, asked: Asked) -> None:
        """Ask the host. What it raises rejects the call; only a real cancellation passes."""
        asked = self._located(asked)
        started = time.perf_counter()
        outcome: CallOutcome = "cancelled"
        limit = self._limits.input_bytes
        try:
            call = await self._read(lambda: answers.call_of(asked), asked.args)
            value = await self._service.host(call)
            if value is SUSPEND:
                self._progress.waiting[asked.id] = call
                return
            answer = answers.resolved(asked, value, limit)
            outcome = "ok" if answer.ok else "error"
        except Exception as error:  # noqa: BLE001 - the embedder's function may raise anything
            outcome, answer = "error", answers.rejected(asked, error, limit)
        except anyio.get_cancelled_exc_class() as error:
            if is_cancelled():
                raise
            # the host awaited something that was cancelled elsewhere: its failure, not ours
            outcome, answer = "error", answers.rejected(asked, error, limit)
        finally:
            if asked.id not in self._progress.waiting:
                self._record(asked, outcome, started)
        self._answers.append(answer)

    async def _read(self, read: Callable[[], Result], text: bytes) -> Result:
        """Read JSON here if it is short, else on another thread."""
        if len(text) <= answers.LARGE_BYTES:
            return read()
        return await aside(read)

    def _record(self, asked: Asked, outcome: CallOutcome, started: float) -> None:
        milliseconds = (time.perf_counter() - started) * 1000
        place = (asked.line or None, asked.column or None)
        self._progress.records.append((asked.id, asked.tool, outcome, milliseconds, *place))

    async def _wait(self) -> None:
        """Wait until there is something to bring: an answer, a timer, a file turn."""
        if self._answers or self._wants_files:
            return
        if not self._active and self._timer_left() is None:
            return
        with anyio.move_on_after(self._timer_left()):
            await self._changed.wait()
        self._turn_began = time.perf_counter()

    async def _enter(self) -> Slice:
        """Bring the guest all that is there for it; nothing there, nothing happens."""
        brought, self._answers = self._answers, []
        self._changed = anyio.Event()
        tick, files = self._timer_is_due(), self._wants_files
        if not (brought or tick or files):
            return Slice(timer_seconds=self._timer_left(), wants_files=files)
        try:
            entry = self._guest.settle(brought, self._now_ms(), tick=tick, files=files)
        except SandboxError as error:
            return Slice(failure=error)
        return await self._drive(entry)

    async def _drive(self, entry: Entry) -> Slice:
        try:
            return await self._driver.drive(entry)
        except SandboxError as error:
            return Slice(failure=error)

    def _take(self, left: Slice) -> SandboxError | None:
        """Keep what a slice left; the limits hold even for a guest that forgot them."""
        progress = self._progress
        progress.logs.extend(left.logs)
        progress.log_bytes += sum(len(log.text) + LOG_LINE_BYTES for log in left.logs)
        progress.calls_made += len(left.calls)
        if left.value is not None:
            progress.value = left.value
        self._wants_files = left.wants_files
        self._timer_at = (
            None if left.timer_seconds is None else time.perf_counter() + left.timer_seconds
        )
        failure = left.failure or self._breach(left)
        if failure is None:
            self._queue.extend(left.calls)
        return failure

    def _located(self, asked: Asked) -> Asked:
        line, column = self._service.original(asked.line, asked.column)
        if (line, column) == (asked.line, asked.column):
            return asked
        return asked._replace(line=line, column=column)

    def _breach(self, left: Slice) -> SandboxError | None:
        progress, limits = self._progress, self._limits
        if progress.calls_made > limits.calls:
            return LimitExceeded("call_limit", f"the program made more than {limits.calls} calls")
        if progress.log_bytes > limits.log_bytes + _LOG_SLACK:
            return LimitExceeded("log_limit", "the console output is larger than the log limit")
        if left.calls and left.calls[0].id <= progress.last_id:
            return GuestProtocolError("a call with a number that was used before")
        progress.last_id = left.calls[-1].id if left.calls else progress.last_id
        if progress.waiting and not self._guest.can_suspend:
            return CannotSuspend(next(iter(progress.waiting.values())).tool)
        return None

    def _timer_left(self) -> float | None:
        """Give the seconds until a timer is due, or None. A finished program's timers are void."""
        if self._timer_at is None or self._progress.value is not None:
            return None
        return max(0.0, self._timer_at - time.perf_counter())

    def _timer_is_due(self) -> bool:
        left = self._timer_left()
        return left is not None and left <= 0

    def _is_idle(self) -> bool:
        """Say whether nothing can go on: no call, no file turn, no timer that matters."""
        if self._queue or self._active or self._answers or self._wants_files:
            return False
        return (
            self._progress.value is not None
            or bool(self._progress.waiting)
            or self._timer_at is None
        )

    def _rest(self) -> SandboxError | None:
        if self._progress.value is None and not self._progress.waiting:
            return NothingToWaitFor()
        return None

    async def _outcome(self, failure: SandboxError | None) -> Outcome:
        progress = self._progress
        logs, records = tuple(progress.logs), CallRecords(progress.records)
        if failure is not None:
            return Failed(failure, logs, records)
        if progress.waiting:
            return Suspended(waiting_calls(progress), logs, records)
        text = progress.value or b"null"
        try:
            value = await self._read(lambda: answers.value_of(text), text)
        except ValueError as error:
            return Failed(ResultNotJson(str(error)), logs, records)
        return Completed(value, logs, records)


# the guest counts the bytes of an unhandled rejection as it tells it, the host as it words it
_LOG_SLACK = 4096


def is_cancelled() -> bool:
    """Say whether the running task itself was asked to stop."""
    if anyio.current_effective_deadline() == -math.inf:
        return True
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True  # not asyncio: there only a scope can cancel
    return task is None or task.cancelling() > 0


def wall_limit(seconds: float) -> LimitExceeded:
    """Give the error of a run that took too long."""
    return LimitExceeded(
        "wall_limit", f"the run took longer than {seconds:g} s, calls included",
        hint="split the work, or raise Limits.wall_seconds",
    )  # fmt: skip
