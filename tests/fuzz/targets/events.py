"""The event stream of a remote server.

Promised: in whichever pieces it comes, the same events; none larger than allowed; nothing raised
but that one is too large.
"""

from collections.abc import Iterable

from pml.backends.http.events import Event, EventReader, EventTooLargeError

MOST_BYTES = 500
WORDS = (
    b"data: ",
    b"data:",
    b"event: ",
    b"id: ",
    b"retry: ",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b":",
    b"\xef\xbb\xbf",
    b"\0",
    b"9",
    b"\xff",
)


def _read(pieces: Iterable[bytes]) -> tuple[list[Event], bool]:
    reader, found = EventReader(MOST_BYTES), []
    try:
        for piece in pieces:
            found.extend(reader.feed(piece))
    except EventTooLargeError:
        return found, True
    return found, False


def one(data: bytes) -> None:
    """Read it whole, in bytes, and in pieces of some size."""
    whole, is_large = _read([data])
    size = 1 + (data[0] if data else 0) % 13
    for step in (1, size):
        events, large = _read(data[at : at + step] for at in range(0, len(data), step))
        assert (events, large) == (whole, is_large)
    for event in whole:
        assert len(event.data) <= MOST_BYTES
        assert event.id.isascii()
        assert event.retry_ms is None or 0 <= event.retry_ms < 10**9
