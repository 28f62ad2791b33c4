"""Attack: change a folder that was mounted for reading only."""

import pytest

TRIES = [
    "Deno.writeTextFile('plain.txt', 'x')",
    "Deno.writeTextFile('plain.txt', 'x', { append: true })",
    "Deno.writeTextFile('plain.txt', '', { create: false })",
    "Deno.writeTextFile('new', 'x')",
    "Deno.writeTextFile('new', 'x', { createNew: true })",
    "Deno.writeFile('/mount/plain.txt', new Uint8Array(4))",
    "Deno.mkdir('new')",
    "Deno.mkdir('new/deep', { recursive: true })",
    "Deno.remove('plain.txt')",
    "Deno.remove('sub', { recursive: true })",
    "Deno.rename('plain.txt', 'new')",
    "Deno.rename('sub', 'new')",
    "Deno.rename('plain.txt', 'plain.txt')",
    "Deno.copyFile('plain.txt', 'new')",
    "Deno.copyFile('plain.txt', 'sub/inner.txt')",
]


@pytest.mark.parametrize("attempt", TRIES)
async def test_nothing_in_it_changes(fails, world, attempt):
    before = sorted(world.mount.rglob("*"))
    error = await fails(f"await {attempt}", mounts=[world.readable()])
    assert error.code == "uncaught_error"
    assert error.message.startswith("PermissionDenied")
    assert sorted(world.mount.rglob("*")) == before
    assert (world.mount / "plain.txt").read_text() == "plain"


async def test_a_raw_module_changes_nothing_either(wasi, world):
    module = wasi(world.readable())
    before = {p: p.stat().st_mtime_ns for p in world.mount.rglob("*")}
    for rights in (1 << 0, 1 << 6, 1 << 8, 1 << 22, 1 << 23, (1 << 29) - 1):
        for oflags in (0, 1, 4, 5, 8, 9):
            for path in ("plain.txt", "new"):
                errno, fd = module.open(path, oflags=oflags, rights=rights | 2)
                if errno == 0:
                    assert module.write(fd, b"x") != 0
                    assert module.call("fd_filestat_set_size", fd, 0) != 0
                    assert module.call("fd_allocate", fd, 0, 100) != 0
    errno, fd = module.open("plain.txt")
    assert errno == 0
    assert module.write(fd, b"x") != 0
    assert module.call("fd_filestat_set_size", fd, 0) != 0
    assert module.call("fd_filestat_set_times", fd, 0, 0, 15) != 0
    module.call("fd_fdstat_set_rights", fd, (1 << 29) - 1, (1 << 29) - 1)
    assert module.write(fd, b"x") != 0
    for name, path in (
        ("path_create_directory", "new"),
        ("path_unlink_file", "plain.txt"),
        ("path_remove_directory", "sub"),
    ):
        assert module.one_path(name, path) != 0
    assert module.rename("plain.txt", "new") != 0
    assert {p: p.stat().st_mtime_ns for p in world.mount.rglob("*")} == before
