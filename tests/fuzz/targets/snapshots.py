"""A paused program as bytes that somebody changed, with a checksum that is right or not.

Promised: it is refused with an error of ours, or it is the one that was packed; what is accepted
is packed again to what reads as the same, and its pages lie in its memory.
"""

import json
import struct
import zlib
from collections.abc import Iterator

import blake3

from sandbox_host.bridge import Progress
from sandbox_host.guests.guest import TOOL, GuestState
from sandbox_host.outcome import LEVELS, Call, Log
from sandbox_host.snapshot import MAGIC, Origin, pack, unpack
from tests.fuzz.oracles import only_ours

MEMORY_BYTES = 1 << 20
ORIGIN = Origin("guest", (("/data", True),))
STATE = GuestState(1 << 17, [(0, b"\1" * 4096), (8192, b"\2" * 4096)])
PROGRESS = Progress(
    5.5, 0.25, 20, 3, [Log("log", "hello")], [(1, "a:b", "ok", 1.5, 2, 3)], 2,
    {2: Call(2, "a:c", {"k": [1]}, 1, 1)}, b"[1]",
)  # fmt: skip
WHOLE = pack(ORIGIN, "return 1", STATE, PROGRESS)
_START = len(MAGIC) + 32
_BODY = zlib.decompress(WHOLE[_START:])
WORDS = (
    b'"waiting":', b'"records":', b'"logs":', b'"value":', b'"memory_bytes":', b"null", b"true", b'""', b"[]", b"{}", b"-1",
    b"1e999", b"NaN", b"\\ud800", b"\0\0\0\0", b"\0\x10\0\0", b"[", b"0", b"a:b",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    """Give the whole one, its body to be sealed again, and its head alone."""
    yield b"\0" + WHOLE
    yield b"\1" + _BODY[4:]
    (length,) = struct.unpack_from("<I", _BODY)
    yield b"\1" + json.dumps({**json.loads(_BODY[4 : 4 + length]), "value": None}).encode()


def one(data: bytes) -> None:
    """Read it as it is, or as the body of a snapshot whose checksum is right."""
    kind, body = data[:1], data[1:]
    with only_ours():
        if kind == b"\0":
            state, progress, source = unpack(body, ORIGIN, MEMORY_BYTES)
            packed = zlib.decompressobj().decompress(body[_START:])
            assert body == WHOLE or packed != _BODY or (source, progress) == ("return 1", PROGRESS)
        else:
            head, _, pages = body.partition(b"}\0") if b"}\0" in body else (body, b"", b"")
            text = head + b"}" if pages else head
            state, progress, source = unpack(_sealed(text, pages), ORIGIN, MEMORY_BYTES)
        _check(state, progress, source)


def _sealed(head: bytes, pages: bytes) -> bytes:
    packed = zlib.compress(struct.pack("<I", len(head)) + head + pages, 1)
    return MAGIC + blake3.blake3(packed).digest() + packed


def _check(state: GuestState, progress: Progress, source: str) -> None:
    assert all(at + len(page) <= state.memory_bytes for at, page in state.pages)
    for call in progress.waiting.values():
        assert TOOL.fullmatch(call.tool)
        assert isinstance(call.args, dict)
        assert all(place is None or type(place) is int for place in (call.line, call.column))
    assert all(log.level in LEVELS and isinstance(log.text, str) for log in progress.logs)
    for number, tool, outcome, milliseconds, *_ in progress.records:
        assert type(number) is int
        assert isinstance(tool, str)
        assert outcome in ("ok", "error", "cancelled")
        assert isinstance(milliseconds, int | float)
    again = unpack(pack(ORIGIN, source, state, progress), ORIGIN, max(MEMORY_BYTES, len(source)))
    assert again == (state, progress, source)
