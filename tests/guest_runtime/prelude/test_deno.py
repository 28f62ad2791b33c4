"""The Deno subset: files below the mounts, errors by class, refusals that tell why."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sandbox_host import Completed, Mount

Run = Callable[..., Awaitable[Completed]]

CAUGHT = "const caught = async (act) => { try { return await act() } catch (e) { return e } };"

DENIED = "permission denied (read-only mount, outside the mounts, or a protected path)"


async def test_text_is_read_written_and_appended(run: Run, folder: Mount) -> None:
    outcome = await run(
        """
        await Deno.writeTextFile('/data/new.txt', 'one');
        await Deno.writeTextFile(new URL('file:///data/new%2Etxt'), ' two', {append: true});
        const read = (path) => Deno.readTextFile(path);
        [await read('/data/hello.txt'), await read('new.txt'), Deno.cwd()]
        """,
        folder,
    )
    assert outcome.value == ["héllo", "one two", "/data"]
    assert (Path(folder.path) / "new.txt").read_text(encoding="utf-8") == "one two"


async def test_bytes_copies_and_moves(run: Run, folder: Mount) -> None:
    outcome = await run(
        """
        await Deno.writeFile('/data/a', new Uint8Array([1, 2, 255]));
        await Deno.copyFile('/data/a', '/data/b');
        await Deno.rename('/data/b', '/data/c');
        [...await Deno.readFile('/data/c')]
        """,
        folder,
    )
    assert outcome.value == [1, 2, 255]
    assert not (Path(folder.path) / "b").exists()


async def test_directories_are_made_listed_and_removed(run: Run, folder: Mount) -> None:
    outcome = await run(
        """
        await Deno.mkdir('/data/x/y/z', {recursive: true});
        await Deno.mkdir('/data/x/y/z', {recursive: true});
        await Deno.writeTextFile('/data/x/f', '1');
        const entries = [];
        for await (const entry of Deno.readDir('/data/x')) entries.push(entry);
        entries.sort((a, b) => (a.name < b.name ? -1 : 1));
        await Deno.remove('/data/x', {recursive: true});
        entries
        """,
        folder,
    )
    assert outcome.value == [
        {"name": "f", "isFile": True, "isDirectory": False, "isSymlink": False},
        {"name": "y", "isFile": False, "isDirectory": True, "isSymlink": False},
    ]
    assert not (Path(folder.path) / "x").exists()


async def test_removing_a_tree_does_not_follow_links(run: Run, folder: Mount) -> None:
    root = Path(folder.path)
    (root / "kept").mkdir()
    (root / "kept" / "precious").write_text("x")
    (root / "tree").mkdir()
    (root / "tree" / "link").symlink_to("../kept")
    await run("await Deno.remove('/data/tree', {recursive: true})", folder)
    assert (root / "kept" / "precious").exists()
    assert not (root / "tree").exists()


async def test_stat_has_denos_shape(run: Run, folder: Mount) -> None:
    outcome = await run(
        """
        const info = await Deno.stat('/data/hello.txt');
        [info.isFile, info.isDirectory, info.isSymlink, info.size,
         info.mtime instanceof Date, info.birthtime,
         (await Deno.lstat('/data')).isDirectory]
        """,
        folder,
    )
    assert outcome.value == [True, False, False, 6, True, None, True]


FAILURES = [
    (
        "readTextFile('/data/none')",
        "NotFound",
        "readTextFile '/data/none': no such file or directory",
    ),
    ("readTextFile('/data')", "IsADirectory", "readTextFile '/data': is a directory"),
    ("mkdir('/data')", "AlreadyExists", "mkdir '/data': already exists"),
    ("mkdir('/data/hello.txt/x')", "NotADirectory", "mkdir '/data/hello.txt/x': not a directory"),
    (
        "writeTextFile('/data/hello.txt', '', {createNew: true})",
        "AlreadyExists",
        "writeTextFile '/data/hello.txt': already exists",
    ),
    (
        "writeTextFile('/data/none', '', {create: false})",
        "NotFound",
        "writeTextFile '/data/none': no such file or directory",
    ),
    (
        "rename('/data/none', '/data/x')",
        "NotFound",
        "rename '/data/none' -> '/data/x': no such file or directory",
    ),
    (
        "readTextFile('/data/a\\0b')",
        "InvalidData",
        "readTextFile: the path contains a NUL character",
    ),
    ("realPath('/data')", "NotSupported", "Deno.realPath is not available in the sandbox"),
]


@pytest.mark.parametrize(("call", "name", "message"), FAILURES)
async def test_failures_have_their_class_and_say_what_failed(
    run: Run, folder: Mount, call: str, name: str, message: str
) -> None:
    outcome = await run(
        f"{CAUGHT} const e = await caught(() => Deno.{call});"
        f"[e.name, e instanceof Deno.errors.{name}, e instanceof Error, e.message]",
        folder,
    )
    assert outcome.value == [name, True, True, message]


@pytest.mark.parametrize(
    "path", ["/data/.git/config", "/data/.envrc", "/etc/passwd", "/data/../x"]
)
async def test_protected_and_outside_paths_are_permission_denied(
    run: Run, folder: Mount, path: str
) -> None:
    outcome = await run(
        f"{CAUGHT} const e = await caught(() => Deno.writeTextFile('{path}', 'x'));"
        "[e.name, e.message]",
        folder,
    )
    name, message = outcome.value
    assert name in {"PermissionDenied", "NotFound"}
    assert message.startswith(f"writeTextFile '{path}': ")
    assert not (Path(folder.path) / ".envrc").exists()


async def test_a_read_only_mount_refuses_writing(run: Run, tmp_path: Path) -> None:
    outcome = await run(
        f"{CAUGHT} const e = await caught(() => Deno.writeTextFile('/data/x', 'x'));"
        "[e.name, e.message]",
        Mount(tmp_path, guest_path="/data"),
    )
    assert outcome.value == [
        "PermissionDenied",
        f"writeTextFile '/data/x': {DENIED}",
    ]


async def test_a_full_directory_needs_recursive(run: Run, folder: Mount) -> None:
    outcome = await run(
        f"{CAUGHT} await Deno.mkdir('/data/d/e', {{recursive: true}});"
        "const e = await caught(() => Deno.remove('/data/d')); e.message",
        folder,
    )
    assert outcome.value == "remove '/data/d': directory not empty"


async def test_a_failure_points_at_the_line_of_the_call(run: Run, folder: Mount) -> None:
    outcome = await run(
        f"{CAUGHT}\n\nasync function here() {{\n  await Deno.readFile('/data/none');\n}}\n"
        "(await caught(here)).stack",
        folder,
    )
    assert "at here (program:4:" in outcome.value


async def test_synchronous_files_point_to_the_asynchronous_ones(run: Run) -> None:
    outcome = await run(f"{CAUGHT} (await caught(() => Deno.readTextFileSync('/x'))).message")
    assert outcome.value == (
        "Deno.readTextFileSync is not available in the sandbox: use await Deno.readTextFile()"
    )


async def test_the_environment_is_denied(run: Run) -> None:
    outcome = await run(
        f"{CAUGHT} const e = await caught(() => Deno.env.get('HOME'));"
        "const all = await caught(() => Deno.env.toObject());"
        "[e.name, e.message, all.name, Deno.args, typeof Deno.permissions]"
    )
    assert outcome.value == [
        "PermissionDenied",
        "the environment is not available in the sandbox",
        "PermissionDenied",
        [],
        "undefined",
    ]
