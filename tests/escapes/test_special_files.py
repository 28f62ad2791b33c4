"""Attack: a pipe, device or socket in the mount, on which an open, read or write would hang for ever."""

import os
import socket

import anyio
import pytest

from sandbox_host import Completed, Limits, Sandbox

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")


@pytest.fixture
def strange(world):
    os.mkfifo(world.mount / "pipe")
    (world.mount / "pipe_link").symlink_to("pipe")
    (world.mount / "device_link").symlink_to("/dev/zero")
    (world.mount / "terminal_link").symlink_to("/dev/tty")
    server = socket.socket(socket.AF_UNIX)
    here = os.open(world.mount, os.O_RDONLY)  # socket names are short: bind by a relative one
    try:
        server.bind(f"/proc/self/fd/{here}/socket")
    except OSError:
        pytest.skip("no sockets in this folder")
    try:
        os.mknod(world.mount / "zero", 0o666 | 0o020000, os.makedev(1, 5))
    except OSError:
        (world.mount / "zero").write_text("")  # only root makes devices
    yield world
    server.close()
    os.close(here)


NAMES = [
    "pipe",
    "pipe_link",
    "device_link",
    "terminal_link",
    "socket",
    "pipe/",
    "sub/../pipe",
    "./pipe",
    "/mount//pipe",
]


@pytest.mark.parametrize(
    "attempt",
    ["Deno.readTextFile(path)", "Deno.readFile(path)", "Deno.writeTextFile(path, 'x')", "Deno.writeTextFile(path, 'x', { append: true })",
     "Deno.copyFile(path, 'taken')", "Deno.copyFile('plain.txt', path)"],
)  # fmt: skip
async def test_none_of_them_hangs(value, strange, attempt):
    with anyio.fail_after(5):
        told = await value(
            f"""const told = []
            for (const path of args) try {{ await {attempt}; told.push(path) }} catch (e) {{ told.push(e.name) }}
            return told""",
            mounts=[strange.writable()], args=NAMES,
        )  # fmt: skip
    assert not set(told) & set(NAMES), told


async def test_an_endless_device_does_not_fill_the_guest(fails, strange):
    if (strange.mount / "zero").is_file():
        pytest.skip("only root makes devices")
    with anyio.fail_after(5):
        error = await fails("await Deno.readFile('zero')", mounts=[strange.readable()])
    assert error.code == "uncaught_error"


async def test_they_can_be_listed_and_removed(value, strange):
    told = await value(
        """const names = []
        for await (const entry of Deno.readDir('.')) names.push(entry.name)
        await Deno.lstat('pipe'); await Deno.remove('pipe'); return names.includes('pipe')""",
        mounts=[strange.writable()],
    )
    assert told is True


async def test_a_sandbox_that_meets_one_can_be_cancelled(strange):
    async with Sandbox(limits=Limits(wall_seconds=5), mounts=[strange.writable()]) as sandbox:
        with anyio.move_on_after(0.1):
            await sandbox.run(
                "for (;;) await Deno.readTextFile('pipe').catch(() => {})", host=None
            )
        outcome = await sandbox.run("return 1", host=None)
    assert isinstance(outcome, Completed)


async def test_a_raw_module_cannot_open_one(wasi, strange):
    module = wasi()
    for name in NAMES:
        for rights in (2, 64, 66):
            assert module.open(name.removeprefix("/mount/"), rights=rights)[0] != 0


async def test_a_file_larger_than_the_memory_is_refused(run, world):
    with (world.mount / "big").open("wb") as file:
        file.truncate(5 << 30)
    outcome = await run("return (await Deno.readFile('big')).length", mounts=[world.readable()])
    assert outcome.error.code == "memory_limit", outcome.error
