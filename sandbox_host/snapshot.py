"""A paused program as bytes: what a fresh guest lacks, what the run has gathered, and a checksum.

Layout: magic, blake3 of the rest, then a deflated body of a JSON head (length-prefixed) and the
changed pages. The checksum finds damage, not malice: who may write snapshots may make any program,
so a store of snapshots must be protected by its owner. What the head says is checked all the same.
"""

import dataclasses
import json
import math
import struct
import zlib
from typing import Any, cast

import blake3

from sandbox_host.answers import is_deep, load_finite
from sandbox_host.bridge import Progress
from sandbox_host.errors import LimitExceeded, SnapshotForeign, SnapshotInvalid
from sandbox_host.guests.guest import TOOL, GuestState
from sandbox_host.outcome import LEVELS, Call, CallOutcome, Level, Log, RecordFacts

MAGIC = b"PMLSNAP2"
_HASH_BYTES = 32
_HEAD = struct.Struct("<I")
_PAGE = struct.Struct("<I")
_PAGE_BYTES = 4096
_HEAD_BYTES = 32 << 20  # source, logs, records and waiting calls
_OUTCOMES: tuple[CallOutcome, ...] = ("ok", "error", "cancelled")
_FAST = 1  # zlib level: pages of small integers deflate well even so


@dataclasses.dataclass(frozen=True, slots=True)
class Origin:
    """What a snapshot only fits again: the guest build, and where its folders were."""

    guest: str
    mounts: tuple[tuple[str, bool], ...]


def pack(origin: Origin, source: str, state: GuestState, progress: Progress) -> bytes:
    """Give the snapshot's bytes."""
    head = {
        "guest": origin.guest,
        "mounts": origin.mounts,
        "source": source,
        "memory_bytes": state.memory_bytes,
        "progress": {
            "clock_ms": progress.clock_ms,
            "cpu_seconds": progress.cpu_seconds,
            "log_bytes": progress.log_bytes,
            "calls_made": progress.calls_made,
            "logs": [dataclasses.astuple(log) for log in progress.logs],
            "records": progress.records,
            "last_id": progress.last_id,
            "waiting": [
                [call.id, call.tool, call.args, call.line, call.column]
                for call in progress.waiting.values()
            ],
            "value": None if progress.value is None else progress.value.decode(),
        },
    }
    text = json.dumps(head, separators=(",", ":")).encode()
    body = [_HEAD.pack(len(text)), text]
    for at, page in state.pages:
        body += (_PAGE.pack(at), page)
    packed = zlib.compress(b"".join(body), _FAST)
    return MAGIC + blake3.blake3(packed).digest() + packed


def unpack(snapshot: bytes, origin: Origin, memory_bytes: int) -> tuple[GuestState, Progress, str]:
    """Read a snapshot that was taken from this guest build with these mounts.

    No more is unpacked than a guest of `memory_bytes` can have.
    """
    text, pages = _opened(snapshot, memory_bytes + memory_bytes // 512 + _HEAD_BYTES)
    try:
        head = load_finite(text.decode())
        theirs = Origin(str(head["guest"]), tuple((str(p), bool(w)) for p, w in head["mounts"]))
        if theirs.guest != origin.guest:
            raise SnapshotForeign("guest build", theirs.guest[:12], origin.guest[:12])
        if theirs.mounts != origin.mounts:
            raise SnapshotForeign("mounts", str(theirs.mounts), str(origin.mounts))
        size = int(head["memory_bytes"])
        state = GuestState(size, _pages(pages, size))
        return state, _progress(head["progress"]), str(head["source"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise SnapshotInvalid(f"its head is wrong: {error}") from error


def _opened(snapshot: bytes, most_bytes: int) -> tuple[bytes, bytes]:
    start = len(MAGIC) + _HASH_BYTES
    if snapshot[: len(MAGIC)] != MAGIC or len(snapshot) <= start:
        raise SnapshotInvalid("it does not begin as one")
    packed = snapshot[start:]
    if blake3.blake3(packed).digest() != snapshot[len(MAGIC) : start]:
        raise SnapshotInvalid("its checksum is wrong")
    try:
        unpacking = zlib.decompressobj()
        body = unpacking.decompress(packed, most_bytes)
        (length,) = _HEAD.unpack_from(body)
    except (zlib.error, struct.error) as error:
        raise SnapshotInvalid(str(error)) from error
    if not unpacking.eof:
        raise LimitExceeded("memory_limit", "the snapshot's memory is larger than the limit")
    at = _HEAD.size + length
    return body[_HEAD.size : at], body[at:]


def _pages(content: bytes, memory_bytes: int) -> list[tuple[int, bytes]]:
    step = _PAGE.size + _PAGE_BYTES
    if len(content) % step:
        raise SnapshotInvalid("a page is cut off")
    pages = []
    for start in range(0, len(content), step):
        (at,) = _PAGE.unpack_from(content, start)
        if at % _PAGE_BYTES or at + _PAGE_BYTES > memory_bytes:
            raise SnapshotInvalid("a page lies outside the memory")
        pages.append((at, content[start + _PAGE.size : start + step]))
    return pages


def _progress(said: dict[str, Any]) -> Progress:
    calls = [
        Call(
            _count(number),
            _tool(tool),
            _object(args),
            _place(line),
            _place(column),
        )
        for number, tool, args, line, column in said["waiting"]
    ]
    value = said["value"]
    return Progress(
        clock_ms=_amount(said["clock_ms"]),
        cpu_seconds=_amount(said["cpu_seconds"]),
        log_bytes=_count(said["log_bytes"]),
        calls_made=_count(said["calls_made"]),
        last_id=_count(said["last_id"]),
        logs=[Log(_level(level), str(text)) for level, text in said["logs"]],
        records=[_record(*record) for record in said["records"]],
        waiting={call.id: call for call in calls},
        value=None if value is None else str(value).encode(),
    )


def _amount(said: Any) -> float:
    number = float(said)
    if not 0 <= number < math.inf:
        raise ValueError(number)
    return number


def _count(said: Any) -> int:
    if not isinstance(said, int) or isinstance(said, bool) or said < 0:
        raise ValueError(said)
    return said


def _place(said: Any) -> int | None:
    return None if said is None else _count(said)


def _record(
    number: Any, tool: Any, outcome: Any, milliseconds: Any, line: Any, column: Any
) -> RecordFacts:
    if outcome not in _OUTCOMES:
        raise ValueError(outcome)
    places = _place(line), _place(column)
    return _count(number), _tool(tool), outcome, _amount(milliseconds), *places


def _level(said: Any) -> Level:
    if said not in LEVELS:
        raise ValueError(said)
    return cast("Level", said)


def _tool(said: Any) -> str:
    if not isinstance(said, str) or not TOOL.fullmatch(said):
        raise ValueError(said)
    return said


def _object(said: Any) -> dict[str, Any]:
    if not isinstance(said, dict) or is_deep(said):
        raise TypeError("arguments that are no object, or a deep one")
    return said
