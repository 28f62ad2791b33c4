"""`csv`: RFC 4180 both ways, and questions to a table."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Builtin

SETTINGS = settings(max_examples=40, deadline=None)
FIELD = st.text(st.sampled_from("a1,;\t\"'\r\n =é🎉\ufeff"), max_size=6)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(FIELD, min_size=width, max_size=width), max_size=5)
)
PRICES = [
    {"fruit": "apple", "price": "10", "shop": "a"},
    {"fruit": "pear", "price": "9.5", "shop": "b"},
    {"fruit": "apple", "price": "", "shop": "b"},
    {"fruit": "fig", "price": "30", "shop": None},
]


async def test_quotes_line_ends_and_a_byte_order_mark_are_understood(builtin: Builtin) -> None:
    text = '\ufeffname,note\r\n"Ada ""L"" B","one\r\ntwo"\r\n\r\nBob,\r\n'
    found = await builtin("parse", text=text)
    assert found == {
        "columns": ["name", "note"],
        "rows": [{"name": 'Ada "L" B', "note": "one\r\ntwo"}, {"name": "Bob", "note": ""}],
        "delimiter": ",",
    }


async def test_without_a_header_rows_are_lists_as_they_are(builtin: Builtin) -> None:
    found = await builtin("parse", text="a,b\n1\n2,3,4", header=False)
    assert found["rows"] == [["a", "b"], ["1"], ["2", "3", "4"]]
    empty = {"columns": [], "rows": [], "delimiter": ","}
    assert await builtin("parse", text="") == empty


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
async def test_the_delimiter_is_found_out(builtin: Builtin, delimiter: str) -> None:
    text = delimiter.join(['"a,b;c\t|"', "x"]) + "\n" + delimiter.join(["1,5" * 2, "y"])
    if delimiter == ",":
        text = '"a;b|",x\n1,y'
    found = await builtin("parse", text=text)
    assert found["delimiter"] == delimiter
    assert [len(row) for row in found["rows"]] == [2]


async def test_types_are_given_only_where_nothing_is_lost(builtin: Builtin) -> None:
    text = "a\n1\n-2.50\ntrue\n007\n1e5\n12345678901234567890\n0x1\nFALSE\n +1\n"
    rows = (await builtin("parse", text=text, types=True))["rows"]
    assert [row["a"] for row in rows] == [
        1, -2.5, True, "007", "1e5", "12345678901234567890", "0x1", False, " +1",
    ]  # fmt: skip
    rows = (await builtin("parse", text="a,b\n,x", types=True))["rows"]
    assert rows == [{"a": None, "b": "x"}]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a,b\n1,"x\ny', "A quote is opened and not closed in field 2 at line 2, column 3"),
        ('a,b\n1,x"y', "in field 2 at line 2, column 4"),
        ('a,b\n"1\n2","x"y', "Text after a closing quote in field 2 at line 3, column 7"),
        ("a,b\n1,2\n3\n", "Row 2 (line 3) has 1 fields, the header has 2"),
        ('a,b\n"1\n\n",2\n3', "Row 2 (line 5) has 1 fields"),
        ("a,b,a\n", 'Columns 1 and 3 of the header have the same name "a"'),
    ],
)
async def test_what_is_wrong_is_told_with_its_place(
    builtin: Builtin, text: str, words: str
) -> None:
    assert words in await builtin.refused("parse", text=text)


async def test_a_delimiter_that_cannot_be_one_is_refused(builtin: Builtin) -> None:
    for delimiter in ('"', "\n"):
        assert "A delimiter is one character" in await builtin.refused(
            "parse", text="a", delimiter=delimiter
        )
    assert "`delimiter` must have at most 1" in await builtin.refused(
        "stringify", rows=[], delimiter=",,"
    )


async def test_objects_are_written_under_all_their_columns(builtin: Builtin) -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": "x,y"}, {"a": None, "c": True, "b": 'q"'}]
    found = await builtin("stringify", rows=rows)
    assert found["text"] == 'a,b,c\n1,"x,y",\n,"q""",true\n'
    found = await builtin("stringify", rows=rows, columns=["c"], header=False, lineEnd="CRLF")
    assert found["text"] == '""\r\ntrue\r\n'
    found = await builtin("stringify", rows=[["a", 1]], quoteAll=True, delimiter=";")
    assert found["text"] == '"a";"1"\n'


async def test_formulas_are_written_as_text_if_wanted(builtin: Builtin) -> None:
    """Attack: a field of a stranger's is run as a formula by the user's spreadsheet."""
    rows = [["=cmd|' /C calc'!A0", "+1+1", "-2", "@SUM(A1)", "-x", -3, "\t=1"]]
    found = await builtin("stringify", rows=rows, escapeFormulas=True)
    [fields] = list(csv.reader(io.StringIO(found["text"])))
    assert fields == ["'=cmd|' /C calc'!A0", "'+1+1", "-2", "'@SUM(A1)", "'-x", "-3", "'\t=1"]
    plain = await builtin("stringify", rows=[["=1"]])
    assert plain["text"] == "=1\n"


async def test_a_field_that_is_none_is_refused_with_its_place(builtin: Builtin) -> None:
    assert "row 2, field 1 is an object" in await builtin.refused(
        "stringify", rows=[{"a": 1}, {"a": {}}]
    )
    assert "row 1, field 2 is a list" in await builtin.refused("stringify", rows=[[1, []]])
    words = await builtin.refused("stringify", rows=[[1], {"a": 1}])
    assert words == "Rows are all objects or all lists"


@SETTINGS
@given(
    rows=TABLES, delimiter=st.sampled_from([",", ";", "\t"]), end=st.sampled_from(["LF", "CRLF"])
)
async def test_what_was_written_is_read_again(
    builtin: Builtin, rows: list[list[str]], delimiter: str, end: str
) -> None:
    written = await builtin("stringify", rows=rows, delimiter=delimiter, lineEnd=end)
    found = await builtin("parse", text=written["text"], delimiter=delimiter, header=False)
    assert found["rows"] == rows


@SETTINGS
@given(rows=TABLES)
async def test_python_reads_and_writes_the_same(builtin: Builtin, rows: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    text = out.getvalue()
    if not text.startswith("\ufeff"):
        found = await builtin("parse", text=text, delimiter=",", header=False)
        assert found["rows"] == rows
    written = (await builtin("stringify", rows=rows))["text"]
    assert list(csv.reader(io.StringIO(written, newline=""))) == rows


async def test_rows_are_filtered_sorted_and_cut(builtin: Builtin) -> None:
    found = await builtin(
        "query", rows=PRICES, where=[{"column": "price", "is": "greater", "value": 9}],
        sort=[{"column": "price", "descending": True}], select=["fruit"], limit=2,
    )  # fmt: skip
    assert found == {"rows": [{"fruit": "fig"}, {"fruit": "apple"}], "total": 3}
    found = await builtin("query", rows=PRICES, offset=3)
    assert found == {"rows": PRICES[3:], "total": 4}


async def test_numbers_sort_by_size_and_empty_fields_last(builtin: Builtin) -> None:
    for descending, expected in [
        (False, ["9.5", "10", "30", ""]),
        (True, ["30", "10", "9.5", ""]),
    ]:
        found = await builtin(
            "query", rows=PRICES, sort=[{"column": "price", "descending": descending}]
        )
        assert [row["price"] for row in found["rows"]] == expected


@pytest.mark.parametrize(
    ("condition", "fruits"),
    [
        ({"column": "price", "is": "equal", "value": "10.0"}, ["apple"]),
        ({"column": "fruit", "is": "not_equal", "value": "apple"}, ["pear", "fig"]),
        ({"column": "price", "is": "less", "value": 10}, ["pear"]),
        ({"column": "price", "is": "at_most", "value": 10}, ["apple", "pear"]),
        ({"column": "price", "is": "at_least", "value": 10}, ["apple", "fig"]),
        ({"column": "fruit", "is": "contains", "value": "ea"}, ["pear"]),
        ({"column": "fruit", "is": "starts_with", "value": "f"}, ["fig"]),
        ({"column": "fruit", "is": "ends_with", "value": "e"}, ["apple", "apple"]),
        ({"column": "price", "is": "one_of", "value": [30, "9.5"]}, ["pear", "fig"]),
        ({"column": "shop", "is": "empty"}, ["fig"]),
        ({"column": "price", "is": "not_empty"}, ["apple", "pear", "fig"]),
    ],
)
async def test_each_condition(
    builtin: Builtin, condition: dict[str, Any], fruits: list[str]
) -> None:
    found = await builtin("query", rows=PRICES, where=[condition])
    assert [row["fruit"] for row in found["rows"]] == fruits


async def test_a_question_that_means_nothing_is_refused(builtin: Builtin) -> None:
    words = await builtin.refused("query", rows=PRICES, select=["prise"])
    assert words == 'There is no column "prise"; there are "fruit", "price", "shop"'
    where = [{"column": "price", "is": "less"}]
    assert "has no value" in await builtin.refused("query", rows=PRICES, where=where)
    where = [{"column": "price", "is": "less", "value": []}]
    assert "only one_of takes one" in await builtin.refused("query", rows=PRICES, where=where)
    where = [{"column": "price", "is": "like", "value": 1}]
    assert "`where[0].is` must be one of" in await builtin.refused(
        "query", rows=PRICES, where=where
    )


async def test_groups_are_counted_and_summed(builtin: Builtin) -> None:
    totals = [{"column": "price", "of": of} for of in ("count", "sum", "mean", "min", "max")]
    found = await builtin("aggregate", rows=PRICES, by=["fruit"], totals=totals)
    assert found["rows"][0] == {
        "fruit": "apple", "count_price": 1, "sum_price": 10, "mean_price": 10,
        "min_price": 10, "max_price": 10,
    }  # fmt: skip
    assert [row["fruit"] for row in found["rows"]] == ["apple", "pear", "fig"]
    found = await builtin(
        "aggregate", rows=PRICES, totals=[{"column": "price", "of": "sum", "as": "all"}]
    )
    assert found["rows"] == [{"all": 49.5}]
    found = await builtin("aggregate", rows=[], totals=totals[:3])
    assert found["rows"] == [{"count_price": 0, "sum_price": 0, "mean_price": None}]


async def test_a_sum_of_what_is_no_number_is_refused(builtin: Builtin) -> None:
    totals = [{"column": "fruit", "of": "sum"}]
    words = await builtin.refused("aggregate", rows=PRICES, totals=totals)
    assert words == '"apple" in column "fruit" is no number'
