"""The host boundary: what a guest that was taken over leaves in its outbox, entry after entry.

Promised: a run ends in an outcome with an error of ours, in bounded time; the host function sees
only tool ids and arguments that are JSON; nothing that is shown has control characters.
"""

import struct
from collections.abc import Iterator
from typing import Any

import anyio

from sandbox_host import SUSPEND, Completed, Failed, Limits, ToolError, abi
from sandbox_host.bridge import Bridge, Progress, Service
from sandbox_host.driving import Driver, LoopDebt
from sandbox_host.errors import GuestCrashed
from sandbox_host.guests.guest import TOOL
from sandbox_host.guests.quickjs import QuickJsGuest
from tests.fuzz.oracles import plain_json, shown

NEXT = b"\xfe\xffnext\xff\xfe"
"""Between the outboxes of two entries."""

LIMITS = Limits(
    wall_seconds=0.02,
    cpu_seconds=5,
    log_bytes=4096,
    output_bytes=8192,
    calls=64,
    calls_in_flight=4,
)
WORDS = (
    NEXT, b"a:b", b"a:suspend", b"a:fail", b"{}", b'{"a":1}', b'{"message":"x"}', b'"code":"', b"log_limit", b"toolCode",
    b'"stack":"program:1:2"', b"\x10\0\0\0", b"\x11\0\0\0", b"\x12\0\0\0", b"\x13\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\0",
    b"1e99", b"0", b"9", b"[", b"]", b"\\ud800", b"NaN", b"1e999", b"-",
)  # fmt: skip


def frame(kind: int, number: int = 0, a: bytes = b"", b: bytes = b"") -> bytes:
    """Give a frame as a guest writes it."""
    return struct.pack("<6I", kind, number, len(a), len(b), 1, 2) + a + b


def seeds() -> Iterator[bytes]:
    """Give runs of one to three entries."""
    call, log = frame(abi.FRAME_CALL, 1, b"a:b", b'{"n":1.5}'), frame(abi.FRAME_LOG, 1, b"hello")
    done = frame(abi.FRAME_DONE, 0, b'{"v":[1,2e10,"x",null,true]}')
    yield b"\0" + done
    yield b"\0" + call + log + NEXT + done
    yield b"\0" + call + frame(abi.FRAME_CALL, 2, b"a:suspend", b"{}") + NEXT + log
    yield (
        b"\1"
        + call
        + NEXT
        + frame(abi.FRAME_FAIL, 0, b'{"name":"E","message":"m","stack":"program:1:2"}')
    )
    yield b"\2" + frame(abi.FRAME_FAIL, 1, b'{"code":"log_limit","message":"m"}')
    yield b"\0" + frame(abi.FRAME_LOG, abi.LEVEL_REJECTION, b'{"message":"m","toolCode":"c"}')
    yield b"\0" + frame(abi.FRAME_DONE, 0, b"[" * 30 + b"1" * 200 + b"e99" + b"]" * 30)
    yield b"\x80" + struct.pack("<8I", 0, 64, 32, 24, 1, 0, 1, 0) + done


class _Memory:
    """The guest's memory: a block that tells of an outbox, and the outbox."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def window(self) -> "_Memory":
        return self

    def read(self, at: int, count: int) -> bytes:
        if at + count > len(self._content):
            raise GuestCrashed("it pointed outside its memory")
        return self._content[at : at + count]


class _Ticker:
    def keep(self, now: float) -> None:
        """Nothing computes."""


class _Guest:
    """A guest whose every entry leaves the next outbox, read as the real one's are."""

    can_suspend = True
    ticker = _Ticker()

    def __init__(self, data: bytes) -> None:
        self._flags, self._outboxes = data[0], data[1:].split(NEXT)[:8]

    def settle(self, answers: Any, now_ms: float, *, tick: bool, files: bool) -> "_Entry":
        return self.entry()

    def entry(self) -> "_Entry":
        outbox = self._outboxes.pop(0) if self._outboxes else b""
        if self._flags & 0x80 and outbox:
            memory = outbox.ljust(32, b"\0")
        else:
            timer = 1 if self._flags & 1 and self._outboxes else abi.NO_TIMER
            files = int(bool(self._flags & 2 and self._outboxes))
            memory = struct.pack("<8I", 0, 0, 32, len(outbox), 0, timer, files, 0) + outbox
        guest = object.__new__(QuickJsGuest)
        guest._memory, guest._block = _Memory(memory), 0  # type: ignore[assignment]
        guest._output_bytes = LIMITS.output_bytes
        return _Entry(guest)


class _Entry:
    may_block = False

    def __init__(self, guest: QuickJsGuest) -> None:
        self.poll = guest._left

    def relax(self) -> None:
        """It is at rest at once."""


async def _host(call: Any) -> Any:
    assert TOOL.fullmatch(call.tool)
    assert isinstance(call.args, dict)
    plain_json(call.args)
    if call.tool.endswith("suspend"):
        return SUSPEND
    if call.tool.endswith("fail"):
        raise ToolError("no")
    return call.args


def one(data: bytes) -> None:
    """Run what such a guest would do."""
    if not data:
        return
    guest = _Guest(data)
    driver = Driver(guest.ticker, LoopDebt(), LIMITS.cpu_seconds)  # type: ignore[arg-type]
    bridge = Bridge(guest, driver, LIMITS, Service(_host), Progress())  # type: ignore[arg-type]
    outcome = anyio.run(bridge.run, guest.entry())
    assert len(outcome.calls) <= LIMITS.calls
    if isinstance(outcome, Completed):
        plain_json(outcome.value)
    if isinstance(outcome, Failed):
        assert outcome.error.code
        shown(outcome.error.message)
        shown(str(getattr(outcome.error, "stack", "")))
