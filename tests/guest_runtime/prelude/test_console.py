"""The console shows values as Node and Deno do, and never throws into the program."""

from collections.abc import Awaitable, Callable

import pytest

from sandbox_host import Completed

Run = Callable[..., Awaitable[Completed]]

SHOWN = [
    ("'a', 1, 'b'", "a 1 b"),
    ("{a: 1, b: 'x', c: [1, {d: null}]}", "{ a: 1, b: 'x', c: [ 1, { d: null } ] }"),
    ("[undefined, -0, 1n, Symbol('q')]", "[ undefined, -0, 1n, Symbol(q) ]"),
    ("new Map([['a', {b: 1}]])", "Map(1) { 'a' => { b: 1 } }"),
    ("new Set([1, 'x'])", "Set(2) { 1, 'x' }"),
    ("new Date(0), new Date(NaN)", "1970-01-01T00:00:00.000Z Invalid Date"),
    ("/a/gi", "/a/gi"),
    ("new Uint8Array([1, 2])", "Uint8Array(2) [ 1, 2 ]"),
    ("new (class Foo { x = 1 })", "Foo { x: 1 }"),
    ("class Foo extends Map {}", "[class Foo extends Map]"),
    ("function f() {}, async () => {}", "[Function: f] [AsyncFunction (anonymous)]"),
    ("Object.create(null)", "[Object: null prototype] {}"),
    ("[1, , 3]", "[ 1, <1 empty item>, 3 ]"),
    ("[new Number(3), new String('s')]", "[ [Number: 3], [String: 's'] ]"),
    ("{'a-b': 1, [Symbol('s')]: 2}", "{ 'a-b': 1, [Symbol(s)]: 2 }"),
    ("[\"it's\", 'a\\nb', '\\x1b']", "[ \"it's\", 'a\\nb', '\\x1B' ]"),
    ("{a: {b: {c: {d: {}}}}}", "{ a: { b: { c: { d: [Object] } } } }"),
    ("{get a() { throw 1 }, set b(v) {}}", "{ a: [Getter], b: [Setter] }"),
    ("new URLSearchParams('a=1')", "URLSearchParams { a: '1' }"),
]


@pytest.mark.parametrize(("arguments", "text"), SHOWN)
async def test_values_are_shown_as_node_does(run: Run, arguments: str, text: str) -> None:
    outcome = await run(f"console.log({arguments})")
    assert [log.text for log in outcome.logs] == [text]


FORMATS = [
    ("'%s is %d, %i, %f', 'x', 4.5, 4.5, '1.5'", "x is 4.5, 4, 1.5"),
    ("'%j %o %O', {a: 1}, [1], {b: 2}", '{"a":1} [ 1 ] { b: 2 }'),
    ("'%c%%', 'color: red', 'rest'", "% rest"),
    ("'%s %s', 'a'", "a %s"),
    ("'100%'", "100%"),
    ("'%d', {}", "NaN"),
]


@pytest.mark.parametrize(("arguments", "text"), FORMATS)
async def test_format_directives(run: Run, arguments: str, text: str) -> None:
    outcome = await run(f"console.log({arguments})")
    assert outcome.logs[0].text == text


async def test_cycles_and_long_lists_end(run: Run) -> None:
    outcome = await run(
        """
        const a = {}; a.self = a; console.log(a);
        console.log(Array.from({length: 101}, (_, i) => i));
        console.log({s: 'x'.repeat(10_001)});
        """
    )
    cycle, items, long = (log.text for log in outcome.logs)
    assert cycle == "{ self: [Circular] }"
    assert items.endswith("99, ... 1 more item\n]")
    assert long.endswith("x'... 1 more characters\n}")


async def test_an_error_is_shown_with_stack_cause_and_properties(run: Run) -> None:
    outcome = await run(
        "console.error(Object.assign(new TypeError('no', {cause: new Error('why')}), {code: 7}))"
    )
    log = outcome.logs[0]
    assert log.level == "error"
    assert log.text.startswith("TypeError: no\n    at ")
    assert "[cause]: Error: why" in log.text
    assert "code: 7" in log.text


HOSTILE = [
    "new Proxy({}, {ownKeys() { throw 1 }, getPrototypeOf() { throw 1 }})",
    "(() => { const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy })()",
    "{toString() { throw 1 }, get [Symbol.toStringTag]() { throw 1 }}",
    "Object.defineProperty(new Error('x'), 'stack', {get() { throw 1 }})",
    "Object.defineProperty(new Error('x'), 'message', {get() { throw 1 }})",
]


@pytest.mark.parametrize("value", HOSTILE)
async def test_a_value_that_fights_back_costs_no_more_than_its_line(run: Run, value: str) -> None:
    outcome = await run(f"const v = {value}; console.log(v); console.log('%s %j', v, v); 'alive'")
    assert outcome.value == "alive"
    assert len(outcome.logs) == 2


async def test_broken_built_ins_do_not_reach_the_program(run: Run) -> None:
    outcome = await run(
        """
        Array.prototype.push = Array.prototype.join = String.prototype.replace = () => { throw 1 };
        console.log({a: [1]}); console.table([1]); 'alive'
        """
    )
    assert outcome.value == "alive"


async def test_levels(run: Run) -> None:
    outcome = await run("for (const m of ['debug', 'log', 'info', 'warn', 'error']) console[m](m)")
    assert [(log.level, log.text) for log in outcome.logs] == [
        (level, level) for level in ("debug", "log", "info", "warn", "error")
    ]


async def test_groups_indent_every_line(run: Run) -> None:
    outcome = await run(
        "console.group('G'); console.log('a\\nb'); console.groupEnd(); console.log('c')"
    )
    assert [log.text for log in outcome.logs] == ["G", "  a\n  b", "c"]


async def test_counts_and_assertions(run: Run) -> None:
    outcome = await run(
        "console.count(); console.count(); console.countReset(); console.count('x');"
        "console.assert(true, 'no'); console.assert(false, 'a %s', 'b')"
    )
    assert [log.text for log in outcome.logs] == [
        "default: 1", "default: 2", "x: 1", "Assertion failed: a b",
    ]  # fmt: skip


async def test_timers_name_their_label(run: Run) -> None:
    outcome = await run("console.time('t'); console.timeEnd('t'); console.timeEnd('t')")
    assert outcome.logs[0].text.startswith("t: ")
    assert outcome.logs[0].text.endswith("ms")
    assert outcome.logs[1].text == "Timer 't' does not exist"


async def test_a_table_has_a_row_per_item(run: Run) -> None:
    outcome = await run("console.table([{a: 1}, {b: 'x'}])")
    lines = outcome.logs[0].text.splitlines()
    assert lines[1] == "│ (index) │ a │ b   │"
    assert lines[4] == "│ 1       │   │ 'x' │"


async def test_a_trace_starts_in_the_program(run: Run) -> None:
    outcome = await run("function here() { console.trace('%d', 1) } here()")
    first, frame = outcome.logs[0].text.splitlines()[:2]
    assert first == "Trace: 1"
    assert "at here (" in frame


async def test_wide_and_deep_values_are_cut(run: Run) -> None:
    outcome = await run(
        """
        const wide = {};
        for (let i = 0; i < 300; i++) {
          wide[i] = {};
          for (let j = 0; j < 300; j++) wide[i][j] = {};
        }
        console.log(wide);
        """
    )
    assert len(outcome.logs[0].text) < 200_000
