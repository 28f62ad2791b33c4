"""The numbers of `guest_runtime/abi.h` and the frames they describe.

Pure: bytes in, values out. Everything read here was written by an untrusted guest, so every length
is checked against what is there. A test compares the constants with the header.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from sandbox_host.errors import GuestProtocolError

ABI_VERSION = 1

EXCHANGE_INBOX_POINTER = 0
EXCHANGE_INBOX_BYTES = 4
EXCHANGE_OUTBOX_POINTER = 8
EXCHANGE_OUTBOX_BYTES = 12
EXCHANGE_STATE = 16
EXCHANGE_TIMER_MS = 20
EXCHANGE_FILES = 24
EXCHANGE_RESERVED = 28
EXCHANGE_NOW_MS = 32
EXCHANGE_BYTES = 40

NO_TIMER = 0xFFFFFFFF

STATE_WAITING = 0
STATE_FINISHED = 1

FRAME_HEADER_BYTES = 24

FRAME_CONFIG = 1
FRAME_RUN = 2
FRAME_ENTRY = 3
FRAME_RESOLVE = 4
FRAME_REJECT = 5
FRAME_TICK = 6
FRAME_FILES = 7

FRAME_CALL = 16
FRAME_LOG = 17
FRAME_DONE = 18
FRAME_FAIL = 19

FAIL_UNCAUGHT = 0
FAIL_LIMIT = 1
FAIL_SYNTAX = 2
FAIL_NOT_JSON = 3
FAIL_ARGUMENTS = 4

LOG_LINE_BYTES = 16

LEVEL_DEBUG = 0
LEVEL_LOG = 1
LEVEL_INFO = 2
LEVEL_WARN = 3
LEVEL_ERROR = 4
LEVEL_REJECTION = 5

_HEADER = struct.Struct("<6I")
_EXCHANGE = struct.Struct("<8I")
_CONFIG = struct.Struct("<4IQ")
_NOW = struct.Struct("<d")


class Exchange(NamedTuple):
    """The guest's side of the exchange block, as one read."""

    inbox: int
    inbox_bytes: int
    outbox: int
    outbox_bytes: int
    state: int
    timer_ms: int
    files: int
    reserved: int


class Frame(NamedTuple):
    """One message of the guest."""

    kind: int
    id: int
    a: bytes
    b: bytes
    line: int
    column: int


def exchange(block: bytes) -> Exchange:
    """Read the exchange block (without the clock, which is the host's own)."""
    return Exchange(*_EXCHANGE.unpack_from(block))


def now_ms(milliseconds: float) -> bytes:
    """Give the program's clock as it stands in the exchange block."""
    return _NOW.pack(milliseconds)


def frame(kind: int, number: int = 0, a: bytes = b"", b: bytes = b"") -> bytes:
    """Give one frame for the inbox: there each part is followed by a NUL."""
    return b"%b%b\0%b\0" % (_HEADER.pack(kind, number, len(a), len(b), 0, 0), a, b)


def config(*, log_bytes: int, output_bytes: int, calls: int, seed: int) -> bytes:
    """Give the payload of a CONFIG frame."""
    return _CONFIG.pack(log_bytes, output_bytes, calls, 0, seed)


def frame_at(outbox: bytes, at: int) -> tuple[Frame, int]:
    """Read the frame at a place in what the guest left, and where the next one begins."""
    if len(outbox) - at < FRAME_HEADER_BYTES:
        raise GuestProtocolError("a frame header is cut off")
    kind, number, a_bytes, b_bytes, line, column = _HEADER.unpack_from(outbox, at)
    a = at + FRAME_HEADER_BYTES
    b = a + a_bytes
    end = b + b_bytes
    if end > len(outbox):
        raise GuestProtocolError("a frame is longer than the outbox")
    return Frame(kind, number, outbox[a:b], outbox[b:end], line, column), end


def frames(outbox: bytes) -> Iterator[Frame]:
    """Split what the guest left; anything that does not add up is a `GuestProtocolError`."""
    at = 0
    while at < len(outbox):
        frame, at = frame_at(outbox, at)
        yield frame
