"""Reading server-sent events."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.backends.http.events import Event, EventReader, EventTooLargeError


def read(*chunks: bytes, most_bytes: int = 1000) -> list[Event]:
    reader = EventReader(most_bytes)
    return [event for chunk in chunks for event in reader.feed(chunk)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [Event("message", b"a", "", None)]),
        (b"data:a\r\n\r\n", [Event("message", b"a", "", None)]),
        (b"data: a\rdata:  b\r\r", [Event("message", b"a\n b", "", None)]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event("message", b"a", "", None)]),
        (b"event: x\ndata\n\n", [Event("x", b"", "", None)]),
        (b"id: 7\nretry: 50\n\n", [Event("message", b"", "7", 50)]),
        (
            b"id: 7\ndata: a\n\ndata: b\n\n",
            [Event("message", b"a", "7", None), Event("message", b"b", "7", None)],
        ),
        (b": comment\n\n\n:\n", []),
        (b"data: unfinished\n", []),
        (b"data: unfinished", []),
        (b"junk\nfoo: bar\n\n", []),
        (b"id: a\0b\ndata: a\n\n", [Event("message", b"a", "", None)]),
        ("id: é\ndata: a\n\n".encode(), [Event("message", b"a", "", None)]),
        (b"retry: -1\nretry: 1e9\nretry: x\n\n", []),
        (b"retry: " + b"9" * 500 + b"\n\n", [Event("message", b"", "", 999_999_999)]),
        (b"event: \xff\ndata: \xff\n\n", [Event("\ufffd", b"\xff", "", None)]),
    ],
)
def test_a_stream_is_read_as_the_standard_has_it(stream: bytes, events: list[Event]) -> None:
    assert read(stream) == events


PIECES = [
    b"data: a",
    b"data:",
    b"id: 1",
    b":c",
    b"\n",
    b"\r",
    b"\r\n",
    b"event: e",
    b"x",
    b"\xef\xbb\xbf",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join), st.data())
def test_where_the_chunks_end_does_not_matter(stream: bytes, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(edges)]

    assert read(*chunks) == read(stream)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(stream: bytes) -> None:
    read(stream)


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: " + b"x" * 2000],
        [b"data: "] + [b"x" * 100] * 30,
        [b"data: xxxxxxxxx\n"] * 200,
        [b"unknown: xxxxxxx\n"] * 200,
        [b": " + b"c" * 2000],
    ],
)
def test_an_event_without_end_is_given_up(chunks: list[bytes]) -> None:
    with pytest.raises(EventTooLargeError):
        read(*chunks)


def test_a_long_stream_of_small_events_is_fine() -> None:
    assert len(read(*[b"data: x\n\n: keep alive\n\n"] * 1000, most_bytes=50)) == 1000
