"""Types go, places stay."""

import pytest

from sandbox_host.typescript import Eraser

# Source and code, one above the other.
PAIRS = [
    ("let x: number = 1", "let x         = 1"),
    ("return x as string", "return x          "),
    ("const a = b!.c satisfies D", "const a = b .c            "),
    ("type X = { a: 1;\n b: 2 }\nf()", "                \n       \nf()"),
    ("interface I<T> {}\nf()", "                 \nf()"),
    ("import type { A } from 'a'\nf()", "                          \nf()"),
    ("import { type A, b } from 'a'", "import {         b } from 'a'"),
    ("export const f = <T,>(a: T): T => a", "export const f =     (a   )    => a"),
    ("function f(this: X, a?: number) {}", "function f(         a         ) {}"),
    ("function f(a: 1): 1\nfunction f(a) {}", "                   \nfunction f(a) {}"),
    ("class A<T> implements B { private x!: T }", "class A                 {         x     }"),
    ("abstract class A { abstract m(): void }", "         class A {                    }"),
    ("declare const x: number; f()", "                         f()"),
    ("let x: any\r\nlet y: any\r\n", "let x     \r\nlet y     \r\n"),
    ("#!/usr/bin/env node\nlet x: any", "#!/usr/bin/env node\nlet x     "),
    ("\ufefflet x: any", " let x     "),
    ("f<T>(x)", "f   (x)"),
    ("const x: 'é漢' = y", "const x       = y"),
    ("const x: '😀' = y", "const x      = y"),
    ("for await (const x of y as Z) {}", "for await (const x of y     ) {}"),
    ("x = (y as any)\n(z)", "x = (y       )\n(z)"),
    ("let x = y as any\n(z)", "let x = y ;     \n(z)"),
    ("", ""),
    ("// a comment", "// a comment"),
    ("return 1 // a comment", "return 1 // a comment"),
]


@pytest.mark.parametrize(("source", "code"), PAIRS)
def test_types_are_blanked_and_everything_else_stays_in_place(
    eraser: Eraser, source: str, code: str
) -> None:
    erased = eraser.erase(source)

    assert erased.code == code
    assert len(erased.code) == len(source)
    assert erased.original(3, 7) == (3, 7)


# swc erases the `;`, or writes none, and a statement would run on into the next.
RUN_ON = [
    ("f()\ntype X = 'a'\n\n;['A'].map(g)", "f()\n            \n\n;['A'].map(g)"),
    ("f()\ntype X = 'a'\n; /* c */ (g)", "f()\n            \n; /* c */ (g)"),
    ("f()\ninterface X {}\n['A'].map(g)", "f()\n;             \n['A'].map(g)"),
    (
        "class A { e = 5\n declare f: string\n ['g'] = 6 }",
        "class A { e = 5\n       ;          \n ['g'] = 6 }",
    ),
    (
        "class A { e = 5\n declare f: string;\n ['g'] = 6 }",
        "class A { e = 5\n       ;          ;\n ['g'] = 6 }",
    ),
    (
        "class A { e = 5\n private declare f: string\n *g() {} }",
        "class A { e = 5\n               ;          \n *g() {} }",
    ),
    (
        "abstract class A { e = 5\n abstract f(): void\n ['g'] = 6 }",
        "         class A { e = 5\n        ;          \n ['g'] = 6 }",
    ),
    ("class A { e\n declare f: string\n in = 6 }", "class A { e\n       ;          \n in = 6 }"),
]


@pytest.mark.parametrize(("source", "code"), RUN_ON)
def test_a_statement_does_not_run_on_into_the_next(eraser: Eraser, source: str, code: str) -> None:
    assert eraser.erase(source).code == code


@pytest.mark.parametrize(
    "source",
    [
        "class A { e = 5\n declare f: string\n g = 6 }",
        "let x:\n abstract new () => T\n",
        "const declare = 1\ndeclare\n[1]",
        "const s = ';['; type X = { a: 1; [k: string]: 1 }",
        "f(';'); // ;[\n",
    ],
)
def test_no_semicolon_is_added_where_none_is_needed(eraser: Eraser, source: str) -> None:
    assert eraser.erase(source).code.count(";") <= source.count(";")


def test_await_and_return_are_allowed_together(eraser: Eraser) -> None:
    source = "const x: number = await f()\nif (x) { return x as any }\nreturn 2"

    assert eraser.erase(source).code == (
        "const x         = await f()\nif (x) { return x        }\nreturn 2"
    )


def test_a_return_inside_a_function_leaves_a_module_a_module(eraser: Eraser) -> None:
    source = "export function f(): number { return 1 }"

    assert eraser.erase(source).code == "export function f()         { return 1 }"
