"""Attack: a link already in the workspace leads out of it; the guest reads, writes or removes through it."""

import pytest

TRIES = [
    "await Deno.readTextFile('leak/secret.txt')",
    "await Deno.readTextFile('leak_file')",
    "await Deno.readTextFile('sub/../leak/secret.txt')",
    "await Deno.readTextFile('leak/secret.txt/')",
    "await Deno.readTextFile('leak/../outside/secret.txt')",
    "await Deno.readTextFile('leak//secret.txt')",
    "await Deno.readTextFile('leak/./secret.txt')",
    "await Deno.readTextFile('chain/secret.txt')",
    "await Deno.readTextFile('absolute/secret.txt')",
    "for await (const e of Deno.readDir('leak')) throw new Error('listed')",
    "for await (const e of Deno.readDir('leak/')) throw new Error('listed')",
    "await Deno.writeTextFile('leak/planted', 'x')",
    "await Deno.writeTextFile('leak_file', 'x')",
    "await Deno.writeTextFile('leak_file/', 'x')",
    "await Deno.writeTextFile('leak_file', 'x', { append: true })",
    "await Deno.writeTextFile('dangling', 'x')",
    "await Deno.writeTextFile('dangling/', 'x')",
    "await Deno.mkdir('leak/planted')",
    "await Deno.mkdir('dangling')",
    "await Deno.mkdir('dangling/')",
    "await Deno.remove('leak/secret.txt')",
    "await Deno.remove('leak/', { recursive: true }); await Deno.lstat('leak'); throw new Error('kept')",
    "await Deno.rename('plain.txt', 'leak/planted')",
    "await Deno.rename('leak/secret.txt', 'taken')",
    "await Deno.rename('leak/', 'taken')",
    "await Deno.copyFile('leak_file', 'taken')",
    "await Deno.copyFile('plain.txt', 'leak_file')",
    "await Deno.stat('leak_file')",
    "await Deno.stat('leak/secret.txt')",
]


@pytest.fixture
def linked(world):
    mount = world.mount
    (mount / "leak").symlink_to("../outside")
    (mount / "leak_file").symlink_to("../outside/secret.txt")
    (mount / "absolute").symlink_to(world.outside)
    (mount / "chain").symlink_to("leak")
    (mount / "dangling").symlink_to("../outside/planted")
    (mount / "loop").symlink_to("loop")
    return world


@pytest.mark.parametrize("attempt", TRIES)
async def test_no_link_leads_out(fails, linked, attempt):
    error = await fails(attempt, mounts=[linked.writable()])
    assert error.code == "uncaught_error"
    assert "listed" not in error.message
    assert "secret" not in error.message.replace("secret.txt", "")
    assert not (linked.mount / "taken").exists() or (linked.mount / "taken").is_symlink()


async def test_a_link_that_leads_to_itself_is_an_error(fails, linked):
    for attempt in ("Deno.readTextFile('loop')", "Deno.writeTextFile('loop/x', '')", "Deno.writeTextFile('loop', '')",
                    "Deno.mkdir('loop/x')", "Deno.rename('loop/x', 'y')"):  # fmt: skip
        assert (
            await fails(f"await {attempt}", mounts=[linked.writable()])
        ).code == "uncaught_error"


async def test_removing_a_tree_removes_links_and_not_what_they_lead_to(value, linked):
    (linked.mount / "sub" / "leak").symlink_to("../../outside")
    await value("await Deno.remove('sub', { recursive: true })", mounts=[linked.writable()])
    assert not (linked.mount / "sub").exists()
    assert linked.secret.read_text() == "secret"


async def test_a_moved_link_still_leads_nowhere(fails, linked):
    await fails(
        "await Deno.rename('leak', 'sub/moved_leak'); await Deno.readTextFile('sub/moved_leak/secret.txt')",
        mounts=[linked.writable()],
    )


async def test_a_link_inside_the_mount_still_works(value, world):
    (world.mount / "alias").symlink_to("plain.txt")
    assert (
        await value("return await Deno.readTextFile('alias')", mounts=[world.readable()])
        == "plain"
    )


@pytest.mark.parametrize("slash", ["", "/", "//", "/.", "/./"])
async def test_a_raw_module_gets_no_further(wasi, linked, slash):
    """Trailing slashes: GHSA-vqjp-4c8c-hfgg and GHSA-m9f7-9w4p-gv38."""
    module = wasi()
    for name in ("leak", "leak_file", "absolute", "chain", "dangling"):
        for follow in (0, 1):
            for oflags, rights in ((0, 2), (2, 2), (1, 64), (9, 66), (0, 64)):
                errno, fd = module.open(name + slash, oflags=oflags, rights=rights, follow=follow)
                if errno == 0:  # the link itself, never what is behind it
                    assert module.read(fd) != b"secret"
                    assert module.create("planted", fd=fd) != 0
        assert module.one_path("path_create_directory", f"{name}{slash}/new") != 0
        assert module.one_path("path_unlink_file", f"{name}/secret.txt{slash}") != 0
        assert module.rename(f"{name}{slash}/secret.txt", "taken") != 0
        assert module.rename("plain.txt", f"{name}{slash}/planted") != 0
