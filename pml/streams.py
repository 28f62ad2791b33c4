"""Stdin and stdout taken over for a protocol: nothing else in the process reads or writes them.

Meanwhile file descriptor 0 is empty and 1 is stderr, so that what a library prints, or a child
reads, never touches the wire. Light on purpose: taken over before anything large is imported.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator

_FIRST_FREE = 3  # descriptors below are the process's standard ones


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
