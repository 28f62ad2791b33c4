"""The short cut around the eraser: a no must be a sure no."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sandbox_host.typescript import Eraser, EraserError, needs_erasing

PLAIN = [
    "1+1",
    "return 1+1",
    "return await mcp.files.read('a.txt')",
    "a != b && c !== d",
    "a?.b ?? c?.[0]",
    "for (const x of y) f(x)",
    "const asset = typeOf(classes); return asset",
    "",
]

TYPED = [
    "x as T", "x satisfies T", "x!", "let x!: T", "f<T>()", "<T>x", "(a?) => a", "let x: T",
    "type X = 1", "interface I {}", "enum E {}", "namespace N {}", "module M {}", "declare let x",
    "abstract class A {}", "class A { private x }", "class A { readonly x }",
    "class A { override m() {} }", "class A implements B {}", "class A { m(); m() {} }",
    "import type A from 'a'", "import a = b.c", "export = a", "export as namespace a",
    "export type { A }", "function f(a)\nfunction f(a) {}", "function f(this) {}",
    "({ m(this) {} })", "x /**/as/**/ T", "1as T", "\\u0061s", "\ufeff1", "'\0'", "'\ud800'", "}",
]  # fmt: skip

PIECES = [
    *"()[]{}.,;=+-*/%&|^~`'\"#@ \n\t",
    *[
        "=>",
        "?.",
        "??",
        "!=",
        "!==",
        "=== ",
        "**",
        "++",
        "--",
        "&&=",
        "...",
        "${",
        "//",
        "/*",
        "*/",
    ],
    *[
        "a",
        "b",
        "$",
        "_as",
        "as",
        "type",
        "x1",
        "1",
        "2n",
        ".5",
        "0x1f",
        "é",
        "漢",
        "😀",
        "\u2028",
    ],
    *["async ", "await ", "return ", "const ", "let ", "var ", "for", "if", "else ", "of ", "in "],
    *[
        "new ",
        "typeof ",
        "yield ",
        "using ",
        "get ",
        "set ",
        "is ",
        "asserts ",
        "keyof ",
        "infer ",
    ],
    *["unique ", "out ", "defer ", "throw ", "try", "catch", "do ", "while", "void ", "delete "],
]


@pytest.mark.parametrize("source", PLAIN)
def test_plain_javascript_skips_the_eraser(eraser: Eraser, source: str) -> None:
    assert not needs_erasing(source)
    assert eraser.erase(source).code == source


@pytest.mark.parametrize("source", TYPED)
def test_whatever_only_typescript_has_needs_the_eraser(source: str) -> None:
    assert needs_erasing(source)


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_a_source_that_skips_the_eraser_would_leave_it_unchanged(
    eraser: Eraser, source: str
) -> None:
    assume(not needs_erasing(source))
    try:
        code = eraser.erase(source).code
    except EraserError:
        return
    assert code == source
