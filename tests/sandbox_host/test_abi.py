"""The host's numbers are the header's numbers, and frames survive the trip or are refused."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_host import abi
from sandbox_host.errors import GuestProtocolError

HEADER = Path(__file__).parents[2] / "guest_runtime" / "abi.h"
U32 = st.integers(0, 2**32 - 1)


def test_every_constant_of_the_header_is_the_hosts_own() -> None:
    defined = dict(
        re.findall(r"^#define PML_(\w+) (0x[0-9A-F]+|\d+)\b", HEADER.read_text(), re.MULTILINE)
    )
    ours = {name: value for name, value in vars(abi).items() if name.isupper() and name[0] != "_"}
    assert {name: int(value, 0) for name, value in defined.items()} == ours
    assert len(ours) > 30


@given(st.lists(st.tuples(U32, U32, st.binary(max_size=50), st.binary(max_size=50))))
def test_frames_come_out_as_they_went_in(sent: list[tuple[int, int, bytes, bytes]]) -> None:
    # the outbox has no NUL behind the parts: cut them out as the guest would not have written them
    outbox = b""
    for kind, number, a, b in sent:
        framed = abi.frame(kind, number, a, b)
        end_of_a = abi.FRAME_HEADER_BYTES + len(a)
        outbox += framed[:end_of_a] + framed[end_of_a + 1 : -1]
    assert [(f.kind, f.id, f.a, f.b) for f in abi.frames(outbox)] == sent


@given(st.binary(min_size=1, max_size=200))
def test_arbitrary_bytes_are_frames_or_a_protocol_error(outbox: bytes) -> None:
    try:
        total = sum(
            abi.FRAME_HEADER_BYTES + len(frame.a) + len(frame.b) for frame in abi.frames(outbox)
        )
    except GuestProtocolError:
        return
    assert total == len(outbox)


def test_a_frame_longer_than_the_outbox_is_refused() -> None:
    framed = abi.frame(abi.FRAME_LOG, 1, b"hello")[:-2]
    with pytest.raises(GuestProtocolError, match="longer than the outbox"):
        list(abi.frames(framed[:-1]))
