"""`json`: pointers, merging and paths, to their edges."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Builtin

SETTINGS = settings(max_examples=30, deadline=None)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(st.sampled_from("ab~/0"), max_size=2), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip


@SETTINGS
@given(value=JSON, indent=st.integers(0, 10), sort=st.booleans())
async def test_what_was_written_is_read_again(
    builtin: Builtin, value: Any, indent: int, sort: bool
) -> None:
    text = (await builtin("stringify", value=value, indent=indent, sortKeys=sort))["text"]
    assert (await builtin("parse", text=text))["value"] == value
    assert json.loads(text) == value


async def test_keys_are_sorted_at_every_level(builtin: Builtin) -> None:
    value = {"b": [{"d": 1, "c": 2}], "a": None}
    found = await builtin("stringify", value=value, sortKeys=True)
    assert found["text"] == '{"a":null,"b":[{"c":2,"d":1}]}'


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "[1,]", "nul", "1 2", '"\n"'])
async def test_what_is_no_json_is_told(builtin: Builtin, text: str) -> None:
    assert (await builtin.refused("parse", text=text)).startswith("The text is not JSON: ")


def pointers(value: Any, path: str = "") -> list[tuple[str, Any]]:
    """Give every place of a value."""
    inner = (
        enumerate(value)
        if isinstance(value, list)
        else value.items()
        if isinstance(value, dict)
        else ()
    )
    steps = [(str(key).replace("~", "~0").replace("/", "~1"), one) for key, one in inner]
    return [
        (path, value),
        *(found for step, one in steps for found in pointers(one, f"{path}/{step}")),
    ]


@SETTINGS
@given(value=JSON)
async def test_every_place_is_found_by_its_pointer(builtin: Builtin, value: Any) -> None:
    for path, one in pointers(value)[:6]:
        assert await builtin("get", value=value, path=path) == {"found": True, "value": one}
    listed = await builtin("query", value=value, path="$..*")
    assert dict(zip(listed["paths"], listed["values"], strict=True)) == dict(pointers(value)[1:])


@SETTINGS
@given(value=JSON, data=st.data())
async def test_a_place_that_was_set_is_there(
    builtin: Builtin, value: Any, data: st.DataObject
) -> None:
    path, _ = data.draw(st.sampled_from(pointers(value)))
    changed = (await builtin("set", value=value, path=path, to="new"))["value"]
    assert (await builtin("get", value=changed, path=path))["value"] == "new"
    if path:
        left = (await builtin("remove", value=value, path=path))["value"]
        assert len(pointers(left)) < len(pointers(value))


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/-", {"a": [1, 2], "b": 1}), ("/a/1", {"a": [1, 2], "b": 1}), ("/c/d", {"a": [1], "b": 1, "c": {"d": 2}}),
     ("", 2), ("/__proto__", {"a": [1], "b": 1, "__proto__": 2})],
)  # fmt: skip
async def test_setting_appends_and_makes_objects(
    builtin: Builtin, path: str, expected: Any
) -> None:
    found = await builtin("set", value={"a": [1], "b": 1}, path=path, to=2)
    assert found["value"] == expected


@pytest.mark.parametrize(
    ("tool", "path", "words"),
    [
        ("get", "a", 'A path begins with "/"'), ("set", "/a/5", "There is no item 5 on the way of /a/5"),
        ("set", "/a/01", "There is no item 01"), ("set", "/b/x", "neither an object nor an array"),
        ("remove", "", "The whole value cannot be removed"), ("remove", "/x", "There is nothing at /x"),
        ("remove", "/a/-", "There is no item -"),
    ],
)  # fmt: skip
async def test_a_place_that_cannot_be_is_told(
    builtin: Builtin, tool: str, path: str, words: str
) -> None:
    more = {"to": 1} if tool == "set" else {}
    assert words in await builtin.refused(tool, value={"a": [1], "b": 1}, path=path, **more)


async def test_a_place_that_is_not_there_is_not_found(builtin: Builtin) -> None:
    for path in ("/x", "/a/1", "/a/-1", "/a/length", "/constructor", "/b/0"):
        found = await builtin("get", value={"a": [1], "b": "x"}, path=path)
        assert found == {"found": False, "value": None}, path


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396, as it is written there."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


@SETTINGS
@given(target=JSON, patch=JSON)
async def test_merging_is_that_of_rfc_7396(builtin: Builtin, target: Any, patch: Any) -> None:
    assert (await builtin("merge", target=target, patch=patch))["value"] == merged(target, patch)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$", [{"a": [{"n": 1}, {"n": 2}, {"n": 3}], "b c": {"n": 4}}]), ("$.a[0].n", [1]), ("$.a[-1].n", [3]),
        ("$.a[1:3].n", [2, 3]), ("$.a[:-1].n", [1, 2]), ("$.a[*].n", [1, 2, 3]), ("$['b c'].n", [4]),
        ('$["b c"]["n"]', [4]), ("$..n", [1, 2, 3, 4]), ("$.a[9]", []), ("$.missing.n", []), ("$.a.length", []),
    ],
)  # fmt: skip
async def test_each_form_of_path(builtin: Builtin, path: str, values: list[Any]) -> None:
    value = {"a": [{"n": 1}, {"n": 2}, {"n": 3}], "b c": {"n": 4}}
    assert (await builtin("query", value=value, path=path))["values"] == values


async def test_a_path_that_cannot_be_read_or_fits_too_much_is_refused(builtin: Builtin) -> None:
    for path in ("$.a[?(@.n>1)]", "$.", "$[", "$a", "$.a.[0]"):
        assert "The path cannot be read at position" in await builtin.refused(
            "query", value={}, path=path
        )
    words = await builtin.refused("query", value=[0] * 10_001, path="$[*]")
    assert words == "More than 10000 values fit: ask for fewer"
