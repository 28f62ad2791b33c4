"""Stdin and stdout taken over for a protocol: nothing else in the process reads or writes them.

Meanwhile file descriptor 0 is empty and 1 is stderr, so that what a library prints, or a child
reads, never touches the wire. Light on purpose: taken over before anything large is imported.
"""

import contextlib
import fcntl
import io
import os
import select
from collections.abc import Iterator

_FIRST_FREE = 3  # descriptors below are the process's standard ones
_SURE_BYTES = 4096  # a pipe or socket that has room has room for so much


@contextlib.contextmanager
def claimed_streams() -> Iterator[tuple[int, int]]:
    """Give the descriptors of the wire, to read and to write; put them back at the end."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    with _claimed(0, nothing) as reading, _claimed(1, os.dup(2)) as writing:
        yield reading, writing


@contextlib.contextmanager
def _claimed(standard: int, instead: int) -> Iterator[int]:
    own = fcntl.fcntl(standard, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
    try:
        os.dup2(instead, standard)
        os.close(instead)
        yield own
    finally:
        os.dup2(own, standard)
        os.close(own)


class LossyText(io.TextIOBase):
    """Words for someone who may not read them: what finds no room is dropped, nobody waits.

    A client may start us with a pipe for stderr and never read it; a server that logs much would
    fill it, and the next word would stop everything.
    """

    def __init__(self, descriptor: int) -> None:
        """Write to a descriptor that someone else closes."""
        super().__init__()
        self._descriptor = descriptor
        self._words = b""
        self._room = select.poll()
        self._room.register(descriptor, select.POLLOUT)

    def write(self, text: str) -> int:
        """Keep a text until it is flushed; a whole line goes out at once."""
        self._words += text.encode(errors="backslashreplace")
        if self._words.endswith(b"\n"):
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Write what there is room for, and drop the rest."""
        words, self._words = self._words, b""
        with contextlib.suppress(OSError):  # nobody is there
            while words and self._room.poll(0):
                words = words[os.write(self._descriptor, words[:_SURE_BYTES]) :]

    def fileno(self) -> int:
        """Give the descriptor."""
        return self._descriptor

    def isatty(self) -> bool:
        """Say whether a human reads."""
        return os.isatty(self._descriptor)
