"""The writing end of a pipe: a line goes out at once, or waits without holding anyone up.

Writing directly costs two microseconds; through a task it would cost ten times that. What a full
pipe does not take is kept, in order and with a bound, until its reader has made room.
"""

import contextlib
import os
from collections import deque

import anyio

MOST_UNSENT_BYTES = 32 << 20
"""What may wait for a server that does not read."""


class Pipe:
    """Owns a file descriptor for writing. A reader that is gone is no error here."""

    def __init__(self, descriptor: int) -> None:
        """Take the descriptor over."""
        os.set_blocking(descriptor, False)
        self._descriptor = descriptor
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._waiting = anyio.Event()
        self._sent = anyio.Event()

    def write(self, data: bytes) -> bool:
        """Send, or keep for later; say False, and keep nothing, when too much waits already."""
        if not self._unsent:
            data = data[self._send(data) :]
        elif self._unsent_bytes + len(data) > MOST_UNSENT_BYTES:
            return False
        if data:
            self._unsent.append(data)
            self._unsent_bytes += len(data)
            self._waiting.set()
        return True

    async def flush(self) -> None:
        """Send what was kept, for as long as the pipe is used."""
        with contextlib.suppress(anyio.ClosedResourceError, OSError):
            while True:
                await self._waiting.wait()
                self._waiting = anyio.Event()
                while self._unsent:
                    await anyio.wait_writable(self._descriptor)
                    first = self._unsent.popleft()
                    rest = first[self._send(first) :]
                    self._unsent_bytes -= len(first) - len(rest)
                    if rest:
                        self._unsent.appendleft(rest)
                    self._sent.set()
                    self._sent = anyio.Event()

    async def sent(self) -> None:
        """Wait until the reader has taken some of what waits; `flush` must be running."""
        if self._unsent:
            await self._sent.wait()

    async def drained(self) -> None:
        """Wait until the reader has taken everything; `flush` must be running."""
        while self._unsent:
            await self._sent.wait()

    def close(self) -> None:
        """Let the reader see the end; more than once does nothing."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _send(self, data: bytes) -> int:
        """Give how much the pipe took; all of it, if nobody reads any more."""
        try:
            return os.write(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:  # the reader is gone: whoever reads its answers will say so
            return len(data)
