"""The reader agrees with `json.loads` wherever that is strict enough, and knows every place."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.config.errors import DuplicateKeyError, TooDeepError, UnusableJsonError
from pml.config.reader import MOST_DEPTH, MOST_ERRORS, Document, Node, read_json

FILE = Path("/w/.pml.json")

TEXTS = st.text(st.characters(codec="utf-8"))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**90), 10**90)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=20
)
NEARLY_JSON = st.text(
    st.sampled_from('{}[]",:0123456789-+.eEtruefalsn\\u \t\n\rNaIity/x'), max_size=30
)


def read(text: str) -> Document:
    return read_json(text, FILE)


def refuse(word: str) -> Any:
    raise ValueError(word)


@given(VALUES, st.sampled_from([None, 0, 2]), st.booleans())
def test_all_that_json_writes_is_read_alike(value: Any, indent: int | None, ascii_: bool) -> None:
    document = read(json.dumps(value, indent=indent, ensure_ascii=ascii_))
    assert document.errors == ()
    assert document.root is not None
    assert document.root.value == value
    assert repr(document.root.value) == repr(json.loads(json.dumps(value)))


@given(NEARLY_JSON | st.text())
def test_what_json_refuses_is_refused_and_nothing_else_but_what_is_documented(text: str) -> None:
    pairs: list[int] = []

    def once(members: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs.append(len(members) - len(dict(members)))
        return dict(members)

    try:
        value = json.loads(text, parse_constant=refuse, object_pairs_hook=once)
    except ValueError:
        assert read(text).errors
        return
    document = read(text)
    is_strict = (
        not any(pairs)
        and not re.search("[\ud800-\udfff]", json.dumps(value, ensure_ascii=False))
        and "Infinity" not in json.dumps(value)
    )
    if is_strict:
        assert document.errors == ()
        assert document.root is not None
        assert document.root.value == value
    else:
        assert document.errors


def places(node: Node) -> list[tuple[int, Any]]:
    inner = [*(child for _, child in node.members.values()), *node.items]
    return [(node.start, node.value), *(place for child in inner for place in places(child))]


@given(VALUES, st.sampled_from([None, 1]))
def test_every_value_stands_where_the_reader_says(value: Any, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    root = read(text).root
    assert root is not None
    for start, found in places(root):
        assert json.JSONDecoder().raw_decode(text, start)[0] == found


@given(st.text(st.sampled_from("ab\n\r\té漢"), max_size=40), st.integers(0, 39))
def test_lines_and_columns_count_from_one_in_characters(text: str, at: int) -> None:
    at = min(at, len(text))
    spot = read(text).lines.spot(at)
    lines = text.split("\n")
    assert spot.line is not None
    assert spot.column is not None
    assert sum(len(line) + 1 for line in lines[: spot.line - 1]) + spot.column - 1 == at


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "is empty"),
        (" \n ", 2, 2, "is empty"),
        ("{", 1, 2, "a key in double quotes is needed here, but the file ends"),
        ('{\n  "a"\n}', 3, 1, "`:` is needed after a key"),
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3, "`,` or `}` is needed here"),
        ("[1 2]", 1, 4, "`,` or `]` is needed here"),
        ('{\n  "a": \n}', 3, 1, "a value is needed here"),
        ("{} x", 1, 4, "nothing may follow the end"),
        ('{"a": "b\n"}', 1, 9, "a line break or control character in a string"),
        ('{"a": "b', 1, 7, "this string has no end"),
        (r'{"a": "\x"}', 1, 8, "a backslash that escapes nothing"),
        (r'{"a": "\u12"}', 1, 9, "`\\u` needs four hexadecimal digits"),
        ("tru", 1, 1, "a value is needed here"),
    ],
)
def test_syntax_errors_have_exact_places(text: str, line: int, column: int, words: str) -> None:
    [error] = read(text).errors
    assert (error.line, error.column, error.code) == (line, column, "config_syntax")
    assert words in error.message


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('{"a": 1,}', "no comma after the last entry"),
        ("[1,]", "no comma after the last entry"),
        ("{'a': 1}", "double quotes"),
        ('{"a": 1 // one\n}', "JSON has no comments"),
        ("# x", "JSON has no comments"),
    ],
)
def test_common_slips_have_a_hint(text: str, hint: str) -> None:
    [error] = read(text).errors
    assert hint in (error.hint or "")


def test_a_duplicate_key_is_told_at_the_second_place_and_reading_goes_on() -> None:
    document = read('{\n  "a": {"b": 1,\n    "b": 2},\n  "a": 3, "c": 4\n}')
    first, second = document.errors
    assert isinstance(first, DuplicateKeyError)
    assert (first.line, first.column, first.spot.path) == (3, 5, ("a", "b"))
    assert (second.line, second.column, second.spot.path) == (4, 3, ("a",))
    assert "on line 2" in second.message
    assert document.root is not None
    assert document.root.value == {"a": {"b": 1}, "c": 4}


def test_an_escaped_key_is_the_same_key() -> None:
    [error] = read(r'{"a": 1, "\u0061": 2}').errors
    assert isinstance(error, DuplicateKeyError)


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "9" * 5000, "1" + "0" * 400]
)
def test_numbers_that_are_none_are_refused_where_they_stand(number: str) -> None:
    document = read(f'{{\n "a": {number}, "b": 1}}')
    [error] = document.errors
    assert isinstance(error, UnusableJsonError)
    assert (error.line, error.column, error.spot.path) == (2, 7, ("a",))


def test_half_a_surrogate_pair_is_no_character() -> None:
    [error] = read(r'["\ud83d\ude00", "\ud83d"]').errors
    assert isinstance(error, UnusableJsonError)
    assert error.spot.path == (1,)


def test_depth_is_bounded() -> None:
    assert read("[" * MOST_DEPTH + "]" * MOST_DEPTH).errors == ()
    [error] = read("[" * 100_000).errors
    assert isinstance(error, TooDeepError)
    assert error.column == MOST_DEPTH + 1


def test_a_file_of_nothing_but_mistakes_costs_a_bounded_number_of_errors() -> None:
    assert len(read("[" + "NaN," * 100_000 + "1]").errors) == MOST_ERRORS


def test_big_numbers_that_fit_are_exact() -> None:
    root = read("[1e308, 123456789012345678901234567890]").root
    assert root is not None
    assert root.value == [1e308, 123456789012345678901234567890]
    assert math.isfinite(root.value[0])
