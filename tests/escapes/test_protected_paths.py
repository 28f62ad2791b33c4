"""Attack: write what the developer's own tools obey (`.git/hooks`, `.mcp.json`, `.envrc`, ...) inside a writable mount (P2)."""

import os

import pytest

from sandbox_host import Mount, Sandbox

SPELLINGS = [
    ".git/hooks/pre-commit", ".git/config", ".git", ".git/", ".GIT/config", ".Git/hooks/x", ".gIt", "sub/.git/config", "sub/.git",
    "sub/deeper/.git/config", "./.git/config", "sub/../.git/config", ".//.git//config", "/mount/.git/config", "/mount//.git/./config",
    ".git./config", ".git /config", ".git. ./config", ".git::$INDEX_ALLOCATION/config", ".git:stream", "git~1/config", "GIT~1/config",
    ".g\u200cit/config", ".gi\u200dt/config", "\ufeff.git/config", ".git\u2060/config", ".\u00adgit/config", ".ｇｉｔ/config", "．git/config",
    ".G\u0130T/config", ".gitmodules", ".GITMODULES", ".gitconfig", ".mcp.json", ".MCP.json", ".mcp.jſon", "sub/.mcp.json", ".pml.json",
    ".pml/lock", ".PML", ".envrc", ".vscode/tasks.json", ".VSCode/settings.json", ".vſcode/tasks.json", ".cursor/mcp.json",
    ".claude/settings.json", ".idea/workspace.xml", ".ssh/authorized_keys", ".ſsh/config", ".bashrc", ".profile", ".zshrc", ".zshenv",
    ".config/fish/config.fish", ".Config/Fish/config.fish", ".config/ﬁsh/config.fish", ".config/sub/../fish/config.fish",
    "sub/.config/fish/x", ".config//fish", ".\u212Ashrc",
]  # fmt: skip
LENIENT = {
    ".G\u0130T/config"
}  # dotted capital I folds to two letters on every file system we know


def _tree(world):
    return sorted(str(p.relative_to(world.mount)) for p in world.mount.rglob("*"))


@pytest.mark.parametrize("existing", [False, True], ids=["not there yet", "already there"])
async def test_no_spelling_of_a_protected_name_can_be_written(value, world, existing):
    (world.mount / ".config").mkdir()
    (world.mount / ".config" / "sub").mkdir()
    if existing:
        for name in (".git/hooks", "sub/.git", ".vscode", ".config/fish", ".ssh"):
            (world.mount / name).mkdir(parents=True)
        (world.mount / ".git" / "config").write_text("config")
        (world.mount / ".mcp.json").write_text("{}")
    before = _tree(world)
    paths = [path for path in SPELLINGS if path not in LENIENT]
    told = await value(
        """const told = []
        const tries = {
            write: (p) => Deno.writeTextFile(p, 'planted'),
            append: (p) => Deno.writeTextFile(p, 'planted', { append: true }),
            touch: (p) => Deno.writeTextFile(p, '', { create: false }),
            createNew: (p) => Deno.writeTextFile(p, 'planted', { createNew: true }),
            mkdir: (p) => Deno.mkdir(p),
            mkdirs: (p) => Deno.mkdir(p, { recursive: true }),
            rename: (p) => Deno.rename('plain.txt', p),
            copy: (p) => Deno.copyFile('plain.txt', p),
            remove: (p) => Deno.remove(p, { recursive: true }),
            away: (p) => Deno.rename(p, 'taken'),
        }
        for (const path of args) for (const name in tries) {
            try { await tries[name](path); told.push([path, name]) } catch (e) { if (e.code === undefined) told.push([path, String(e)]) }
        }
        return told""",
        mounts=[world.writable()],
        args=paths,
    )
    # making a folder that is there already is no change
    assert [tried for tried in told if tried[1] != "mkdirs"] == []
    assert _tree(world) == before
    assert (world.mount / "plain.txt").read_text() == "plain"
    if existing:
        assert (world.mount / ".git" / "config").read_text() == "config"


@pytest.mark.parametrize(
    "steps",
    [
        # a protected name is moved away, changed, and moved back
        "await Deno.rename('.git', 'git'); await Deno.writeTextFile('git/config', 'planted'); await Deno.rename('git', '.git')",
        # the parent is moved instead
        "await Deno.rename('repo', 'r2'); await Deno.writeTextFile('r2/.git/config', 'planted')",
        "await Deno.rename('repo', 'r2'); await Deno.rename('r2/.git', 'r2/g')",
        # made under another name and moved into place
        "await Deno.mkdir('g'); await Deno.writeTextFile('g/config', 'planted'); await Deno.rename('g', 'sub/.git')",
        "await Deno.writeTextFile('m', '{}'); await Deno.rename('m', '.mcp.json')",
        "await Deno.writeTextFile('m', '{}'); await Deno.rename('m', 'sub/../.mcp.json')",
        "await Deno.writeTextFile('m', '{}'); await Deno.rename('m', '.git/hooks/pre-commit')",
        # half of a two-part name is made, then the other half is moved over it
        "await Deno.mkdir('c/fish', { recursive: true }); await Deno.writeTextFile('c/fish/x', ''); await Deno.rename('c', '.config')",
        "await Deno.mkdir('.config'); await Deno.mkdir('f'); await Deno.rename('f', '.config/fish')",
        "await Deno.mkdir('.config'); await Deno.rename('.config', 'c'); await Deno.mkdir('c/fish'); await Deno.rename('c', '.config')",
        "await Deno.mkdir('x/c/fish', { recursive: true }); await Deno.rename('x/c', 'x/.config')",
        "await Deno.mkdir('x/c/fish', { recursive: true }); await Deno.rename('x/c/', 'x/.config/')",
        "await Deno.mkdir('x/c/fish', { recursive: true }); await Deno.rename('x/c', 'x/./.config/.')",
        # removed, so that something else can take its place
        "await Deno.remove('.git', { recursive: true })",
        "await Deno.remove('.git/config')",
        "await Deno.remove('repo', { recursive: true })",
        # replaced by a file that redirects
        "await Deno.writeTextFile('sub/.git', 'gitdir: ../evil')",
    ],
)
async def test_no_detour_reaches_a_protected_name(fails, world, steps):
    for name in (".git/hooks", "repo/.git"):
        (world.mount / name).mkdir(parents=True)
        (world.mount / name / "config").write_text("config")
    (world.mount / ".git" / "config").write_text("config")
    error = await fails(steps, mounts=[world.writable()])
    assert error.message.startswith("PermissionDenied"), error.message
    assert (world.mount / ".git" / "config").read_text() == "config"
    moved = world.mount / ("repo" if (world.mount / "repo").exists() else "r2")
    assert (moved / ".git" / "config").read_text() == "config"
    assert not any(
        (world.mount / name).exists()
        for name in (".mcp.json", "sub/.git", ".config/fish", "x/.config", ".git/hooks/pre-commit")
    )


@pytest.mark.parametrize(
    ("link", "target", "attempt"),
    [
        ("alias", ".git", "Deno.writeTextFile('alias/config', 'planted')"),
        ("alias", ".git", "Deno.mkdir('alias/new')"),
        ("alias", ".git", "Deno.remove('alias/config')"),
        ("alias", ".git", "Deno.rename('plain.txt', 'alias/config')"),
        ("alias", ".git", "Deno.rename('alias/config', 'taken')"),
        ("alias", ".git", "Deno.writeTextFile('sub/../alias//config', 'planted')"),
        ("alias", ".git/config", "Deno.writeTextFile('alias', 'planted')"),
        ("alias", ".git/config", "Deno.writeTextFile('alias', 'planted', { append: true })"),
        ("alias", ".git/missing", "Deno.writeTextFile('alias', 'planted')"),
        ("sub/alias", "../.git", "Deno.writeTextFile('sub/alias/config', 'planted')"),
        ("alias", ".git/hooks", "Deno.writeTextFile('alias/../config', 'planted')"),
        ("alias", ".mcp.json", "Deno.writeTextFile('alias', '{}')"),
        ("alias", ".config", "Deno.mkdir('alias/fish')"),
        ("alias", ".config", "Deno.rename('sub', 'alias/fish')"),
        ("alias", "hop", "Deno.writeTextFile('alias/config', 'planted')"),
    ],
)
async def test_no_link_inside_the_mount_reaches_a_protected_name(
    fails, world, link, target, attempt
):
    (world.mount / ".git" / "hooks").mkdir(parents=True)
    (world.mount / ".git" / "config").write_text("config")
    (world.mount / ".config").mkdir()
    (world.mount / "hop").symlink_to(".git")
    (world.mount / link).symlink_to(target)
    before = _tree(world)
    error = await fails(f"await {attempt}", mounts=[world.writable()])
    assert error.message.startswith("PermissionDenied"), error.message
    assert _tree(world) == before
    assert (world.mount / ".git" / "config").read_text() == "config"


async def test_a_name_that_spans_the_mounts_own_folder_is_protected_too(fails, world):
    """Of `.config/fish` the first half may be the mounted folder itself."""
    (world.mount / ".config").mkdir()
    mount = Mount(world.mount / ".config", writable=True, guest_path="/mount")
    error = await fails(
        "await Deno.mkdir('fish'); await Deno.writeTextFile('fish/config.fish', 'evil')",
        mounts=[mount],
    )
    assert error.message.startswith("PermissionDenied")
    assert not (world.mount / ".config" / "fish").exists()


async def test_ordinary_names_are_not_caught_by_it(value, world):
    names = [
        ".gitignore",
        "git",
        ".github",
        "pml.json",
        ".mcp.json.bak",
        "config/fish",
        "x.git",
        ".gitx",
        "a.git/config",
    ]
    told = await value(
        """for (const name of args) {
            const at = name.lastIndexOf('/')
            if (at > 0) await Deno.mkdir(name.slice(0, at), { recursive: true })
            await Deno.writeTextFile(name, 'x')
        }
        return 'done'""",
        mounts=[world.writable()], args=names,
    )  # fmt: skip
    assert told == "done"


async def test_protected_files_can_be_read(value, world):
    (world.mount / ".mcp.json").write_text("{}")
    assert (
        await value("return await Deno.readTextFile('.mcp.json')", mounts=[world.writable()])
        == "{}"
    )


async def test_the_embedder_can_see_what_was_refused(world):
    async with Sandbox(mounts=[world.writable()]) as sandbox:
        await sandbox.run("await Deno.writeTextFile('.mcp.json', '{}').catch(() => {})", host=None)
        assert any(".mcp.json" in refused for refused in sandbox.refused_files)


async def test_a_flood_of_refusals_does_not_fill_the_hosts_memory(world):
    async with Sandbox(mounts=[world.writable()]) as sandbox:
        await sandbox.run(
            "for (let i = 0; i < 600; i++) await Deno.writeTextFile('.git/' + i + 'x'.repeat(3000), '').catch(() => {})",
            host=None,
        )
        assert sum(map(len, sandbox.refused_files)) < 1 << 18


# --- through raw WASI ------------------------------------------------------------------------------

RAW = [".git/config", ".git/config/", ".git//config", "./.git/config", "sub/../.git/config", ".GIT/config", ".git./config", ".git",
       ".git/", ".git/.", ".mcp.json", ".mcp.json/", b".g\xe2\x80\x8cit/config", b".git\xff/config"]  # fmt: skip


@pytest.mark.parametrize("existing", [False, True], ids=["not there yet", "already there"])
async def test_a_raw_module_cannot_write_them_either(wasi, world, existing):
    if existing:
        (world.mount / ".git").mkdir()
        (world.mount / ".git" / "config").write_text("config")
        (world.mount / ".mcp.json").write_text("{}")
    before = _tree(world)
    module = wasi()
    for path in RAW:
        for follow in (0, 1):
            for oflags in (0, 1, 4 | 1, 8, 9, 2):
                # not 1 << 23, to set times: libc asks for it to read, and setting them is refused anyway
                for rights in (64, 1 << 8, 1 << 22, 66, (1 << 29) - 1):
                    errno, fd = module.open(path, oflags=oflags, rights=rights, follow=follow)
                    if errno == 0:
                        pytest.fail(f"{path!r} opened for writing: {oflags} {rights:x} -> {fd}")
        for name in ("path_create_directory", "path_unlink_file", "path_remove_directory"):
            assert module.one_path(name, path) != 0, (name, path)
        assert module.rename("plain.txt", path) != 0
        assert module.rename(path, "taken") != 0
    assert _tree(world) == before


async def test_a_descriptor_opened_for_reading_writes_nothing(wasi, world):
    (world.mount / ".git").mkdir()
    (world.mount / ".git" / "config").write_text("config")
    module = wasi()
    errno, fd = module.open(".git/config")
    assert errno == 0
    module.call("fd_fdstat_set_rights", fd, (1 << 29) - 1, (1 << 29) - 1)
    module.call("fd_fdstat_set_flags", fd, 1)
    assert module.write(fd, b"planted") != 0
    assert module.call("fd_filestat_set_size", fd, 0) != 0
    assert module.call("fd_allocate", fd, 0, 999) != 0
    assert module.call("fd_filestat_set_times", fd, 0, 0, 15) != 0
    assert (world.mount / ".git" / "config").read_text() == "config"


async def test_nothing_is_written_from_a_folder_the_guest_opened_itself(wasi, world):
    """`path_open` relative to an opened `.git` names only `config`."""
    (world.mount / ".git" / "hooks").mkdir(parents=True)
    module = wasi()
    for folder in (".git", ".git/hooks", "sub", "."):
        errno, fd = module.open(folder, oflags=2)
        if errno:
            continue
        assert module.create("planted", fd=fd) != 0
        assert module.create(".git/planted", fd=fd) != 0
        assert module.one_path("path_create_directory", "planted", fd=fd) != 0
        assert module.one_path("path_remove_directory", "hooks", fd=fd) != 0
        assert module.rename("plain.txt", "planted", fd=3, other=fd) != 0
        assert module.rename("hooks", "planted", fd=fd, other=3) != 0
    assert not list(world.mount.rglob("planted"))


async def test_a_preopens_number_cannot_be_given_to_another_folder(wasi, world):
    """Closed or renumbered, descriptor 3 would become `.git`, and names in it would look harmless."""
    (world.mount / ".git").mkdir()
    module = wasi()
    assert module.call("fd_close", 3) != 0
    _, git = module.open(".git", oflags=2)
    assert git > 3
    assert module.call("fd_renumber", git, 3) != 0
    assert module.call("fd_renumber", 3, git) != 0
    for number in (0, 1, 2, 3, -1, -3, 0x80000003 - (1 << 32)):
        module.call("fd_close", number)
    _, again = module.open(".git", oflags=2)
    assert again > 3
    assert module.create("planted", fd=3) == 0
    assert (world.mount / "planted").exists()
    assert not (world.mount / ".git" / "planted").exists()


async def test_ending_a_path_in_dots_is_no_detour(wasi, world):
    (world.mount / ".config" / "fish").mkdir(parents=True)
    (world.mount / "c" / "fish").mkdir(parents=True)
    module = wasi()
    for new in (
        ".config/x/..",
        ".config/fish/..",
        ".config/.",
        ".config/./",
        "sub/../.config",
        ".config/fish/../../.config",
    ):
        assert module.rename("c", new) != 0, new
        assert module.rename(new, "taken") != 0, new
        assert module.one_path("path_remove_directory", new) != 0, new
    assert (world.mount / "c" / "fish").exists()
    assert (world.mount / ".config" / "fish").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="POSIX")
async def test_bytes_that_are_no_text_name_nothing_protected_by_accident(wasi, world):
    module = wasi()
    for path in (
        b"\xff\xfe",
        b".gi\xc0\xb4/config",
        b"\xed\xa0\x80",
        b"a\0.git",
        b".git\0",
        b".git\0/config",
        b"",
        b"/",
        b".",
    ):
        module.create(path)
    assert not (world.mount / ".git").exists()
