"""The JavaScript guest: QuickJS in a module whose memory was initialised when it was built.

Speaks the ABI of `guest_runtime/abi.h` through the exchange block. Everything that comes out of
the guest is checked here and only here.
"""

import json
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, overload

from sandbox_host import abi
from sandbox_host.engine.guard import Files, Guard
from sandbox_host.engine.instances import Entry as RawEntry
from sandbox_host.engine.runtime import Runtime
from sandbox_host.errors import (
    GuestCrashed,
    GuestProtocolError,
    LimitExceeded,
    ResultNotJson,
    SandboxError,
    SyntaxFailure,
    UncaughtError,
    UncaughtToolError,
    printable,
)
from sandbox_host.guests.guest import TOOL, Answer, Asked, GuestState, Program, Slice
from sandbox_host.limits import Limits
from sandbox_host.mounts import OpenedMount
from sandbox_host.outcome import LEVELS, Log

_RESERVE_TICKS = 25  # 50 ms for one malloc: a guest that takes longer was taken over
_READ_AT_ONCE = 512  # frames, about a millisecond; then the other threads get Python's lock
_REST_SECONDS = 1e-5
PAGE_BYTES = 4096  # of a snapshot's difference
_PLACE = re.compile(r"\bprogram:(\d+):(\d+)")
_LIMIT_HINTS = {
    "log_limit": "print less, or return the data as the program's value",
    "output_limit": "return less: filter or summarise in the program, or write a file",
    "call_limit": "ask for more in one call, or split the work over several runs",
    "memory_limit": "work on smaller pieces, or raise Limits.memory_bytes",
}


class QuickJsGuest:
    """A guest that is at rest between entries."""

    can_suspend = True

    def __init__(self, runtime: Runtime, limits: Limits, mounts: Sequence[OpenedMount]) -> None:
        """Instantiate a fresh guest."""
        self._runtime = runtime
        self.ticker = runtime.ticker
        self._mounts = mounts
        self._output_bytes = limits.output_bytes
        self._instance = runtime.javascript.instantiate(limits.memory_bytes, mounts)
        runtime.count(1)
        self._memory = self._instance.memory
        self._start = self._instance.function("pml_start")
        self._settle = self._instance.function("pml_settle")
        self._block = runtime.javascript.exchange
        self._files: Files | None = None
        self._entry: RawEntry | None = None

    def start(self, program: Program, now_ms: float) -> "JsEntry":
        """Begin a program."""
        configuration = abi.config(
            log_bytes=program.log_bytes,
            output_bytes=program.output_bytes,
            calls=program.calls,
            seed=program.seed,
        )
        cwd = self._mounts[0].guest.encode() if self._mounts else b""
        frames = [abi.frame(abi.FRAME_CONFIG, a=configuration, b=cwd)]
        if program.entry:
            frames.append(abi.frame(abi.FRAME_ENTRY, a=program.entry.encode()))
        frames.append(abi.frame(abi.FRAME_RUN, a=program.source, b=program.args))
        return self._enter(self._start, b"".join(frames), now_ms, None)

    def settle(
        self, answers: Sequence[Answer], now_ms: float, *, tick: bool = False, files: bool = False
    ) -> "JsEntry":
        """Bring answers, the time, or the permission to block on files."""
        frames = [
            abi.frame(abi.FRAME_RESOLVE if answer.ok else abi.FRAME_REJECT, answer.id, answer.json)
            for answer in answers
        ]
        if tick:
            frames.append(abi.frame(abi.FRAME_TICK))
        if files:
            frames.append(abi.frame(abi.FRAME_FILES))
            if self._files is None:
                self._files = self._runtime.guard.open(self._instance.store, self._mounts)
        return self._enter(self._settle, b"".join(frames), now_ms, self._files if files else None)

    def refusals(self) -> tuple[str, ...]:
        """Give the file operations that the guard refused so far."""
        return tuple(self._files.refused) if self._files else ()

    def snapshot(self) -> GuestState:
        """Copy the pages that differ from a fresh guest's, as the difference."""
        memory = self._memory.read(0, self._memory.size())
        return GuestState(len(memory), changed_pages(memory, self._runtime.javascript.image()))

    def restore(self, state: GuestState) -> None:
        """Put the differences onto a fresh guest's memory."""
        self._memory.grow_to(state.memory_bytes)
        memory = self._memory.window()
        for at, page in state.pages:
            memory.write(at, difference(page, memory.read(at, PAGE_BYTES)))

    def close(self) -> None:
        """Free the guest, in the middle of an entry if need be."""
        if self._entry is not None:
            self._entry.close()
        self._instance.close()
        self._runtime.count(-1)

    def _enter(
        self, function: Any, frames: bytes, now_ms: float, files: Files | None
    ) -> "JsEntry":
        memory, block = self._memory.window(), self._block
        inbox = abi.exchange(memory.read(block, abi.EXCHANGE_NOW_MS))
        address = inbox.inbox
        if len(frames) > inbox.inbox_bytes:
            address = self._reserve(len(frames))
            memory = self._memory.window()
        memory.write(address, frames)
        memory.write(block + abi.EXCHANGE_NOW_MS, abi.now_ms(now_ms))
        self._entry = self._instance.enter(function, len(frames))
        return JsEntry(self._entry, self._left, self._runtime.guard, files)

    def _reserve(self, count: int) -> int:
        entry = self._instance.enter(self._instance.function("pml_reserve"), count)
        with self._runtime.ticker.held():
            if not any(entry.poll() for _ in range(_RESERVE_TICKS)):
                entry.close()
                raise GuestCrashed("it does not give room for its input")
        if entry.result == 0:
            raise LimitExceeded(
                "memory_limit", "the input does not fit into the guest's memory",
                hint=_LIMIT_HINTS["memory_limit"],
            )  # fmt: skip
        return entry.result & 0xFFFFFFFF

    def _left(self) -> Slice:
        """Read what the entry left; everything in it is the guest's word."""
        memory = self._memory.window()
        block = abi.exchange(memory.read(self._block, abi.EXCHANGE_NOW_MS))
        outbox = memory.read(block.outbox, block.outbox_bytes)
        calls = FrameCalls(outbox)
        logs: list[Log] = []
        value: bytes | None = None
        failure: SandboxError | None = None
        at = last = read = 0
        while at < len(outbox):
            frame, end = abi.frame_at(outbox, at)
            if frame.kind == abi.FRAME_CALL:
                if frame.id <= last:
                    raise GuestProtocolError("calls that are not numbered upwards")
                last = frame.id
                calls.add(at, _asked(frame, self._output_bytes))
            elif frame.kind == abi.FRAME_LOG:
                logs.append(_log(frame))
            elif frame.kind == abi.FRAME_DONE:
                value = _within(frame.a, self._output_bytes)
            elif frame.kind == abi.FRAME_FAIL:
                failure = _failure(frame.id, frame.a)
            else:
                raise GuestProtocolError(f"a frame of kind {frame.kind}")
            at = end
            read += 1
            if read % _READ_AT_ONCE == 0:
                time.sleep(_REST_SECONDS)
        timer = None if block.timer_ms == abi.NO_TIMER else block.timer_ms / 1000
        return Slice(calls, logs, value, failure, timer, bool(block.files))


class FrameCalls(Sequence[Asked]):
    """The calls of one outbox, each read when it is its turn.

    A flood of calls is kept as numbers: a hundred thousand objects would make Python's garbage
    collector stop everything for as long as it takes to look at them.
    """

    def __init__(self, outbox: bytes) -> None:
        """Begin without calls."""
        self._outbox = outbox
        self._places: list[int] = []

    def add(self, at: int, checked: Asked) -> None:  # noqa: ARG002 - proof that it was looked at
        """Take a call that stands at a place and was found good."""
        self._places.append(at)

    def __len__(self) -> int:
        """Give how many there are."""
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> Asked: ...
    @overload
    def __getitem__(self, index: slice) -> list[Asked]: ...
    def __getitem__(self, index: int | slice) -> Asked | list[Asked]:
        """Read one, or several."""
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        frame, _ = abi.frame_at(self._outbox, self._places[index])
        return _asked(frame, len(frame.b))


class JsEntry:
    """An entry into a JavaScript guest."""

    __slots__ = ("_entry", "_files", "_guard", "_left", "may_block")

    def __init__(
        self, entry: RawEntry, left: Callable[[], Slice], guard: Guard, files: Files | None
    ) -> None:
        """Hold the entry; it runs when it is polled."""
        self._entry = entry
        self._left = left
        self._guard = guard
        self._files = files
        self.may_block = files is not None

    def relax(self) -> None:
        """Let polls take longer."""
        self._entry.relax()

    def poll(self) -> Slice | None:
        """Go on for at most a tick."""
        if self._files is None:
            return self._left() if self._entry.poll() else None
        with self._guard.serving(self._files):
            return self._left() if self._entry.poll() else None


def changed_pages(memory: bytes, image: bytes) -> list[tuple[int, bytes]]:
    """Give the pages of `memory` that are not as in `image` (zeros beyond it), as differences.

    Most bytes of a changed page are unchanged: their difference is zero and packs to nothing.
    """
    zero = bytes(PAGE_BYTES)
    changed = []
    for at in range(0, len(memory), PAGE_BYTES):
        page = memory[at : at + PAGE_BYTES]
        before = image[at : at + PAGE_BYTES] if at < len(image) else zero
        if page != before:
            changed.append((at, difference(page, before)))
    return changed


def difference(page: bytes, before: bytes) -> bytes:
    """Give the exclusive or of two pages: what changed, and from that and either the other."""
    return (int.from_bytes(page) ^ int.from_bytes(before)).to_bytes(len(page))


def _within(text: bytes, limit_bytes: int) -> bytes:
    """Hold the limit even for a guest that forgot it."""
    if len(text) > limit_bytes:
        raise LimitExceeded("output_limit", "a message is larger than the output limit")
    return text


def _asked(frame: abi.Frame, limit_bytes: int) -> Asked:
    try:
        tool = frame.a.decode()
    except UnicodeDecodeError:
        raise GuestProtocolError("a tool name is not UTF-8") from None
    if not TOOL.fullmatch(tool):
        raise GuestProtocolError("a tool name of the wrong form")
    return Asked(frame.id, tool, _within(frame.b, limit_bytes), frame.line, frame.column)


def _log(frame: abi.Frame) -> Log:
    text = frame.a.decode(errors="replace")
    if frame.id == abi.LEVEL_REJECTION:
        return Log("error", f"unhandled rejection: {_failure(abi.FAIL_UNCAUGHT, frame.a)}")
    return Log(LEVELS[frame.id] if frame.id < len(LEVELS) else "log", text)


def _failure(reason: int, facts: bytes) -> SandboxError:
    """Make an error of what the guest says of it. Only the runtime's own word names a limit."""
    try:
        said = json.loads(facts)
    except (ValueError, RecursionError):
        raise GuestProtocolError("an error that is not JSON") from None
    if not isinstance(said, dict):
        raise GuestProtocolError("an error that is not an object")
    words = {key: value for key, value in said.items() if isinstance(value, str)}
    message = printable(words.get("message", ""))
    if reason == abi.FAIL_LIMIT:
        code = words.get("code", "")
        if code not in _LIMIT_HINTS:
            raise GuestProtocolError("a limit that does not exist")
        return LimitExceeded(code, message, hint=_LIMIT_HINTS[code])
    if reason == abi.FAIL_NOT_JSON:
        return ResultNotJson(message)
    if reason == abi.FAIL_SYNTAX:
        line, column = _place(words.get("stack", ""))
        return SyntaxFailure(message, line=line, column=column)
    return _uncaught(words, message)


def _uncaught(words: dict[str, str], message: str) -> UncaughtError:
    name, stack = printable(words.get("name", "Error"), 100), words.get("stack", "")
    line, column = _place(stack)
    kind = UncaughtToolError if "toolCode" in words else UncaughtError
    error = kind(name, message, line=line, column=column, stack=printable(stack))
    if isinstance(error, UncaughtToolError):
        error.tool = printable(words.get("tool", ""), 300)
        error.tool_code = printable(words["toolCode"], 100)
    return error


def _place(stack: str) -> tuple[int | None, int | None]:
    found = _PLACE.search(stack)
    return (int(found[1][:9]), int(found[2][:9])) if found else (None, None)
