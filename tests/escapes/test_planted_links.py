"""Attack: plant a link in the workspace that another program (git, an editor, an MCP server) will follow (P1)."""

import pytest

from sandbox_host import Mount

TARGETS = [
    "../outside/secret.txt",
    "../outside",
    "plain.txt",
    ".",
    "..",
    "/etc/passwd",
    ".git",
    "sub",
    "missing",
]


@pytest.mark.parametrize("target", TARGETS)
async def test_no_symlink_can_be_made(wasi, world, target):
    module = wasi()
    for name in ("new", "sub/new", "new/", ".git", "sub/../new"):
        assert module.symlink(target, name) != 0
    _, sub = module.open("sub", oflags=2)
    assert module.symlink(target, "new", fd=sub) != 0
    assert not any(path.is_symlink() for path in world.mount.rglob("*"))


async def test_no_hard_link_can_be_made(wasi, world):
    (world.mount / ".git").mkdir()
    (world.mount / ".git" / "config").write_text("config")
    module = wasi(world.writable(), Mount(world.mount / "sub", writable=True, guest_path="/sub"))
    for old in ("plain.txt", ".git/config", "../outside/secret.txt", "sub/inner.txt"):
        for new in ("new", "sub/new", ".git/hook", "new/"):
            for fd, other in ((3, 3), (3, 4), (4, 3)):
                assert module.link(old, new, fd=fd, other=other) != 0
    assert all(path.stat().st_nlink == 1 for path in world.mount.rglob("*") if path.is_file())


async def test_a_read_only_file_cannot_be_linked_into_a_writable_mount(wasi, world):
    """GHSA-4ch3-9j33-3pmj: the read-only mount was bypassed by a hard link or rename into a writable one."""
    module = wasi(
        Mount(world.mount, guest_path="/ro"),
        Mount(world.mount / "sub", writable=True, guest_path="/rw"),
    )
    assert module.link("plain.txt", "alias", fd=3, other=4) != 0
    assert module.rename("plain.txt", "alias", fd=3, other=4) != 0
    assert module.rename("inner.txt", "alias", fd=4, other=3) != 0
    assert sorted(p.name for p in world.mount.iterdir()) == ["plain.txt", "sub"]


async def test_the_language_offers_none(value, world):
    told = await value(
        """const told = []
        for (const name of ['symlink', 'link', 'symlinkSync', 'linkSync', 'realPath', 'open', 'chmod', 'chown', 'utime', 'truncate'])
            try { await Deno[name]('../outside/secret.txt', 'new'); told.push(name) } catch (e) { told.push(e.name) }
        return told""",
        mounts=[world.writable()],
    )
    assert set(told) <= {"NotSupported", "TypeError"}
    assert sorted(p.name for p in world.mount.iterdir()) == ["plain.txt", "sub"]
