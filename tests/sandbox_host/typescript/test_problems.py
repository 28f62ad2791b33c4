"""What is wrong with a source, and where."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox_host.typescript import Eraser, SyntaxProblem


def problem(eraser: Eraser, source: str) -> SyntaxProblem:
    with pytest.raises(SyntaxProblem) as caught:
        eraser.erase(source)
    return caught.value


PLACES = [
    ("let x: = 3", 1, 8, "Unexpected token `=`"),
    ("f()\n\tlet x: = 3", 2, 9, "Unexpected token `=`"),
    ("f()\r\n\r\nlet x: = 3", 3, 8, "Unexpected token `=`"),
    ("return 1; let x: = 3", 1, 18, "Unexpected token `=`"),
    ("return 1\nlet x: = 3", 2, 8, "Unexpected token `=`"),
    ("let \U0001d4b3 = '😀é漢\u0301'; let x: = 3", 1, 24, "Unexpected token `=`"),
    ("return '😀漢'; let x: = 3", 1, 21, "Unexpected token `=`"),
    ("enum A { B }\nlet x: = 3", 2, 8, "Unexpected token `=`"),
    ("f(", 1, 3, "Expression expected"),
    ("return (", 1, 9, "Expression expected"),
    ("return `abc", 1, 8, "Unterminated template"),
    ("import x from 'y'\nreturn 1", 2, 1, "Return statement is not allowed here"),
    ("class A { constructor(private { b }) {} }", 1, 31, "parameter property"),
]


@pytest.mark.parametrize(("source", "line", "column", "message"), PLACES)
def test_a_problem_names_its_place(
    eraser: Eraser, source: str, line: int, column: int, message: str
) -> None:
    found = problem(eraser, source)

    assert (found.line, found.column) == (line, column)
    assert message in found.message
    assert found.source_line == source.split("\n")[line - 1].removesuffix("\r")


# The attack: a body that closes the function it is read in, and opens another.
ESCAPES = [
    "}{",
    "}\n{",
    "return 1\n}\n{",
    "return 1 }; async () => { return 2",
    "return 1 } catch {} try {",
    "return 1 } catch {} } async () => { try {",
    "return 1 } finally {} try {",
    "return 1 } catch { try {",
    "return 1 } catch {} } async () => { x: try {",
    "return 1\n}) (() => {",
    "return 1 /*",
    "return 1; `",
    "return 1; if (x)",
    "return 1; x = 1 +",
    "return 1; label:",
    "return 1; break",
    "return 1; continue",
    "return 1; if (x) { break }",
    "#!/bin/sh\nreturn 1",
]


@pytest.mark.parametrize("source", ESCAPES)
def test_a_body_cannot_close_what_is_around_it(eraser: Eraser, source: str) -> None:
    found = problem(eraser, source)

    assert 1 <= found.line <= source.count("\n") + 1
    assert 1 <= found.column <= len(source) + 1


PIECES = ["{", "}", "(", ")", ";", ",", "\n", "try", "catch", "finally", "async", "=>", "return "]
PIECES += [
    "x",
    "x:",
    "break ",
    "if(x)",
    "else ",
    "do ",
    "while(x)",
    "function f()",
    "class A",
    "//",
]


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
def test_what_is_accepted_as_a_body_is_a_body_anywhere(eraser: Eraser, source: str) -> None:
    """A source that got out of one function would break another one."""
    try:
        eraser.erase("return 0;" + source)
    except SyntaxProblem:
        return
    eraser.erase(f"({{ async method() {{{source}\n}} }})")


@pytest.mark.parametrize(
    "source",
    [
        "return <div/>",
        "const x = <Foo a='b'>hi</Foo>",
        "const x = <></>",
        "const x = (\n  <div>\n    <b>hi</b>\n  </div>\n)",
    ],
)
def test_jsx_is_refused_by_name(eraser: Eraser, source: str) -> None:
    assert problem(eraser, source).message.startswith("JSX is not supported")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("let x\nlet y = '\0'", "a NUL character in the source"),
        ("let x\nlet y = '\ud800'", "half of a surrogate pair in the source"),
    ],
)
def test_what_cannot_be_encoded_is_a_problem_with_a_place(
    eraser: Eraser, source: str, message: str
) -> None:
    found = problem(eraser, source)

    assert (found.message, found.line, found.column) == (message, 2, 10)
    assert found.source_line.isprintable()


def test_texts_are_capped_and_escaped(eraser: Eraser) -> None:
    found = problem(eraser, "'\u202e\x1b' let x: = " + "y" * 10_000)

    assert len(found.message) <= 300
    assert found.source_line.startswith("'\\u{202e}\\u{1b}'")
    assert len(found.source_line) <= 200 + 2 * len("\\u{202e}")
