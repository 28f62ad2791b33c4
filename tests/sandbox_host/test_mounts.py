"""Which names are protected, and what a mount must be."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_host import Completed, Failed, Host, Mount, MountInvalid, Sandbox
from sandbox_host.mounts import PROTECTED, protected_by_move, protected_name

PLAIN = st.text("abcdefgh_-", min_size=1, max_size=8)


@pytest.mark.parametrize(
    "path",
    [
        ".pml.json", ".PML.JSON", "sub/.pml.json", ".pml/mcp.lock", ".mcp.json", ".git/hooks/pre-commit",
        ".git/config", ".GIT/Config", "deep/er/.git/HEAD", ".git", ".envrc", ".vscode/tasks.json", ".Cursor/x",
        ".claude/settings.json", ".idea/x", ".bashrc", ".zshrc", ".profile", ".config/fish/config.fish",
        ".git./config", ".git /config", "git~1/config", ".g\u200cit/config", "．git/config", ".ｇit/config",
        ".git::$INDEX_ALLOCATION/config", ".ſsh/x", "a/../.git/config",
    ],
)  # fmt: skip
def test_protected_names_are_found_however_they_are_written(path: str) -> None:
    assert protected_name(path.split("/"))


@pytest.mark.parametrize(
    "path",
    [
        "a.txt",
        "git/config",
        ".gitignore",
        ".github/x",
        "pml.json",
        "x.git",
        ".config/other",
        ".config",
    ],
)
def test_other_names_are_free(path: str) -> None:
    assert protected_name(path.split("/")) is None


@given(st.lists(PLAIN, max_size=3), st.sampled_from(PROTECTED), st.lists(PLAIN, max_size=3))
def test_a_protected_name_is_protected_at_any_depth(
    before: list[str], name: tuple[str, ...], after: list[str]
) -> None:
    assert protected_name([*before, *name, *after]) == "/".join(name)
    assert protected_name([part.upper() for part in (*before, *name, *after)]) == "/".join(name)


@given(st.lists(PLAIN, max_size=3))
def test_a_parent_of_a_protected_name_may_be_made_but_not_moved(before: list[str]) -> None:
    parent = [*before, ".config"]
    assert protected_name(parent) is None
    assert protected_by_move(parent) == ".config/fish"


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"guest_path": "relative"}, "plain absolute"), ({"guest_path": "/a/../b"}, "plain absolute"), ({"guest_path": "/a\0"}, "plain absolute")],
)  # fmt: skip
def test_a_guest_path_must_be_plain_and_absolute(
    tmp_path: Path, options: Any, reason: str
) -> None:
    with pytest.raises(MountInvalid, match=reason):
        Mount(tmp_path, **options).opened()


def test_a_mount_must_be_a_folder_that_exists(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MountInvalid, match="No such file"):
        Mount(tmp_path / "missing").opened()
    with pytest.raises(MountInvalid, match="not a directory"):
        Mount(tmp_path / "file").opened()


async def test_the_first_mount_is_the_working_directory_under_its_own_path(
    host: Host, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x")
    async with Sandbox(mounts=[Mount(tmp_path)]) as sandbox:
        code = "[Deno.cwd(), await Deno.readTextFile('a.txt'), await Deno.readTextFile(Deno.cwd() + '/a.txt')]"
        outcome = await sandbox.run(code, host=host)
    assert outcome == Completed([str(tmp_path.resolve()), "x", "x"])


async def test_two_mounts_keep_their_own_permissions(host: Host, tmp_path: Path) -> None:
    for name in ("ro", "rw"):
        (tmp_path / name).mkdir()
    mounts = [
        Mount(tmp_path / "ro", guest_path="/ro"),
        Mount(tmp_path / "rw", guest_path="/rw", writable=True),
    ]
    async with Sandbox(mounts=mounts) as sandbox:
        assert isinstance(
            await sandbox.run("await Deno.writeTextFile('/rw/a', 'x')", host=host), Completed
        )
        outcome = await sandbox.run("await Deno.writeTextFile('/ro/a', 'x')", host=host)
        assert isinstance(outcome, Failed)
        assert outcome.error.message.startswith("PermissionDenied")
    assert (tmp_path / "rw" / "a").read_text() == "x"
    assert not (tmp_path / "ro" / "a").exists()


async def test_refused_writes_are_told_to_the_embedder(host: Host, tmp_path: Path) -> None:
    async with Sandbox(mounts=[Mount(tmp_path, writable=True, guest_path="/w")]) as sandbox:
        await sandbox.run("await Deno.writeTextFile('.mcp.json', '{}')", host=host)
        await sandbox.run(
            "try { await Deno.mkdir('sub/.git', {recursive: true}) } catch {}", host=host
        )
        assert sandbox.refused_files == (
            "/w/.mcp.json (protected: .mcp.json)",
            "/w/sub/.git (protected: .git)",
        )


async def test_a_writable_folder_inside_a_read_only_one_is_fine_the_other_way_round_is_not(
    host: Host, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    good = [
        Mount(tmp_path, guest_path="/ro"),
        Mount(tmp_path / "sub", guest_path="/rw", writable=True),
    ]
    async with Sandbox(mounts=good) as sandbox:
        outcome = await sandbox.run(
            "await Deno.writeTextFile('/rw/a', 'x'); try { await Deno.writeTextFile('/ro/sub/b', 'x') } catch (e) { return e.name }",
            host=host,
        )
    assert outcome == Completed("PermissionDenied")
    for bad in (
        [
            Mount(tmp_path, writable=True, guest_path="/w"),
            Mount(tmp_path / "sub", guest_path="/w/sub"),
        ],
        [Mount(tmp_path, writable=True, guest_path="/w"), Mount(tmp_path, guest_path="/r")],
        [Mount(tmp_path, guest_path="/x"), Mount(tmp_path / "sub", guest_path="/x")],
    ):
        with pytest.raises(MountInvalid, match="is writable|mounted twice"):
            async with Sandbox(mounts=bad):
                pass
