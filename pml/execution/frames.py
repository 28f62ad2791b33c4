"""A run that waits within capabilities, as bytes: the program's snapshot and those within it.

Each capability that waits is a frame: the call that it answers, its own snapshot, the calls that
it waits for, and the frames within it. A run without frames is its snapshot and nothing else.
Pure; who may have written the bytes is the store's affair.
"""

import dataclasses
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sandbox_host import Call

_MAGIC = b"PMLNEST1"
_HEAD = struct.Struct("<Q")


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenFrame:
    """One capability that waits."""

    call: Call
    """The call that it answers, as the code around it made it."""

    snapshot: bytes = dataclasses.field(repr=False)
    calls: tuple[Call, ...]
    """What it waits for itself."""

    within: tuple["FrozenFrame", ...] = ()


def packed(snapshot: bytes, frames: Sequence[FrozenFrame]) -> bytes:
    """Give a run as bytes."""
    if not frames:
        return snapshot
    head = json.dumps({"size": len(snapshot), "frames": [_facts(one) for one in frames]}).encode()
    blobs = b"".join(one.snapshot for one in _flat(frames))
    return _MAGIC + _HEAD.pack(len(head)) + head + snapshot + blobs


def unpacked(content: bytes) -> tuple[bytes, tuple[FrozenFrame, ...]]:
    """Read what `packed` gave."""
    if not content.startswith(_MAGIC):
        return content, ()
    start = len(_MAGIC) + _HEAD.size
    (length,) = _HEAD.unpack(content[len(_MAGIC) : start])
    head = json.loads(content[start : start + length])
    blobs = _Blobs(content, start + length)
    snapshot = blobs.take(head["size"])
    return snapshot, tuple(_frame(facts, blobs) for facts in head["frames"])


class _Blobs:
    """Snapshots one after another, in the order of their frames."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content = content
        self._at = at

    def take(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]


def _flat(frames: Sequence[FrozenFrame]) -> Iterator[FrozenFrame]:
    for frame in frames:
        yield frame
        yield from _flat(frame.within)


def _facts(frame: FrozenFrame) -> dict[str, Any]:
    return {
        "call": _call_facts(frame.call),
        "size": len(frame.snapshot),
        "calls": [_call_facts(call) for call in frame.calls],
        "within": [_facts(one) for one in frame.within],
    }


def _frame(facts: Mapping[str, Any], blobs: _Blobs) -> FrozenFrame:
    return FrozenFrame(
        Call(*facts["call"]),
        blobs.take(facts["size"]),
        tuple(Call(*one) for one in facts["calls"]),
        tuple(_frame(one, blobs) for one in facts["within"]),
    )


def _call_facts(call: Call) -> list[Any]:
    return [call.id, call.tool, call.args, call.line, call.column]
