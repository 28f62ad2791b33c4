"""Attack: recursion in every place where the engine recurses with it, to overflow the native stack."""

import pytest

from sandbox_host import Limits

LIMITS = Limits(cpu_seconds=0.7, wall_seconds=20)
NAMES = {
    "uncaught_error",
    "stack_limit",
    "memory_limit",
    "syntax_error",
    "result_not_json",
    "cpu_limit",
}


@pytest.mark.parametrize(
    "code",
    [
        "const f = () => f() + 1; f()",
        "const f = () => { try { f() } catch { f() } }; f()",
        "const f = () => { try { f() } finally { f() } }; f()",
        "const o = { get x() { return this.x } }; o.x",
        "const o = { toString() { return `${this}` } }; `${o}`",
        "const o = { toJSON() { return JSON.stringify(this) } }; return o",
        "const p = new Proxy({}, { get(t, k, r) { return r[k] } }); p.x",
        "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x",
        "let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null); f()",
        "let o = {}; for (let i = 0; i < 1e5; i++) o = Object.create(o); return o.x === undefined",
        "const f = () => [1].map(f); f()",
        "const f = () => 'a'.replace(/a/, f); f()",
        "const f = () => [2, 1].sort(f); f()",
        "const f = () => Reflect.apply(f, null, []); f()",
        "const f = () => eval('f()'); f()",
        "const f = () => new Function('f', 'f(f)')(f); f()",
        "const f = () => JSON.parse('[1]', f); f()",
        "class A { constructor() { new A() } } new A()",
        "const f = function* () { yield* f() }; [...f()]",
        "const f = async () => await f(); await f()",
        "const a = []; a[0] = a; return a.flat(Infinity)",
        "const a = []; a[0] = a; return `${a}`.length",
        "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a.flat(Infinity).length",
        "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return `${a}`.length",
        "let a = []; for (let i = 0; i < 1e6; i++) a = [a]; a = null; return 1",
        "let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; structuredClone(a)",
        "let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; console.log(a)",
        "eval('('.repeat(1e5) + ')'.repeat(1e5))",
        "eval('['.repeat(1e5) + ']'.repeat(1e5))",
        "eval('{'.repeat(1e5) + '}'.repeat(1e5))",
        "eval('a=>'.repeat(1e5) + '1')",
        "eval('-'.repeat(1e5) + '1')",
        "eval('!'.repeat(1e5) + '1')",
        "eval('1' + '**1'.repeat(1e5))",
        "eval('1' + '+1'.repeat(1e5))",
        "eval('a' + '?.a'.repeat(1e5))",
        "eval('x?'.repeat(1e5) + '1' + ':1'.repeat(1e5))",
        "eval('`${'.repeat(1e5) + '1' + '}`'.repeat(1e5))",
        "eval('if(0)'.repeat(1e5) + ';')",
        "eval('new '.repeat(1e5) + 'Object')",
        "eval('function f(){'.repeat(1e4) + '}'.repeat(1e4))",
        "new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('')",
        "new RegExp('(?='.repeat(1e4) + ')'.repeat(1e4)).test('')",
        "JSON.parse('['.repeat(1e6))",
        "JSON.parse('['.repeat(1e5) + ']'.repeat(1e5))",
        "JSON.parse('{\"a\":'.repeat(1e5) + '1' + '}'.repeat(1e5))",
        "Error.prepareStackTrace = () => new Error().stack; new Error().stack",
        "let e = new Error('x'); for (let i = 0; i < 1e5; i++) e = new Error('x', { cause: e }); console.log(e)",
        "const f = () => { queueMicrotask(f); f() }; f()",
        "const f = () => { mcp.a.b({ get x() { return f() } }) }; f()",
        "const f = () => console.log(new Proxy({}, { ownKeys() { f(); return [] } })); f()",
        "const f = () => { throw { get message() { return f() } } }; f()",
    ],
)
async def test_recursion_ends_in_a_named_error_or_not_at_all(run, code):
    outcome = await run(code, limits=LIMITS)
    if hasattr(outcome, "error"):
        assert outcome.error.code in NAMES, outcome.error


@pytest.mark.parametrize(
    "opening", ["(", "[", "{a:", "-", "a=>", "f(", "`${", "async()=>", "x?x:", "!", "new "]
)
async def test_a_source_that_is_nothing_but_nesting_is_refused(run, opening):
    """As TypeScript too: the eraser parses before the guest does."""
    for code in (opening * 50_000, f"const x: number = 1; {opening * 50_000}"):
        outcome = await run(code, limits=LIMITS)
        assert outcome.error.code in NAMES | {"program_error"}, outcome.error
