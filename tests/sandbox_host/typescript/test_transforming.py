"""Syntax with a meaning of its own, run after it was transformed."""

import json
import re
from typing import Any

import pytest
import quickjs

from sandbox_host.typescript import Eraser


def run(body: str) -> Any:
    """What the body of an async function returns, in a list, or what it throws, as text."""
    context = quickjs.Context()
    context.eval(
        "globalThis.outcome = null;"
        f"(async () => {{\n{body}\n}})()"
        ".then(v => outcome = JSON.stringify([v]), e => outcome = JSON.stringify(e + e.stack))"
    )
    while context.execute_pending_job():
        pass
    return json.loads(context.get("outcome"))


BEHAVIOUR = [
    ("enum A { B, C = 'q', D = 5, E }\nreturn [A.B, A[0], A.C, A.E]", [0, "B", "q", 6]),
    ("enum A { B = 1 << 2, C = B | 1 }\nreturn A.C", 5),
    ("const enum A { B = 3 }\nreturn A.B", 3),
    ("enum A { B } enum A { C = 2 }\nreturn [A.B, A.C]", [0, 2]),
    ("if (true) { enum A { B = 7 } return A.B }", 7),
    ("namespace N { export const a = 1; export const b = a + 1 }\nreturn N.b", 2),
    ("namespace N.M { export function f() { return 4 } }\nreturn N.M.f()", 4),
    ("function f() { return 1 } namespace f { export const a = 2 }\nreturn [f(), f.a]", [1, 2]),
    ("namespace N { export let a = 1; export function up() { a++ } }\nN.up(); return N.a", 2),
    ("class P { constructor(private a: number, readonly b = 2) {} }\nreturn {...new P(1)}",
     {"a": 1, "b": 2}),
    ("class B { constructor(public n = 7) {} } class C extends B { z = this.n }\nreturn new C().z",
     7),
    ("const a = 1; class P { x = a; constructor(public a: number) {} }\nreturn new P(5).x", 1),
    ("const x = <any>await Promise.resolve(3); return <number>x", 3),
    ("enum A { B }\nlet s = `\n  ${A.B}\n`; return s", "\n  0\n"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "value"), BEHAVIOUR)
def test_transformed_code_does_what_typescript_means(
    eraser: Eraser, source: str, value: object
) -> None:
    assert run(eraser.erase(source).code) == [value]


def test_an_enum_has_no_value_before_its_line(eraser: Eraser) -> None:
    assert run(eraser.erase("return A.B\nenum A { B }").code).startswith("ReferenceError")


def test_imports_that_look_unused_stay_and_types_go(eraser: Eraser) -> None:
    source = (
        "import { a } from 'a'; import { B } from 'b'; import 'c'; import type { D } from 'd';\n"
        "export enum E { X }\nexport { f } from 'f'; let b: B;"
    )

    code = eraser.erase(source).code

    assert re.findall(r"from '(\w)'|import '(\w)'", code.replace('"', "'")) == [
        ("a", ""), ("b", ""), ("", "c"), ("f", ""),
    ]  # fmt: skip
    assert "export var E" in code
    assert "export { }" not in code


def test_an_enum_member_is_looked_up_where_it_is_used(eraser: Eraser) -> None:
    assert "f(A.B)" in eraser.erase("enum A { B }\nf(A.B)").code


@pytest.mark.parametrize("ending", ["", "\nreturn 1"])
def test_the_place_of_an_error_leads_back_to_the_source(eraser: Eraser, ending: str) -> None:
    source = 'enum A { B }\n\n\nconst f = () => {\n    fail("漢😀", A.B) };  f()' + ending
    erased = eraser.erase(source)

    places = re.findall(r"<input>:(\d+):(\d+)", run(erased.code))
    inner, outer = [erased.original(int(line) - 1, int(column)) for line, column in places[:2]]

    assert inner == (5, 5)
    assert outer == (5, source.split("\n")[4].index("f()") + 1)


@pytest.mark.parametrize("ending", ["", "; return 1"])
def test_columns_count_code_points_on_both_sides(eraser: Eraser, ending: str) -> None:
    source = '"😀漢"; enum A { B } const é = "😀😀", other = 1' + ending
    erased = eraser.erase(source)
    lines = erased.code.split("\n")
    line = next(number for number, text in enumerate(lines, 1) if "other" in text)

    place = erased.original(line, lines[line - 1].index("other") + 1)

    assert place == (1, source.index("other") + 1)


def test_a_place_outside_the_code_leads_somewhere_in_the_source(eraser: Eraser) -> None:
    erased = eraser.erase("enum A { B }\nf()")

    for place in [(0, 0), (1, 1), (1, 10_000), (10_000, 1), (-5, -5)]:
        line, column = erased.original(*place)
        assert line in {1, 2}
        assert 1 <= column <= 13


@pytest.mark.parametrize("source", ["import a = require('a')", "export = 1"])
def test_commonjs_is_refused(eraser: Eraser, source: str) -> None:
    with pytest.raises(Exception, match="cannot be used when targeting ECMAScript modules"):
        eraser.erase(source)
