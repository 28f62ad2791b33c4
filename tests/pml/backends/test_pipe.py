"""The writing end of a pipe: order kept, nobody held up, a bound on what waits."""

import os

import anyio
import pytest

from pml.backends import pipe
from pml.backends.pipe import Pipe


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_reader_that_is_slow_gets_everything_in_order() -> None:
    theirs, ours = os.pipe()
    end = Pipe(ours)
    lines = [b"%d " % number + b"x" * 5000 + b"\n" for number in range(200)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end.flush)
        for line in lines:
            assert end.write(line)
        received = b""
        with anyio.fail_after(20):
            while len(received) < sum(map(len, lines)):
                received += await anyio.to_thread.run_sync(os.read, theirs, 10_000)
        tasks.cancel_scope.cancel()
    assert received == b"".join(lines)
    end.close()
    end.close()
    assert os.read(theirs, 10) == b""
    os.close(theirs)


async def test_too_much_for_a_reader_that_does_not_read_is_refused_whole() -> None:
    theirs, ours = os.pipe()
    end = Pipe(ours)
    line = b"x" * (1 << 20)
    taken = 0
    while end.write(line):
        taken += 1
    assert taken == pipe.MOST_UNSENT_BYTES // len(line)
    assert not end.write(line)
    end.close()
    os.close(theirs)


async def test_a_reader_that_is_gone_is_no_error() -> None:
    theirs, ours = os.pipe()
    os.close(theirs)
    end = Pipe(ours)
    for _ in range(3):
        assert end.write(b"line\n")
    end.close()
    assert end.write(b"after closing\n")
