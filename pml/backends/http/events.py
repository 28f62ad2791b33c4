"""Server-sent events out of the chunks of a body (WHATWG HTML, "event stream interpretation").

Pure and incremental; what is kept of an unfinished event is bounded. Written here because the
readers at hand are asynchronous generators that leave others unfinished behind them, which trio
reports and asyncio hides; and a reader of bytes needs no task.
"""

from collections.abc import Iterator
from typing import NamedTuple

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MOST_RETRY_DIGITS = 9


class Event(NamedTuple):
    """One event; one without data still says how far the stream is."""

    kind: str
    data: bytes
    id: str
    """Of this event or the last one that had an id; not ASCII: none."""

    retry_ms: int | None


class EventTooLargeError(Exception):
    """An event is larger than the reader may keep."""


class EventReader:
    """Reads one stream from its beginning."""

    def __init__(self, most_bytes: int) -> None:
        """Keep at most so many bytes of an event."""
        self._most_bytes = most_bytes
        self._line: list[bytes] = []
        self._data: list[bytes] = []
        self._size = 0
        self._kind = b""
        self._id = b""
        self._retry_ms: int | None = None
        self._said = False
        self._after_return = False
        self._first = True

    def feed(self, chunk: bytes) -> Iterator[Event]:
        """Take the next bytes; give the events that they finish."""
        if not chunk:
            return
        rest_of_break = self._after_return and chunk.startswith(b"\n")
        self._after_return = chunk.endswith(b"\r")
        chunk = chunk[1:] if rest_of_break else chunk
        *finished, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        for part in finished:
            self._keep(part)
            line = b"".join(self._line)
            self._line.clear()
            yield from self._read(line)
        self._keep(rest)

    def _keep(self, part: bytes) -> None:
        if part:
            self._line.append(part)
            self._size += len(part)
        if self._size > self._most_bytes:
            raise EventTooLargeError

    def _read(self, line: bytes) -> Iterator[Event]:
        if self._first:
            self._first = False
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line.startswith(b":"):
            self._size -= len(line)
        elif line:
            self._field(line)
        elif self._said:
            yield self._event()
        else:
            self._size = 0

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._kind = value
        elif name == b"id" and b"\0" not in value:
            self._id = value
        elif name == b"retry" and value.isdigit():
            self._retry_ms = int(value[:_MOST_RETRY_DIGITS])
        else:
            return
        self._said = True

    def _event(self) -> Event:
        kind = self._kind.decode("utf-8", "replace") or "message"
        place = self._id.decode() if self._id.isascii() else ""
        event = Event(kind, b"\n".join(self._data), place, self._retry_ms)
        self._data.clear()
        self._size, self._kind, self._retry_ms, self._said = 0, b"", None, False
        return event
