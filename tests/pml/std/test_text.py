"""`text`: counting, splitting, finding, replacing, shaping, comparing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Builtin

SETTINGS = settings(max_examples=30, deadline=None)
LETTERS = st.text(st.sampled_from("ab c\n🎉é"), max_size=12)


async def test_characters_words_lines_and_bytes_are_counted(builtin: Builtin) -> None:
    found = await builtin("count", text="one  two\r\ngrüße 🎉\n")
    assert found == {"characters": 18, "words": 4, "lines": 2, "bytes": 23}
    assert await builtin("count", text="") == {"characters": 0, "words": 0, "lines": 0, "bytes": 0}
    assert (await builtin("count", text="a\n\nb"))["lines"] == 3


@SETTINGS
@given(text=st.text(st.sampled_from("a b\n\r\u2028🎉é"), max_size=20))
async def test_counts_are_those_of_python(builtin: Builtin, text: str) -> None:
    found = await builtin("count", text=text)
    assert found["characters"] == len(text)
    assert found["words"] == len(text.split())
    assert found["bytes"] == len(text.encode())


async def test_a_text_is_split_into_lines_whatever_their_ends(builtin: Builtin) -> None:
    assert (await builtin("split", text="a\r\nb\rc\n\nd\n"))["parts"] == ["a", "b", "c", "", "d"]


async def test_a_separator_is_taken_as_it_is_written_unless_it_is_a_pattern(
    builtin: Builtin,
) -> None:
    assert (await builtin("split", text="a.b.c", separator="."))["parts"] == ["a", "b", "c"]
    found = await builtin("split", text="a1b22c", separator=r"(\d)+", regex=True)
    assert found["parts"] == ["a", "b", "c"]
    found = await builtin("split", text=" a, ,b,c ", separator=",", trim=True, skipEmpty=True)
    assert found["parts"] == ["a", "b", "c"]
    found = await builtin("split", text="k=v=w", separator="=", limit=2)
    assert found["parts"] == ["k", "v=w"]


@SETTINGS
@given(text=LETTERS, separator=st.text(st.sampled_from("ab 🎉"), min_size=1, max_size=2))
async def test_splitting_is_pythons(builtin: Builtin, text: str, separator: str) -> None:
    found = await builtin("split", text=text, separator=separator)
    assert found["parts"] == text.split(separator)


async def test_plain_text_is_replaced_as_it_is_written(builtin: Builtin) -> None:
    found = await builtin("replace", text="a.b.c", find=".", replacement="$&")
    assert found == {"text": "a$&b$&c", "count": 2}
    found = await builtin("replace", text="aXx", find="x", replacement="", ignoreCase=True)
    assert found == {"text": "a", "count": 2}
    found = await builtin("replace", text="aaa", find="a", replacement="b", firstOnly=True)
    assert found == {"text": "baa", "count": 1}


async def test_a_pattern_is_replaced_with_its_groups(builtin: Builtin) -> None:
    found = await builtin(
        "replace", text="2026-11-18", find=r"(?<y>\d+)-(\d+)-(\d+)", replacement="$3.$2.$<y>",
        regex=True,
    )  # fmt: skip
    assert found == {"text": "18.11.2026", "count": 1}


@SETTINGS
@given(text=LETTERS, old=st.text(st.sampled_from("ab 🎉"), min_size=1, max_size=2), new=LETTERS)
async def test_replacing_is_pythons(builtin: Builtin, text: str, old: str, new: str) -> None:
    found = await builtin("replace", text=text, find=old, replacement=new)
    assert found == {"text": text.replace(old, new), "count": text.count(old)}


async def test_matches_come_with_groups_and_places(builtin: Builtin) -> None:
    text = "x=1\n🎉y=22\n"
    found = await builtin("extract", text=text, pattern=r"(?<name>\w)=(\d)(\d)?")
    assert found["truncated"] is False
    assert found["matches"][1] == {
        "text": "y=22", "start": 6, "end": 10, "line": 2, "column": 3,
        "groups": ["y", "2", "2"], "named": {"name": "y"},
    }  # fmt: skip
    assert found["matches"][0]["groups"] == ["x", "1", None]


async def test_flags_change_what_fits_and_results_have_a_limit(builtin: Builtin) -> None:
    found = await builtin("extract", text="A\na\n", pattern="^a$", ignoreCase=True, multiline=True)
    assert [match["line"] for match in found["matches"]] == [1, 2]
    found = await builtin("extract", text="a\nb", pattern="a.b", dotAll=True)
    assert len(found["matches"]) == 1
    found = await builtin("extract", text="aaa", pattern="a", maxResults=2)
    assert (len(found["matches"]), found["truncated"]) == (2, True)


async def test_what_is_no_pattern_is_told(builtin: Builtin) -> None:
    words = await builtin.refused("extract", text="a", pattern="(a")
    assert words.startswith("Not a regular expression: ")
    assert words.endswith("(a")
    assert "at least 1 characters" in await builtin.refused("split", text="a", separator="")


async def test_an_exploding_pattern_ends_with_the_cpu_limit(
    builtin: Builtin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: an expression that takes years keeps a core of the user's machine busy."""
    monkeypatch.setattr("pml.backends.std.backend.MOST_CPU_SECONDS", 0.3)
    words = await builtin.refused("extract", text="a" * 60 + "b", pattern="(a+)+$")
    assert "computed for more than 0.3 s" in words


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("upper", "PARSEHTTPURL2 DÉJÀ-VU. IT'S"), ("lower", "parsehttpurl2 déjà-vu. it's"),
        ("title", "Parsehttpurl2 Déjà-Vu. It's"), ("sentence", "Parsehttpurl2 déjà-vu. It's"),
        ("camel", "parseHttpUrl2DéjàVuItS"), ("pascal", "ParseHttpUrl2DéjàVuItS"),
        ("snake", "parse_http_url2_déjà_vu_it_s"), ("kebab", "parse-http-url2-déjà-vu-it-s"),
        ("constant", "PARSE_HTTP_URL2_DÉJÀ_VU_IT_S"), ("slug", "parsehttpurl2-deja-vu-its"),
    ],
)  # fmt: skip
async def test_each_case(builtin: Builtin, to: str, expected: str) -> None:
    found = await builtin("convert_case", text="parseHTTPUrl2 déjà-vu. it's", to=to)
    assert found["text"] == expected


async def test_a_slug_keeps_letters_that_have_no_plain_form(builtin: Builtin) -> None:
    found = await builtin("convert_case", text="Straße & Łódź: 東京!", to="slug")
    assert found["text"] == "strasse-lodz-東京"
    words = await builtin.refused("convert_case", text="a", to="constructor")
    assert "`to` must be one of upper, lower" in words


async def test_paragraphs_are_filled_and_long_words_stay_whole(builtin: Builtin) -> None:
    text = "aaa bbb\nccc ddd\n\n  eee incomprehensibilities"
    found = await builtin("wrap", text=text, width=9, indent="- ", hangingIndent="  ")
    assert found["text"] == "- aaa bbb\n  ccc ddd\n\n- eee\n  incomprehensibilities"


@SETTINGS
@given(text=st.text(st.sampled_from("ab \n🎉"), max_size=60), width=st.integers(1, 12))
async def test_no_line_with_two_words_is_wider(builtin: Builtin, text: str, width: int) -> None:
    filled = (await builtin("wrap", text=text, width=width))["text"]
    assert filled.split() == text.split()
    assert all(len(line) <= width for line in filled.split("\n") if " " in line)


async def test_a_template_is_filled(builtin: Builtin) -> None:
    values = {"user": {"name": "Ada"}, "items": ["x", 2], "none": None, "$&": "y"}
    template = "{{ user.name }}: {{items.1}} {{items}}{{none}} {{$&}}"
    found = await builtin("template", template=template, values=values)
    assert found == {"text": 'Ada: 2 ["x",2] y', "missing": []}


async def test_a_place_without_a_value_is_told_or_left(builtin: Builtin) -> None:
    call = {"template": "a{{x}}b{{__proto__.y}}c{{items.length}}", "values": {"items": []}}
    words = await builtin.refused("template", **call)
    assert words == "No value for {{x}}, {{__proto__.y}}, {{items.length}}"
    found = await builtin("template", **call, missing="empty")
    assert found == {"text": "abc", "missing": ["x", "__proto__.y", "items.length"]}
    assert (await builtin("template", **call, missing="keep"))["text"] == call["template"]


def levenshtein(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for above, left in enumerate(a):
        fresh = [above + 1]
        for at, right in enumerate(b):
            fresh.append(min(row[at] + (left != right), row[at + 1] + 1, fresh[at] + 1))
        row = fresh
    return row[-1]


@SETTINGS
@given(a=LETTERS, b=LETTERS)
async def test_the_distance_is_levenshteins(builtin: Builtin, a: str, b: str) -> None:
    found = await builtin("similarity", a=a, b=b)
    apart, longest = levenshtein(a, b), max(len(a), len(b))
    assert found["distance"] == apart
    assert found["similarity"] == pytest.approx(1 - apart / longest if longest else 1)


async def test_texts_too_long_to_compare_are_refused(builtin: Builtin) -> None:
    assert "`a` must have at most 3000 characters" in await builtin.refused(
        "similarity", a="x" * 3001, b=""
    )
    assert (await builtin("similarity", a="ADA", b="ada", ignoreCase=True))["distance"] == 0
