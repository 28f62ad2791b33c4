"""Attack: get hold of the functions behind the prelude (`native.call`, `native.fs`, the result's callbacks) from guest code."""

import pytest

from sandbox_host import Completed, Sandbox

HUNT = """
const found = new Set(), seen = new Set()
const NATIVE = ['fs', 'reviveError', 'describe', 'onTick', 'arm', 'defineGlobals', 'kindOf', 'uncurry', 'turn']
const look = (value) => {
    if (value === Object.prototype || (typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value) || seen.size > 20000) return
    seen.add(value)
    try { for (const name of NATIVE) if (Object.hasOwn(value, name)) found.add(name) } catch {}
    let keys = []
    try { keys = Reflect.ownKeys(value) } catch {}
    for (const key of keys) {
        let d
        try { d = Reflect.getOwnPropertyDescriptor(value, key) } catch {}
        if (!d) continue
        look(d.value); look(d.get); look(d.set)
    }
    try { look(Reflect.getPrototypeOf(value)) } catch {}
}
"""


async def test_nothing_reachable_from_the_global_object_is_native(value):
    assert (
        await value(HUNT + "look(globalThis); look(mcp); look(new Error()); return [...found]")
        == []
    )


async def test_call_sites_hand_out_no_function_and_no_this(value):
    told = await value(
        HUNT
        + """const sites = []
        Error.prepareStackTrace = (error, list) => { sites.push(...list); return '' }
        const bait = { get x() { void new Error().stack; return 1 }, toString() { void new Error().stack; return 'x' } }
        await mcp.a.b(bait)
        console.log('%s', bait)
        try { await mcp.a['\\0']() } catch (e) { void e.stack }
        try { structuredClone({ get x() { void new Error().stack } }) } catch {}
        await new Promise((r) => setTimeout(() => { void new Error().stack; r() }))
        await Deno.writeTextFile('x', { toString() { void new Error().stack; return '' } }).catch(() => {})
        const told = []
        for (const site of sites) for (const name of ['getFunction', 'getThis', 'getEvalOrigin', 'getScriptNameOrSourceURL', 'getTypeName'])
            if (typeof site[name] === 'function') { const got = site[name](); if (got && typeof got !== 'string') told.push(name); look(got) }
        for (const site of sites) look(site)
        return [sites.length > 0, told, [...found]]"""
    )
    assert told == [True, [], []]


@pytest.mark.parametrize("name", ["caller", "arguments", "callee"])
async def test_functions_do_not_tell_who_calls_them(value, name):
    told = await value(
        HUNT
        + f"""const sloppy = new Function('look', 'name', 'try {{ look(arguments.callee[name]) }} catch {{}} return 1')
        const probe = {{ get x() {{ return sloppy(look, '{name}') }}, toJSON() {{ sloppy(look, '{name}'); return {{}} }} }}
        await mcp.a.b(probe); console.log(probe)
        return [...found]"""
    )
    assert told == []


@pytest.mark.parametrize(
    "patch",
    [
        "const then = Promise.prototype.then; Promise.prototype.then = function (...a) { a.forEach(look); look(this); return then.apply(this, a) }",
        "Object.defineProperty(Promise, Symbol.species, { get() { look(this); return class extends Promise { constructor(f) { look(f); super(f) } } } })",
        "Object.defineProperty(Promise.prototype, 'constructor', { get() { look(this); return Promise } })",
        "for (const n of ['get', 'set', 'has', 'delete', 'forEach']) { const f = Map.prototype[n]; Map.prototype[n] = function (...a) { look(this); a.forEach(look); return f.apply(this, a) } }",
        "for (const n of ['push', 'pop', 'map', 'join', 'slice', 'forEach', 'includes', 'some', 'reduce']) { const f = Array.prototype[n]; Array.prototype[n] = function (...a) { look(this); for (const x of a) look(x); return f.apply(this, a) } }",
        "const it = Array.prototype[Symbol.iterator]; let busy = false; Array.prototype[Symbol.iterator] = function () { if (!busy) { busy = true; look(this); busy = false } return it.call(this) }",
        "for (const n of ['call', 'apply', 'bind']) { const f = Function.prototype[n]; Function.prototype[n] = function (...a) { look(this); for (let i = 0; i < a.length; i++) look(a[i]); return Reflect.apply(f, this, a) } }",
        "for (const n of ['keys', 'create', 'defineProperty', 'getOwnPropertyDescriptor', 'getPrototypeOf']) { const f = Object[n]; Object[n] = function (...a) { for (const x of a) look(x); return f(...a) } }",
        "for (const n of ['apply', 'ownKeys', 'construct', 'get']) { const f = Reflect[n]; Reflect[n] = function (...a) { for (const x of a) look(x); return f(...a) } }",
        "const s = JSON.stringify; JSON.stringify = function (...a) { look(this); for (const x of a) look(x); return s(...a) }",
        "const E = Error; globalThis.Error = class extends E { constructor(...a) { for (const x of a) look(x); super(...a) } }",
        "Object.defineProperty(Error, Symbol.hasInstance, { value(x) { look(x); look(this); return true } })",
        "for (const n of ['fs', 'call', 'log', 'now', 'arm', 'random', 'turn', 'describe']) Object.defineProperty(Object.prototype, n, { get() { look(this) }, set(v) { look(this); look(v) }, configurable: true })",
        "for (const n of ['has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'isExtensible', 'preventExtensions', 'apply', 'construct']) Object.prototype[n] = function (...a) { look(this); for (const x of a) look(x); return Reflect[n](...a) }",
        "Object.defineProperty(globalThis, 'args', { get() { look(this) }, set(v) { look(v) }, configurable: true })",
        "const p = new Proxy({}, { get(t, k, r) { look(r); return undefined } }); Object.setPrototypeOf(globalThis, p)",
        "const r = String.prototype.replace; String.prototype.replace = function (...a) { for (const x of a) look(x); return r.apply(this, a) }",
    ],
)  # fmt: skip
async def test_no_changed_built_in_is_handed_one(run, patch):
    """Guest code runs inside the prelude's calls: whatever the built-ins are given there is looked at."""
    outcome = await run(
        HUNT
        + f"""globalThis.found = found
        {patch}
        const settle = async (f) => {{ try {{ await f() }} catch (e) {{ look(e) }} }}
        await settle(() => mcp.a.b({{ x: 1 }}))
        await settle(() => mcp.a.reject())
        await settle(() => Deno.readTextFile('missing'))
        await settle(() => Deno.stat('.'))
        await settle(async () => {{ for await (const x of Deno.readDir('.')) look(x) }})
        await settle(() => structuredClone(new Map([[1, {{ a: [1, new Date()] }}]])))
        await settle(() => console.log('%s %j', {{ a: 1 }}, [1], new Map([[1, 2]]), new Error('x')))
        await settle(() => console.table([{{ a: 1 }}]))
        await settle(() => new Promise((r) => setTimeout(r, 0, 1)))
        await settle(() => crypto.getRandomValues(new Uint8Array(4)))
        await settle(() => new URL('http://a/b?c').searchParams.get('c'))
        await settle(() => new TextDecoder().decode(new TextEncoder().encode('x')))
        let text = ''
        found.forEach((name) => {{ text += name + ' ' }})
        return text"""
    )
    assert isinstance(outcome, Completed), outcome
    assert outcome.value == ""


async def test_mcp_cannot_be_changed_for_the_next_program():
    """A later program of the same guest must reach its tools and not an impostor."""

    async def host(call):
        return call.tool

    async with Sandbox() as sandbox:
        await sandbox.run(
            """const tries = [
                () => { globalThis.mcp = 1 }, () => { delete globalThis.mcp }, () => { mcp.a = 1 }, () => { mcp.a.b = 1 },
                () => Object.defineProperty(globalThis, 'mcp', { value: 1 }), () => Object.defineProperty(mcp, 'a', { value: 1 }),
                () => Object.setPrototypeOf(mcp, { a: 1 }), () => { mcp.a.b.call = () => 1 }, () => Object.freeze(mcp),
                () => Object.preventExtensions(mcp.a),
            ]
            for (const attempt of tries) try { attempt() } catch {}
            // traps that the handler does not have are looked for on its prototype, with the handler as `this`
            const takeOver = function () { try { this.get = () => () => 'impostor' } catch {} return Reflect.ownKeys({}) }
            for (const trap of ['has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'isExtensible', 'preventExtensions'])
                Object.prototype[trap] = takeOver
            for (const look of [() => 'x' in mcp, () => Object.keys(mcp), () => Object.keys(mcp.a), () => Object.getPrototypeOf(mcp),
                                () => Object.isExtensible(mcp), () => 'x' in mcp.a, () => ({ ...mcp })]) try { look() } catch {}
            for (const trap of ['has', 'ownKeys', 'getOwnPropertyDescriptor', 'getPrototypeOf', 'isExtensible', 'preventExtensions'])
                delete Object.prototype[trap]
            return 1""",
            host=host,
        )
        outcome = await sandbox.run("return [await mcp.a.b({}), await mcp.x.y({})]", host=host)
    assert isinstance(outcome, Completed), outcome
    assert outcome.value == ["a:b", "x:y"]


@pytest.mark.parametrize(
    "thrown",
    [
        "new Proxy({}, { has() { throw 1 }, get() { throw 2 }, getPrototypeOf() { throw 3 } })",
        "new Proxy(new Error('x'), { get() { throw 2 } })",
        "{ get message() { throw 1 }, get name() { throw 1 }, get stack() { throw 1 } }",
        "{ message: { toString() { throw 1 } } }",
        "Object.create(null)", "Symbol('x')", "null", "undefined", "10n", "() => 1",
        "(Object.defineProperty(Error, Symbol.hasInstance, { value() { throw 1 } }), new TypeError('real'))",
        "Object.assign(new Error('x'), { stack: {} })",
        "Object.assign(new Error('x'), { stack: 'at program:99999999999999999999:-1' })",
        "Object.assign(new Error('x'), { stack: 'program:\\u0661:\\u0662' })",
        "Object.assign(new McpError('x'), { code: { toString() { throw 1 } }, tool: [] })",
        "Object.assign(new Error('x'), { toJSON() { return { code: 'cpu_limit' } } })",
    ],
)  # fmt: skip
async def test_a_thrown_value_that_fights_back_is_an_uncaught_error(fails, thrown):
    error = await fails(f"throw {thrown}")
    assert error.code in {"uncaught_error", "tool_error"}, error


async def test_a_program_cannot_pretend_that_a_limit_was_hit(fails):
    """An embedder may raise limits and try again on such a code; only the sandbox may say it."""
    for code in ("memory_limit", "call_limit", "log_limit", "output_limit"):
        error = await fails(
            f"Object.prototype.toJSON = () => ({{ code: '{code}', message: 'forged' }}); throw 1"
        )
        assert error.code == "uncaught_error", error


async def test_a_stack_trace_hook_does_not_catch_a_limit(run):
    outcome = await run(
        "Error.prepareStackTrace = () => { throw 1 }; let n = 0; for (;;) try { console.log('x'.repeat(1e5)) } catch { n++ } finally { continue }"
    )
    assert outcome.error.code == "log_limit"
