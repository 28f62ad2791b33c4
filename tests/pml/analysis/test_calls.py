"""Which tools a program names, however it names them, and which only look as if."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.analysis import Expression, Place, Problem, analyse


def tools(code: str) -> list[str]:
    found = analyse(code)
    assert found.problem is None, found.problem
    return [call.tool for call in found.calls]


@pytest.mark.parametrize(
    "code",
    [
        "mcp.fs.read({})",
        "await mcp.fs.read({})",
        "return mcp.fs.read()",
        "mcp.fs['read']({})",
        "mcp['fs']['read']({})",
        "mcp[`fs`].read({})",
        "mcp[('fs')].read({})",
        "mcp.fs\n  .read({})",
        "(mcp).fs.read({})",
        "(mcp.fs).read({})",
        "(mcp.fs.read)({})",
        "await (mcp).fs.read({})",  # the grammar takes `await` for a function here
        "await ((mcp)).fs.read({})",
        "await (0, mcp).fs.read({})",
        "await (await mcp.fs).read({})",
        "mcp?.fs?.read?.({})",
        "mcp?.['fs']?.['read']({})",
        "globalThis.mcp.fs.read({})",
        "globalThis['mcp'].fs.read({})",
        "globalThis.globalThis.mcp.fs.read({})",
        "this.mcp.fs.read({})",
        "const f = () => this.mcp.fs.read({})",
        "const g = globalThis; g.mcp.fs.read({})",
        r"\u006dcp.fs.r\u{65}ad({})",
        r"mcp['\x66s']['\u0072ead']({})",
        "const m = mcp; m.fs.read({})",
        "const fs = mcp.fs; fs.read({})",
        "const read = mcp.fs.read; read({})",
        "let fs; fs = mcp.fs; fs.read({})",
        "const a = mcp, b = a.fs, c = b.read; c({})",
        "const {fs} = mcp; fs.read({})",
        "const {fs: files} = mcp; files.read({})",
        "const {fs: {read}} = mcp; read({})",
        "const {'fs': {read: get}} = mcp; get({})",
        "const {['fs']: f} = mcp; f.read({})",
        "const {read = other} = mcp.fs; read({})",
        "const {fs = null} = mcp; fs.read({})",
        "let fs; ({fs} = mcp); fs.read({})",
        "const {mcp: m} = globalThis; m.fs.read({})",
        "function f(fs = mcp.fs) { return fs.read({}) }",
        "const fs = x ?? mcp.fs; fs.read({})",
        "const fs = on && mcp.fs; fs.read({})",
        "let fs; fs ||= mcp.fs; fs.read({})",
        "(fs = mcp.fs).read({}); var fs",
        "mcp.fs.read.call(null, {})",
        "mcp.fs.read.apply(null, [{}])",
        "const read = mcp.fs.read.bind(null); read({})",
        "files.map(mcp.fs.read)",
        "run({read: mcp.fs.read})",
        "`${await mcp.fs.read({})}`",
        "class A { m = mcp.fs.read({}) }",
        "export async function f() { return mcp.fs.read({}) }",
        "label: for (;;) { mcp.fs.read({}); break label }",
        "tag`${mcp.fs.read({})}`",
        "let fs = mcp.fs; function f() { return fs.read({}) }",
        "function f() { return fs.read({}) } const fs = mcp.fs; f()",
    ],
)
def test_a_call_is_found(code: str) -> None:
    found = analyse(code)
    assert found.tools == ("fs:read",)
    assert found.dynamic == ()
    assert found.problem is None


@pytest.mark.parametrize(
    "code",
    [
        "'mcp.fs.read({})'",
        "`mcp.fs.read({})`",
        "/mcp.fs.read()/",
        "// mcp.fs.read({})",
        "/* mcp.fs.read({}) */ 1",
        "other.mcp.fs.read({})",
        "function f() { this.mcp.fs.read({}) }",
        "class A { mcp = 1; m() { return () => this.mcp.fs.read({}) } x = this.mcp.fs.read({}) }",
        "({mcp: 1}).mcp.fs.read({})",
        "const mcp = other; mcp.fs.read({})",
        "var mcp; mcp.fs.read({})",
        "mcp.fs.read({}); var mcp",
        "{ let mcp = other; mcp.fs.read({}) }",
        "function f(mcp) { mcp.fs.read({}) }",
        "((mcp) => mcp.fs.read({}))(other)",
        "async mcp => mcp.fs.read({})",
        "function f({mcp}) { mcp.fs.read({}) }",
        "function f([mcp], ...rest) { mcp.fs.read({}) }",
        "try { x() } catch (mcp) { mcp.fs.read({}) }",
        "for (const mcp of list) mcp.fs.read({})",
        "for (let mcp = 0; ;) mcp.fs.read({})",
        "import mcp from 'x'; mcp.fs.read({})",
        "import {a as mcp} from 'x'; mcp.fs.read({})",
        "import * as mcp from 'x'; mcp.fs.read({})",
        "class mcp { static fs = 1 } mcp.fs.read({})",
        "function mcp() {} mcp.fs.read({})",
        "(function mcp() { mcp.fs.read({}) })",
        "const fs = mcp.fs; function f(fs) { fs.read({}) }",
        "const fs = mcp.fs; { const fs = other; fs.read({}) }",
        "const fs = mcp.fs; list.map(({fs}) => fs.read({}))",
        "{ const fs = mcp.fs } fs.read({})",
        "let fs = mcp.fs; fs = other; fs.read({})",
        "const {...rest} = mcp; rest.read({})",
        "mcp.fs()",
        "mcp()",
        "mcp.fs.read",
        "mcp.fs.read.name.trim()",
        "typeof mcp; if (mcp.fs && mcp) x(); mcp === 1; 'a' in mcp; !mcp",
        "globalThis.other.fs.read({}); globalThis.x = 1",
        "x.then(mcp => mcp.a.b())",
        "label: mcp; break_mcp.a.b()",
        "({mcp() { return 1 }, set x(mcp) { mcp.a.b() }})",
        "evaluate('x'); const eval2 = 1; obj.eval('x')",
    ],
)
def test_what_only_looks_like_a_call_is_none(code: str) -> None:
    found = analyse(code)
    assert (found.calls, found.dynamic, found.problem) == ((), (), None)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("let s = mcp.a; s.x(); s = mcp.b; s.x()", ["a:x", "b:x"]),
        ("let s = mcp.a; if (q) s = mcp.b; s.x()", ["a:x", "b:x"]),
        ("let s = mcp.a; if (q) s = other; s.x()", ["a:x"]),
        ("let s = mcp.a; while (q) { s.x(); s = mcp.b }", ["a:x", "b:x"]),
        ("let s; try { s = mcp.a } catch { s = mcp.b } s.x()", ["a:x", "b:x"]),
        ("let s = mcp.a; const f = () => s.x(); s = mcp.b", ["a:x", "b:x"]),
        ("const s = q ? mcp.a : mcp.b; s.x()", ["a:x", "b:x"]),
        ("(q ? mcp.a : mcp.b).x()", ["a:x", "b:x"]),
        ("mcp.a[q ? 'x' : 'y']()", ["a:x", "a:y"]),
        ("switch (q) { case 1: mcp.a.x(); default: mcp.b.x() }", ["a:x", "b:x"]),
    ],
)
def test_a_name_with_several_values_gives_all_that_it_may_be(
    code: str, expected: list[str]
) -> None:
    assert sorted(tools(code)) == expected


def test_tools_named_like_methods_are_tools() -> None:
    # the original took `mcp.db.find` for an array method and never saw it
    names = ["find", "map", "filter", "join", "then", "catch", "all", "forEach", "call", "apply"]
    assert tools(";".join(f"mcp.db.{name}({{}})" for name in names)) == [
        f"db:{name}" for name in names
    ]


def test_a_function_that_is_never_called_is_listed_all_the_same() -> None:
    assert tools("async function never() { await mcp.a.b() } const x = () => mcp.c.d()") == [
        "a:b", "c:d",
    ]  # fmt: skip


def test_calls_inside_arguments_and_results_are_found_in_order() -> None:
    assert tools("(await mcp.a.b({x: await mcp.c.d()})).map(x => mcp.e.f(x))") == [
        "a:b", "c:d", "e:f",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "reason", "server"),
    [
        ("mcp[name].read()", "computed", None),
        ("mcp[a + b][c]()", "computed", None),
        ("mcp.fs[name]()", "computed", "fs"),
        ("const {[name]: t} = mcp.fs; t()", "computed", "fs"),
        ("const s = mcp[name]; s.read()", "computed", None),
        ("globalThis[name]", "computed", None),
        ("f(mcp)", "escapes", None),
        ("f(mcp.fs)", "escapes", "fs"),
        ("f({mcp})", "escapes", None),
        ("f([mcp])", "escapes", None),
        ("f(...mcp)", "escapes", None),
        ("x.y = mcp", "escapes", None),
        ("const [a] = mcp", "escapes", None),
        ("return mcp", "escapes", None),
        ("f(c ? mcp : 1)", "escapes", None),
        ("f(globalThis)", "escapes", None),
        ("f(this)", "escapes", None),
        ("this['m' + 'cp']", "computed", None),
        ("export default mcp", "escapes", None),
        ("new Thing(mcp)", "escapes", None),
        ("Object.keys(mcp.fs)", "escapes", "fs"),
        ("eval('mcp.a.b()')", "evaluates", None),
        ("new Function('return 1')()", "evaluates", None),
        ("Function('return 1')", "evaluates", None),
    ],
)
def test_what_cannot_be_known_is_told(code: str, reason: str, server: str | None) -> None:
    found = analyse(code)
    assert found.calls == ()
    [spot] = found.dynamic
    assert (spot.reason, spot.server) == (reason, server)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("{}", {}),
        ("{a: 1, 'b-c': [true, null, -2.5], \"d\": {e: `f`}}",
         {"a": 1, "b-c": [True, None, -2.5], "d": {"e": "f"}}),
        (r"{t: 'a\n\u{1F600}\uD83D\uDE00\x41\
b'}", {"t": "a\n😀😀Ab"}),
        ("{a: x, b: `${x}`}", {"a": Expression("x"), "b": Expression("`${x}`")}),
        ("{a: 0x10, b: 1_000, c: 1e3, d: 9n, e: undefined}",
         {"a": 16, "b": 1000, "c": 1000.0, "d": Expression("9n"), "e": Expression("undefined")}),
        ("{...x, [y]: 1, z}", {"...x": Expression("...x"), "[y]": 1, "z": Expression("z")}),
        ("args", Expression("args")),
        ("'text'", "text"),
        ("(({a: 1}))", {"a": 1}),
        ("1e999", Expression("1e999")),
    ],
)  # fmt: skip
def test_literal_arguments_are_read_and_the_rest_is_shown_as_written(
    written: str, value: object
) -> None:
    [call] = analyse(f"mcp.a.b({written})").calls
    assert call.arguments == (value,)


def test_arguments_that_others_give_are_not_known() -> None:
    assert [call.arguments for call in analyse("f(mcp.a.b); mcp.a.c.apply(x, y)").calls] == [
        None, None,
    ]  # fmt: skip


def test_places_count_lines_and_characters_from_one() -> None:
    code = "'é😀'; mcp.a.b();\n\n  mcp\n    .c['d']()"
    assert [call.place for call in analyse(code).calls] == [Place(1, 13), Place(4, 8)]


def test_places_are_those_of_the_source_as_written() -> None:
    found = analyse("mcp.a.b(mcp[x])", lambda line, column: (line + 10, column + 100))
    assert found.calls[0].place == Place(11, 107)
    assert found.dynamic[0].place == Place(11, 109)


def test_a_syntax_error_is_told_with_its_place_and_what_was_found_stays() -> None:
    found = analyse("mcp.a.b();\nlet = = 5;\nmcp.c.d()")
    assert set(found.tools) >= {"a:b"}
    assert found.problem is not None
    assert found.problem.place is not None
    assert found.problem.place.line == 2


def test_no_text_and_too_much_text_are_told() -> None:
    assert analyse("mcp.a.b('\ud800')").problem == Problem(
        "the source is no text: it was not looked at"
    )
    problem = analyse("mcp.a.b();" + " " * (1 << 20)).problem
    assert problem is not None
    assert "1 MiB" in problem.message


PIECES = st.sampled_from(
    ["mcp", ".a", ".b", "(", ")", "{", "}", "[", "]", "'", "`", "${", ";", "=>", "await ", "x",
     "const ", "let ", "=", ",", "...", "?", ":", "\n", "//", "/*", "\\", "\x00", "é", "for", "if",
     "else ", "function", "class ", "globalThis", "Promise.all", ".map", "import ", "1", "\u202e"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=80))
def test_no_source_makes_it_raise(code: str) -> None:
    found = analyse(code)
    assert all(call.place.line >= 1 for call in found.calls)
