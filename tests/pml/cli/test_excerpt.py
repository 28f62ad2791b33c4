from hypothesis import given
from hypothesis import strategies as st

from pml.cli.excerpt import excerpt


def test_the_caret_stands_under_the_place() -> None:
    assert excerpt("a.ts", "one\ntwo three\n", 2, 5) == "  --> a.ts:2:5\n2 | two three\n  |     ^"


def test_without_a_place_there_is_nothing() -> None:
    assert excerpt("a.ts", "one", None, None) == ""


def test_a_line_that_is_not_there_is_only_named() -> None:
    assert excerpt("a.ts", "one", 7, 3) == "  --> a.ts:7:3"


def test_tabs_wide_characters_and_escapes_move_the_caret() -> None:
    shown = excerpt("a.ts", "\t日本\x1b!", 1, 5).splitlines()
    assert shown[1:] == ["1 |   日本\\u{1b}!", "  | " + " " * 12 + "^"]


def test_a_long_line_is_cut_around_the_place() -> None:
    place, line, caret = excerpt("a.ts", "x" * 500 + "!" + "y" * 500, 1, 501).splitlines()
    assert place == "  --> a.ts:1:501"
    assert line.startswith("1 | …xxx")
    assert line.endswith("yyy…")
    assert line[len(caret) - 1] == "!"


def test_a_carriage_return_is_not_shown() -> None:
    assert excerpt("a.ts", "one\r\ntwo\r\n", 1, 1) == "  --> a.ts:1:1\n1 | one\n  | ^"


@given(st.text(), st.text(), st.integers(-5, 50) | st.none(), st.integers(-5, 5000) | st.none())
def test_any_place_in_any_source_gives_printable_lines(
    name: str, source: str, line: int | None, column: int | None
) -> None:
    for shown in excerpt(name, source, line, column).split("\n"):
        assert shown.isprintable() or "\n" in name or "\t" in name
