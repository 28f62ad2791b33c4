"""What a worker remembers of the database: versions, which never change, by weight.

A worker that remembers nothing gives the same answers, later.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

MOST_BYTES = 64 << 20
"""In one worker: a thousand entries of 64 KiB."""

_OVERHEAD = 2048  # bytes of an entry, its name and metadata, roughly

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """The values used last, as many as there is room for."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        """Remember nothing yet."""
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> Value | None:
        """Give what is remembered."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Remember a value, and forget the oldest ones if there is no room."""
        weight = size + _OVERHEAD
        self.drop(key)
        self._kept[key] = value, weight
        self._bytes += weight
        while self._bytes > self._most_bytes and self._kept:
            _, (_, lost) = self._kept.popitem(last=False)
            self._bytes -= lost

    def drop(self, key: Hashable) -> None:
        """Forget a value."""
        found = self._kept.pop(key, None)
        if found is not None:
            self._bytes -= found[1]

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
        self._bytes = 0
