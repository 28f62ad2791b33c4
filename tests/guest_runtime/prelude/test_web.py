"""structuredClone, crypto, performance, events, and the refusals of what is not there."""

import re
from collections.abc import Awaitable, Callable

import pytest

from sandbox_host import Completed

Run = Callable[..., Awaitable[Completed]]


async def test_a_clone_keeps_types_cycles_and_sharing(run: Run) -> None:
    outcome = await run(
        """
        const date = new Date(5);
        const source = {
          date, same: date, map: new Map([[1, new Set([2])]]), list: [1, , 3], re: /x/gi, big: 1n,
          view: new Uint16Array([1, 2, 3]).subarray(1), boxed: new Number(3), none: undefined,
        };
        source.self = source;
        const copy = structuredClone(source);
        [copy !== source && copy.self === copy, copy.date === copy.same && copy.date !== date,
         +copy.date, copy.map.get(1).has(2), 1 in copy.list, String(copy.re),
         [...copy.view], copy.view.byteOffset,
         copy.big === 1n, copy.boxed + 1, 'none' in copy]
        """
    )
    assert outcome.value == [True, True, 5, True, False, "/x/gi", [2, 3], 2, True, 4, True]


async def test_a_clone_of_an_error_is_an_error(run: Run) -> None:
    outcome = await run(
        """
        const error = structuredClone(new RangeError('r', {cause: {c: 1}}));
        const aborted = structuredClone(new DOMException('m', 'AbortError'));
        class Mine { v = 1 }
        [error instanceof RangeError, error.message, error.cause, aborted.name,
         Object.getPrototypeOf(structuredClone(new Mine)) === Object.prototype]
        """
    )
    assert outcome.value == [True, "r", {"c": 1}, "AbortError", True]


@pytest.mark.parametrize(
    "value",
    [
        "() => {}",
        "Symbol()",
        "{f() {}}",
        "Promise.resolve()",
        "new WeakMap",
        "new URL('http://x')",
    ],
)
async def test_what_cannot_be_cloned_is_a_data_clone_error(run: Run, value: str) -> None:
    outcome = await run(
        f"let e; try {{ structuredClone({value}) }} catch (error) {{ e = error }};"
        "[e.name, e instanceof DOMException]"
    )
    assert outcome.value == ["DataCloneError", True]


async def test_a_transferred_buffer_is_detached_unless_the_clone_fails(run: Run) -> None:
    outcome = await run(
        """
        const moved = new Uint8Array([7]), kept = new ArrayBuffer(1);
        const copy = structuredClone({moved}, {transfer: [moved.buffer]});
        try { structuredClone(() => {}, {transfer: [kept]}) } catch {}
        [copy.moved[0], moved.length, kept.byteLength]
        """
    )
    assert outcome.value == [7, 0, 1]


async def test_random_values(run: Run) -> None:
    outcome = await run(
        """
        const nameOf = (act) => { try { act(); return null } catch (error) { return error.name } };
        const array = new Uint32Array(8);
        [crypto.randomUUID(), crypto.randomUUID() === crypto.randomUUID(),
         crypto.getRandomValues(array) === array && array.some((n) => n > 0),
         nameOf(() => crypto.getRandomValues(new Uint8Array(65_537))),
         nameOf(() => crypto.getRandomValues(new Float64Array(1))),
         nameOf(() => crypto.getRandomValues([1])), typeof crypto.subtle]
        """
    )
    uuid, same, *rest = outcome.value
    assert re.fullmatch(
        r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", uuid
    )
    assert same is False
    assert rest == [
        True,
        "QuotaExceededError",
        "TypeMismatchError",
        "TypeMismatchError",
        "undefined",
    ]


async def test_two_sandboxes_do_not_share_their_randomness(run: Run) -> None:
    # The prelude is frozen into the guest's image: what it drew at build time would be everyone's.
    first, second = await run("crypto.randomUUID()"), await run("crypto.randomUUID()")
    assert first.value != second.value


async def test_performance_counts_from_the_start_of_the_run(run: Run) -> None:
    outcome = await run(
        """
        const now = performance.now();
        [now >= 0 && now < 60_000, performance.now() >= now,
         Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000]
        """
    )
    assert outcome.value == [True, True, True]


async def test_fetch_rejects_and_says_what_to_use_instead(run: Run) -> None:
    outcome = await run(
        "const e = await fetch('http://x').catch((error) => error); [e.name, e.code, e.message]"
    )
    assert outcome.value == [
        "NetworkIsolationError",
        "network_isolated",
        (
            "fetch is not available: local code is network-isolated. "
            "Use mcp.<server>.<tool>() to reach the outside."
        ),
    ]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("new XMLHttpRequest()", "NetworkIsolationError"),
        ("new WebSocket('ws://x')", "NetworkIsolationError"),
        ("new EventSource('x')", "NetworkIsolationError"),
        ("importScripts('x')", "NetworkIsolationError"),
        ("Deno.connect({port: 1})", "NetworkIsolationError"),
        ("Deno.listen({port: 1})", "NetworkIsolationError"),
        ("Deno.serve(() => {})", "NetworkIsolationError"),
        ("new Deno.Command('ls')", "IsolationError"),
        ("Deno.run({cmd: ['ls']})", "IsolationError"),
        ("new Worker('x')", "IsolationError"),
    ],
)
async def test_the_outside_is_refused_by_name(run: Run, code: str, name: str) -> None:
    outcome = await run(
        f"let e; try {{ {code} }} catch (error) {{ e = error }}; [e.name, e.message]"
    )
    assert outcome.value[0] == name
    assert "is not available: local code " in outcome.value[1]


async def test_events_reach_each_listener_once(run: Run) -> None:
    outcome = await run(
        """
        const target = new EventTarget(), seen = [];
        const listener = (event) => seen.push(event.type);
        target.addEventListener('x', listener); target.addEventListener('x', listener);
        target.addEventListener('x', {handleEvent() { seen.push('object') }}, {once: true});
        target.addEventListener('x', () => { throw new Error('listener') });
        target.addEventListener('x', (event) => event.preventDefault());
        const kept = target.dispatchEvent(new Event('x', {cancelable: true}));
        target.removeEventListener('x', listener);
        target.dispatchEvent(new Event('x'));
        [seen, kept, new CustomEvent('c', {detail: 5}).detail]
        """
    )
    assert outcome.value == [["x", "object"], False, 5]
    assert outcome.logs[0].text.startswith("uncaught error in event listener: Error: listener")


async def test_abort_signals_follow_their_sources(run: Run) -> None:
    outcome = await run(
        """
        const controller = new AbortController(), seen = [];
        controller.signal.onabort = () => seen.push('on');
        controller.signal.addEventListener('abort', () => seen.push('listener'));
        const outer = AbortSignal.any([AbortSignal.any([controller.signal])]);
        controller.abort(); controller.abort('again');
        const late = AbortSignal.timeout(1);
        await new Promise((done) => { late.onabort = done });
        let thrown; try { outer.throwIfAborted() } catch (error) { thrown = error.name }
        [seen, outer.reason === controller.signal.reason, thrown, late.reason.name,
         AbortSignal.abort(3).reason]
        """
    )
    assert outcome.value == [["on", "listener"], True, "AbortError", "TimeoutError", 3]


async def test_globals_are_there_but_not_listed(run: Run) -> None:
    outcome = await run(
        """
        const names = ['console', 'setTimeout', 'queueMicrotask', 'TextEncoder', 'TextDecoder',
          'atob', 'URL', 'URLSearchParams', 'structuredClone', 'crypto', 'performance',
          'EventTarget', 'AbortSignal', 'Deno', 'fetch'];
        names.filter((name) => {
          const property = Object.getOwnPropertyDescriptor(globalThis, name);
          return !property || property.enumerable || !property.writable || !property.configurable;
        })
        """
    )
    assert outcome.value == []


async def test_a_stack_trace_hands_out_no_function(run: Run) -> None:
    # Attack: CallSite.getFunction() would give the prelude's closures and the functions they call.
    outcome = await run(
        """
        const got = [];
        Error.prepareStackTrace = (error, sites) => {
          for (const site of sites) got.push(typeof site.getFunction);
        };
        try { crypto.getRandomValues(1) } catch (error) { error.stack }
        got.length > 0 && got.every((type) => type === 'undefined')
        """
    )
    assert outcome.value is True


async def test_listening_in_on_every_built_in_does_not_show_the_native_table(run: Run) -> None:
    # Attack: replace the methods that the prelude might call and keep what passes through them.
    outcome = await run(
        """
        const seen = new Set(), {apply} = Reflect, {add} = Set.prototype;
        const keep = (value) => {
          if (typeof value === 'object' && value !== null) apply(add, seen, [value]);
        };
        const classes = [Array, String, Map, Set, WeakMap, Promise, Function, RegExp, Date];
        for (const {prototype} of classes) {
          for (const name of Object.getOwnPropertyNames(prototype)) {
            const property = Object.getOwnPropertyDescriptor(prototype, name);
            if (typeof property.value !== 'function' || name === 'constructor') continue;
            const real = property.value;
            prototype[name] = function (...args) {
              keep(this);
              for (let i = 0; i < args.length; i++) keep(args[i]);
              return apply(real, this, args);
            };
          }
        }
        const trap = {get() { keep(this) }, configurable: true};
        Object.defineProperty(Object.prototype, 'then', trap);
        console.log('%s', {a: [1]}, new Map([[1, new Date(0)]])); console.table([{a: 1}]);
        new URL('../x?y', 'http://ü.de/a/b').searchParams.append('a', 'b');
        new TextDecoder().decode(new TextEncoder().encode('é')); crypto.randomUUID();
        structuredClone({a: new Map()}); new EventTarget().dispatchEvent(new Event('x'));
        await Deno.readTextFile('/none').catch(() => {}); await fetch('x').catch(() => {});
        await new Promise((done) => setTimeout(done, 1));
        delete Object.prototype.then;
        const isNative = (value) => (
          ['arm', 'unlink', 'kindOf'].some((key) => Object.hasOwn(value, key)));
        const leaked = [...seen].filter(isNative);
        [seen.size > 10, leaked.length]
        """
    )
    assert outcome.value == [True, 0]
