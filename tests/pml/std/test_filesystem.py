"""`filesystem`: each tool's own edges; `test_parity.py` holds it against the reference server."""

import json
import os
from pathlib import Path

import pytest

from .conftest import Builtin


@pytest.fixture
def files(tmp_path: Path) -> Builtin:
    folder = tmp_path / "project"
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "a.txt").write_bytes(b"one\r\ntwo\nthree")
    (folder / "sub" / "b.md").write_text("# b\nfind me\n", encoding="utf-8")
    (folder / "sub" / "deep" / "c.py").write_text("x = 1\n", encoding="utf-8")
    (folder / ".env").write_text("KEY=find me\n", encoding="utf-8")
    return Builtin("filesystem", folder.resolve())


@pytest.mark.parametrize(
    ("lines", "content"),
    [
        ({"head": 1}, "one\r"), ({"head": 2}, "one\r\ntwo"), ({"head": 9}, "one\r\ntwo\nthree"),
        ({"tail": 1}, "three"), ({"tail": 2}, "two\nthree"), ({"tail": 9}, "one\ntwo\nthree"),
        ({"head": 0}, "one\r\ntwo\nthree"), ({}, "one\r\ntwo\nthree"),
    ],
)  # fmt: skip
async def test_the_first_and_last_lines_are_read(
    files: Builtin, lines: dict[str, int], content: str
) -> None:
    for tool in ("read_text_file", "read_file"):
        assert (await files(tool, path="a.txt", **lines))["content"] == content


async def test_what_cannot_be_read_is_told(files: Builtin) -> None:
    (files.workspace / "bytes").write_bytes(b"a\xff")
    with (files.workspace / "huge").open("wb") as huge:
        huge.truncate((64 << 20) + 1)
    assert (await files("read_text_file", path="bytes"))["content"] == "a\ufffd"
    for path, words in [
        ("missing", "ENOENT: no such file or directory, open"), ("sub", "EISDIR"),
        ("huge", "The file has 67108865 bytes, more than the 67108864 that can be read"),
        ("a.txt/x", "ENOTDIR"), ("~/x", "Access denied"), ("C:\\x", "Access denied - Windows-style"),
        ("a\0b", "Access denied"),
    ]:  # fmt: skip
        assert words in await files.refused("read_text_file", path=path), path
    both = await files.refused("read_text_file", path="a.txt", head=1, tail=1)
    assert both == "Cannot specify both head and tail parameters simultaneously"


async def test_one_unreadable_file_does_not_stop_the_others(files: Builtin) -> None:
    found = await files("read_multiple_files", paths=["sub/b.md", "missing"])
    first, second = found["content"].split("\n---\n")
    assert first == "sub/b.md:\n# b\nfind me\n\n"
    assert second.startswith("missing: Error - ENOENT")
    assert "at least 1 items" in await files.refused("read_multiple_files", paths=[])


async def test_media_come_as_what_they_are(files: Builtin) -> None:
    (files.workspace / "p.PNG").write_bytes(b"\x89PNG")
    (files.workspace / "x y.bin").write_bytes(b"\0")
    [image] = (await files("read_media_file", path="p.PNG"))["content"]
    assert image == {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}
    [other] = (await files("read_media_file", path="x y.bin"))["content"]
    assert other["resource"]["uri"] == f"file://{files.workspace}/x%20y.bin"


async def test_a_file_is_written_whole_and_only_where_it_may_be(files: Builtin) -> None:
    await files("write_file", path="a.txt", content="ü")
    assert (files.workspace / "a.txt").read_text(encoding="utf-8") == "ü"
    for path, words in [
        ("no/folder.txt", "ENOENT"), ("sub", "EISDIR"), ("../out", "Access denied"),
        (".git/hooks/x", "refused by the sandbox"), (".pml.json", "refused by the sandbox"),
        (".vscode/settings.json", "refused by the sandbox"),
    ]:  # fmt: skip
        assert words in await files.refused("write_file", path=path, content="x"), path


async def test_edits_are_made_in_order_or_not_at_all(files: Builtin) -> None:
    path = files.workspace / "sub" / "deep" / "c.py"
    path.write_text("def f():\n    a = 1\n    return a\n", encoding="utf-8")
    edits = [
        {"oldText": "a = 1", "newText": "b = 2"},
        {"oldText": "return a", "newText": "return b"},
    ]
    before = path.read_text(encoding="utf-8")
    await files("edit_file", path="sub/deep/c.py", edits=edits, dryRun=True)
    assert path.read_text(encoding="utf-8") == before
    wrong = [edits[0], {"oldText": "nowhere", "newText": ""}]
    words = await files.refused("edit_file", path="sub/deep/c.py", edits=wrong)
    assert words == "Could not find exact match for edit:\nnowhere"
    assert path.read_text(encoding="utf-8") == before
    found = await files("edit_file", path="sub/deep/c.py", edits=edits)
    assert "-    a = 1\n-    return a\n+    b = 2\n+    return b\n" in found["content"]
    assert path.read_text(encoding="utf-8") == "def f():\n    b = 2\n    return b\n"


async def test_an_edit_finds_its_lines_whatever_their_indentation(files: Builtin) -> None:
    path = files.workspace / "x.py"
    path.write_text("if a:\n        b()\n        c()\n", encoding="utf-8")
    edits = [{"oldText": "b()\nc()", "newText": "$&()\nd()"}]
    await files("edit_file", path="x.py", edits=edits)
    assert path.read_text(encoding="utf-8") == "if a:\n        $&()\nd()\n"


async def test_folders_are_made_with_those_on_the_way(files: Builtin) -> None:
    for _ in range(2):
        await files("create_directory", path="x/y/z")
    assert (files.workspace / "x" / "y" / "z").is_dir()
    assert "EEXIST" in await files.refused("create_directory", path="a.txt")


async def test_nothing_is_overwritten_by_moving(files: Builtin) -> None:
    words = await files.refused("move_file", source="a.txt", destination="sub/b.md")
    assert words == f"Destination already exists: {files.workspace}/sub/b.md"
    await files("move_file", source="sub", destination="moved")
    assert (files.workspace / "moved" / "deep" / "c.py").exists()
    assert "ENOENT" in await files.refused("move_file", source="sub", destination="x")


async def test_folders_are_listed_by_name_and_by_size(files: Builtin) -> None:
    (files.workspace / "large").write_bytes(b"x" * 2048)
    found = await files("list_directory", path=".")
    assert found["content"].split("\n") == [
        "[FILE] .env",
        "[FILE] a.txt",
        "[FILE] large",
        "[DIR] sub",
    ]
    sized = (await files("list_directory_with_sizes", path=".", sortBy="size"))["content"]
    assert sized.split("\n")[0].split() in (["[FILE]", "large", "2.00", "KB"], ["[DIR]", "sub"])
    assert "Total: 3 files, 1 directories" in sized
    assert "`sortBy` must be one of" in await files.refused(
        "list_directory_with_sizes", path=".", sortBy="age"
    )


async def test_a_tree_leaves_out_what_is_excluded(files: Builtin) -> None:
    tree = json.loads(
        (await files("directory_tree", path=".", excludePatterns=["deep"]))["content"]
    )
    assert tree[-1] == {
        "name": "sub",
        "type": "directory",
        "children": [{"name": "b.md", "type": "file"}],
    }


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**/*.{md,py}", ["sub/b.md", "sub/deep/c.py"]), ("*", [".env", "a.txt", "sub"]),
        ("sub/?.md", ["sub/b.md"]), ("**/[ab].*", ["a.txt", "sub/b.md"]), ("[", []), ("**/deep", ["sub/deep"]),
    ],
)  # fmt: skip
async def test_names_are_searched_by_glob(files: Builtin, pattern: str, found: list[str]) -> None:
    content = (await files("search_files", path=".", pattern=pattern))["content"]
    expected = [f"{files.workspace}/{one}" for one in found]
    assert content == ("\n".join(expected) or "No matches found")


async def test_braces_that_stand_for_too_much_are_refused(files: Builtin) -> None:
    for pattern in ("{1..9999}", "{a,b}" * 12):
        words = await files.refused("search_files", path=".", pattern=pattern)
        assert words == "The pattern stands for more than 1000 others"


async def test_contents_are_searched_and_secrets_passed_over(files: Builtin) -> None:
    (files.workspace / "bin").write_bytes(b"\0find me")
    found = await files("grep", pattern="FIND (me)", ignoreCase=True, context=1)
    assert found["matches"] == [
        {"path": f"{files.workspace}/sub/b.md", "line": 2, "column": 1, "text": "find me",
         "before": ["# b"], "after": []},
    ]  # fmt: skip
    assert (found["filesSearched"], found["filesSkipped"]) == (3, 2)
    found = await files("grep", pattern="x", glob="*.md")
    assert (found["matches"], found["filesSearched"]) == ([], 1)
    many = await files("grep", pattern="^", maxResults=2)
    assert (len(many["matches"]), many["truncated"]) == (2, True)


async def test_a_pattern_that_is_none_or_explodes_ends(
    files: Builtin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: a pattern keeps a core of the user's machine busy for years."""
    words = await files.refused("grep", pattern="(")
    assert words.startswith("Not a regular expression: ")
    (files.workspace / "long").write_text("a" * 60 + "b", encoding="utf-8")
    monkeypatch.setattr("pml.backends.std.backend.MOST_CPU_SECONDS", 0.3)
    assert "computed for more than 0.3 s" in await files.refused("grep", pattern="(a+)+$")
    (files.workspace / ("a" * 60)).touch()
    assert "computed for more than 0.3 s" in await files.refused(
        "search_files", path=".", pattern="+(+(a))b"
    )


async def test_links_that_lead_out_are_not_followed(files: Builtin, tmp_path: Path) -> None:
    """Attack: a link in the workspace opens the rest of the machine."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("find me", encoding="utf-8")
    (files.workspace / "out").symlink_to(outside)
    for tool, arguments in [
        ("read_text_file", {"path": "out/secret.txt"}), ("list_directory", {"path": "out"}),
        ("write_file", {"path": "out/x", "content": ""}), ("move_file", {"source": "a.txt", "destination": "out/a"}),
        ("directory_tree", {"path": "out"}), ("get_file_info", {"path": "out/secret.txt"}),
    ]:  # fmt: skip
        assert "Access denied - symlink target" in await files.refused(tool, **arguments), tool
    found = await files("search_files", path=".", pattern="**/*.txt")
    assert found["content"] == f"{files.workspace}/a.txt"
    matches = (await files("grep", pattern="find"))["matches"]
    assert [match["path"] for match in matches] == [f"{files.workspace}/sub/b.md"]


async def test_facts_of_a_file_are_those_of_the_system(files: Builtin) -> None:
    path = files.workspace / "a.txt"
    path.chmod(0o640)
    os.utime(path, (1_000_000_000, 1_000_000_000))
    facts = dict(
        line.split(": ", 1)
        for line in (await files("get_file_info", path="a.txt"))["content"].split("\n")
    )
    assert (facts["size"], facts["permissions"], facts["isFile"]) == ("14", "640", "true")
    assert facts["modified"].startswith("Sun Sep 09 2001 01:46:40")


async def test_the_workspace_is_the_one_allowed_folder(files: Builtin) -> None:
    found = await files("list_allowed_directories")
    assert found["content"] == f"Allowed directories:\n{files.workspace}"
