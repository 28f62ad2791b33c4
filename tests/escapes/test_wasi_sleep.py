"""Attack: sleep, wait or crash inside a WASI call, where no epoch tick reaches (probe P3), or leave the process."""

import contextlib
import struct
import time

import pytest

from sandbox_host import GuestCrashed

EVENTS, COUNT = 256, 200


async def test_poll_oneoff_is_refused_at_once(wasi):
    module = wasi()
    # one subscription: the monotonic clock, 60 s from now
    module.instance.memory.write(
        512, struct.pack("<QBxxxxxxxIxxxxQQHxxxxxx", 1, 0, 1, 60 * 10**9, 0, 0)
    )
    started = time.perf_counter()
    assert module.call("poll_oneoff", 512, EVENTS, 1, COUNT) != 0
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("sock_accept", (3, 0, 64)), ("sock_recv", (3, 64, 1, 0, 72, 76)), ("sock_send", (3, 64, 1, 0, 72)),
        ("sock_shutdown", (3, 2)), ("proc_raise", (9,)), ("fd_renumber", (3, 9)), ("fd_renumber", (9, 3)),
        ("path_filestat_set_times", (3, 1, 1024, 1, 0, 0, 15)), ("fd_filestat_set_times", (3, 0, 0, 15)),
    ],
)  # fmt: skip
async def test_what_no_program_needs_is_refused(wasi, name, arguments):
    assert wasi().call(name, *arguments) != 0


async def test_standard_input_ends_and_standard_output_goes_nowhere(wasi, capfd):
    module = wasi()
    assert module.read(0) in (b"", 8)
    for stream in (1, 2):
        module.write(stream, b"to the terminal")
    captured = capfd.readouterr()
    assert "terminal" not in captured.out + captured.err


async def test_there_is_no_environment_and_there_are_no_arguments(wasi):
    module = wasi()
    for name in ("args_sizes_get", "environ_sizes_get"):
        assert module.call(name, 64, 68) == 0
        assert module.instance.memory.read(64, 8) == bytes(8)


async def test_leaving_ends_the_guest_and_not_the_process(wasi):
    with pytest.raises(GuestCrashed):
        wasi().call("proc_exit", 7)


async def test_a_billion_random_bytes_are_refused_for_want_of_memory(wasi):
    module = wasi()
    started = time.perf_counter()
    with contextlib.suppress(GuestCrashed):
        assert module.call("random_get", 0, 1_000_000_000) != 0
    assert time.perf_counter() - started < 1


async def test_pointers_outside_the_memory_do_nothing(wasi, world):
    module = wasi()
    for at, count in ((0xFFFFFFF0, 64), (1 << 30, 5), (-1, -1), (0, -1), (2**31 - 1, 2**31 - 1)):
        for name in ("path_create_directory", "path_unlink_file", "path_remove_directory"):
            assert module.call(name, 3, at, count) != 0
        assert module.call("path_rename", 3, at, count, 3, at, count) != 0
        assert module.call("path_open", 3, 1, at, count, 1, 64, 0, 0, 64) != 0
    path = module.text("plain.txt")
    with contextlib.suppress(GuestCrashed):
        assert module.call("path_open", 3, 1, *path, 0, 2, 0, 0, 0xFFFFFFF0) != 0
    assert sorted(p.name for p in world.mount.iterdir()) == ["plain.txt", "sub"]
