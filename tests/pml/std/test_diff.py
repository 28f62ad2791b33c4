"""`diff`: what differs, and a patch that leads from one text to the other."""

import copy
import difflib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Builtin

SETTINGS = settings(max_examples=40, deadline=None)
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "d\r", "- x", "\\ y"]), max_size=12).map(
    "\n".join
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.sampled_from("a~/"), max_size=2),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.sampled_from("ab~/"), max_size=2), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
PATCH = "--- a\n+++ b\n@@ -2,3 +2,3 @@\n two\n-three\n+drei\n four\n"
COUNTED = "one\ntwo\nthree\nfour\n"


async def test_a_difference_is_told_as_git_tells_it(builtin: Builtin) -> None:
    found = await builtin("unified", before="a\nb\nc", after="a\nB\nc\n", afterName="new\nname")
    assert found == {
        "diff": "--- before\n+++ new name\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n"
        "\\ No newline at end of file\n+B\n+c\n",
        "added": 2, "removed": 2, "isSame": False,
    }  # fmt: skip
    same = {"diff": "", "added": 0, "removed": 0, "isSame": True}
    assert await builtin("unified", before="a", after="a") == same


@SETTINGS
@given(before=TEXTS, after=TEXTS, context=st.integers(0, 4))
async def test_the_patch_of_a_difference_leads_there_and_back(
    builtin: Builtin, before: str, after: str, context: int
) -> None:
    patch = (await builtin("unified", before=before, after=after, context=context))["diff"]
    if before == after:
        assert patch == ""
        return
    assert (await builtin("apply", text=before, patch=patch))["text"] == after
    assert (await builtin("apply", text=after, patch=patch, reverse=True))["text"] == before


@SETTINGS
@given(before=TEXTS, after=TEXTS)
async def test_a_patch_that_python_made_is_applied(
    builtin: Builtin, before: str, after: str
) -> None:
    lines = [[f"{line}\n" for line in text.split("\n")] for text in (before, after)]
    patch = "".join(difflib.unified_diff(*lines, "a", "b"))
    if patch:
        found = await builtin("apply", text="".join(lines[0]), patch=patch)
        assert found["text"] == "".join(lines[1])


@SETTINGS
@given(before=TEXTS, after=TEXTS)
async def test_no_script_is_longer_than_needed(builtin: Builtin, before: str, after: str) -> None:
    found = await builtin("unified", before=before, after=after)
    old, new = [text.split("\n") for text in (before, after)]
    common = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, left in enumerate(old):
        for j, right in enumerate(new):
            longer = max(common[i][j + 1], common[i + 1][j])
            common[i + 1][j + 1] = common[i][j] + 1 if left == right else longer
    # a last line without its end differs from the same line with one, which `split` does not see
    assert found["added"] + found["removed"] <= len(old) + len(new) - 2 * common[-1][-1] + 2


async def test_texts_with_thousands_of_changes_are_still_compared(builtin: Builtin) -> None:
    before = "".join(f"{number}\n" for number in range(6000))
    after = "".join(f"{number}\n" for number in range(0, 6000, 2))
    found = await builtin("unified", before=before, after=after)
    applied = await builtin("apply", text=before, patch=found["diff"])
    assert applied["text"] == after


async def test_a_patch_fits_where_its_lines_have_moved(builtin: Builtin) -> None:
    found = await builtin("apply", text="zero\n" * 3 + COUNTED, patch=PATCH)
    assert found["text"] == "zero\n" * 3 + "one\ntwo\ndrei\nfour\n"
    assert found["parts"] == [{"line": 5, "offset": 3}]
    found = await builtin("apply", text="two\nthree\nfour\n", patch=PATCH.rstrip("\n"))
    assert found["parts"] == [{"line": 1, "offset": -1}]


async def test_an_empty_text_is_filled_and_a_text_emptied(builtin: Builtin) -> None:
    patch = "--- /dev/null\n+++ b\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"
    assert (await builtin("apply", text="", patch=patch))["text"] == "a\nb"
    assert (await builtin("apply", text="a\nb", patch=patch, reverse=True))["text"] == ""


@pytest.mark.parametrize(
    ("text", "patch", "words"),
    [
        (COUNTED.replace("three", "3"), PATCH,
         'Part 1 of 1 does not fit: line 3 is "3\\n", the patch has "three\\n". Nothing was changed'),
        ("one\ntwo\n", PATCH, "the text ends after line 2, the patch has \"three\\n\""),
        ("a\nb", "@@ -1,2 +1 @@\n a\n-b\n", 'line 2 is "b", the patch has "b\\n"'),
        ("a", "", "The patch has no part"),
        ("a", "just words", "The patch has no part"),
        ("a", "@@ nonsense @@\n", 'Line 1 of the patch is not "@@ -1,2 +1,2 @@": @@ nonsense @@'),
        ("a\n", "@@ -1,3 +1,1 @@\n a\n", "announced 3 old and 1 new lines, but it ends"),
        ("a\n", "@@ -1 +1 @@\n-a\n!b\n", 'announced 1 old and 1 new lines, but line 3 is "!b"'),
        ("a\n", "@@ -1 +1 @@\n-a\n+b\n+c\n", "Line 4 of the patch is beyond the lines"),
        (COUNTED, PATCH + PATCH, "The patch changes a second file at its line 8"),
        ("a\n", "@@ -5,0 +6 @@\n+x\n", "the text ends after line 1, the patch has a line more"),
        ("a\nb\n", "@@ -2 +2 @@\n-b\n+c\n@@ -1 +1 @@\n-a\n+d\n", "Part 2 of 2 does not fit"),
    ],
)  # fmt: skip
async def test_a_patch_that_does_not_fit_is_refused(
    builtin: Builtin, text: str, patch: str, words: str
) -> None:
    assert words in await builtin.refused("apply", text=text, patch=patch)


async def test_files_are_compared_within_the_workspace(builtin: Builtin) -> None:
    folder = builtin.workspace
    (folder / "a.txt").write_text("x\n", encoding="utf-8")
    (folder / "b.txt").write_text("y\n", encoding="utf-8")
    (folder / "c.bin").write_bytes(b"\0\1")
    (folder / ".env").write_text("KEY=1", encoding="utf-8")
    (folder / "innocent").symlink_to(folder / ".env")
    found = await builtin("files", beforePath="a.txt", afterPath=str(folder / "b.txt"))
    assert found["diff"] == f"--- a.txt\n+++ {folder}/b.txt\n@@ -1,1 +1,1 @@\n-x\n+y\n"
    for path, words in [
        ("../x", "Access denied"), ("c.bin", "The file is not text: c.bin"),
        ("missing", "ENOENT"), ("innocent", "refused by the sandbox"),
    ]:  # fmt: skip
        assert words in await builtin.refused("files", beforePath="a.txt", afterPath=path)
    named = await builtin("files", beforePath="a.txt", afterPath=".env")  # as it was asked about
    assert "+KEY=1" in named["diff"]


async def test_words_that_differ_are_marked(builtin: Builtin) -> None:
    found = await builtin("words", before="the quick fox.", after="the slow fox!")
    assert found["text"] == "the [-quick-]{+slow+} fox[-.-]{+!+}"
    assert found["parts"][1] == {"kind": "removed", "text": "quick"}


@SETTINGS
@given(before=st.text(max_size=30), after=st.text(max_size=30))
async def test_the_parts_make_both_texts(builtin: Builtin, before: str, after: str) -> None:
    found = await builtin("words", before=before, after=after)
    kept = {
        kind: "".join(part["text"] for part in found["parts"] if part["kind"] in ("same", kind))
        for kind in ("removed", "added")
    }
    assert kept == {"removed": before, "added": after}
    assert found["isSame"] == (before == after)


def applied(value: Any, operations: list[dict[str, Any]]) -> Any:
    """Apply a JSON Patch, as RFC 6902 has it."""
    whole = [copy.deepcopy(value)]
    for one in operations:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in one["path"].split("/")[1:]]
        target: Any = whole
        for step in ["0", *steps][:-1]:
            target = target[int(step) if isinstance(target, list) else step]
        last: Any = ["0", *steps][-1]
        last = int(last) if isinstance(target, list) else last
        if one["op"] == "remove":
            del target[last]
        elif one["op"] == "add" and isinstance(target, list):
            target.insert(last, one["value"])
        else:
            assert one["op"] == "add" or isinstance(target, list) or last in target
            target[last] = one["value"]
    return whole[0]


@SETTINGS
@given(before=JSON, after=JSON)
async def test_the_json_patch_leads_from_one_to_the_other(
    builtin: Builtin, before: Any, after: Any
) -> None:
    found = await builtin("json", before=before, after=after)
    result = applied(before, found["operations"])
    assert repr(_plain(result)) == repr(_plain(after))
    assert found["isSame"] == (repr(_plain(before)) == repr(_plain(after)))


def _plain(value: Any) -> Any:
    """Give a value whose `repr` tells True from 1 and not the order of keys."""
    if isinstance(value, dict):
        return sorted((key, _plain(one)) for key, one in value.items()) if value else {}
    return [_plain(one) for one in value] if isinstance(value, list) else value


async def test_a_small_change_is_a_small_patch(builtin: Builtin) -> None:
    found = await builtin("json", before={"a": [1, 2, 3], "b": 1}, after={"a": [1, 3], "b": 2})
    assert found["operations"] == [
        {"op": "remove", "path": "/a/1"},
        {"op": "replace", "path": "/b", "value": 2},
    ]
