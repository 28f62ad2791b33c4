"""Attack: getters, proxies and `toJSON` as arguments: code of the guest runs while the host's call is being written down."""

import pytest

from sandbox_host import Completed, Limits, Sandbox

SMALL = Limits(memory_bytes=8 << 20, cpu_seconds=2, wall_seconds=10)


async def test_arguments_are_read_once_and_what_was_read_is_what_is_sent(run):
    seen = []

    async def host(call):
        seen.append(call.args)

    await run(
        """let n = 0
        const shifty = { get path() { return n++ ? '/etc/passwd' : '/mount/safe' } }
        const json = { toJSON: () => ({ path: n++ > 1 ? '/etc/passwd' : '/mount/safe' }) }
        await mcp.a.b(shifty)
        await mcp.a.b(json)
        const later = { path: '/mount/safe' }
        const call = mcp.a.b(later)
        later.path = '/etc/passwd'
        await call""",
        host=host,
    )
    assert seen == [{"path": "/mount/safe"}] * 3


async def test_a_call_made_while_another_is_written_keeps_both_answers_apart(run):
    """Each call has its own number, and each promise gets its own call's answer."""
    numbers = []

    async def host(call):
        numbers.append((call.id, call.tool))
        return call.tool

    outcome = await run(
        """let inner
        const outer = mcp.a.outer({ get x() { inner = mcp.b.inner({}); return 1 } })
        return [await outer, await inner]""",
        host=host,
    )
    assert isinstance(outcome, Completed), outcome
    assert outcome.value == ["a:outer", "b:inner"]
    assert len({number for number, _ in numbers}) == 2


@pytest.mark.parametrize("depth", [2, 5, 20])
async def test_calls_inside_calls_inside_calls_keep_their_answers(run, depth):
    async def host(call):
        return call.args["n"]

    outcome = await run(
        """const promises = []
        const make = (n) => { const p = mcp.a.b({ get n() { if (n > 0) make(n - 1); return n } }); promises.push([n, p]); return p }
        make(args.depth)
        const told = []
        for (const [n, p] of promises) told.push([n, await p])
        return told.every(([n, got]) => n === got) && told.length""",
        host=host, args={"depth": depth},
    )  # fmt: skip
    assert isinstance(outcome, Completed), outcome
    assert outcome.value == depth + 1


async def test_a_call_made_by_the_getter_of_a_result_is_answered_too(run):
    async def host(call):
        return call.tool

    outcome = await run("return { get x() { mcp.late.call({}); return 1 } }", host=host)
    assert isinstance(outcome, Completed), outcome
    assert [record.tool for record in outcome.calls] == ["late:call"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{ get x() { throw new RangeError('mine') } }", "RangeError"),
        ("new Proxy({}, { ownKeys() { throw new RangeError('mine') } })", "RangeError"),
        ("new Proxy({}, { get() { throw new RangeError('mine') } })", "RangeError"),
        ("{ toJSON() { throw new RangeError('mine') } }", "RangeError"),
        ("{ toJSON() { return 1 } }", "TypeError"),
        ("{ toJSON() { return undefined } }", "TypeError"),
        ("{ toJSON() { return [1] } }", "TypeError"),
        ("{ toJSON() { return '{}' } }", "TypeError"),
        ("[1]", "TypeError"), ("'text'", "TypeError"), ("1", "TypeError"), ("null", "TypeError"), ("() => 1", "TypeError"),
        ("Symbol()", "TypeError"), ("10n", "TypeError"), ("true", "TypeError"),
        ("{ big: 10n }", "TypeError"),
        ("(() => { const a = {}; a.a = a; return a })()", "TypeError"),
        ("new Proxy([], {})", "TypeError"),
        ("(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy })()", "TypeError"),
        ("new Proxy(() => 1, {})", "TypeError"),
        ("Object.assign(() => 1, { toJSON: () => ({}) })", "TypeError"),
    ],
)  # fmt: skip
async def test_arguments_that_fight_back_throw_in_the_guest_and_never_arrive(run, arguments, told):
    async def host(call):
        raise AssertionError(call)

    outcome = await run(
        f"try {{ await mcp.a.b({arguments}); return 'sent' }} catch (e) {{ return e.name }}",
        host=host,
    )
    assert isinstance(outcome, Completed), outcome
    assert outcome.value == told
    assert outcome.calls == ()


@pytest.mark.parametrize(
    ("arguments", "arrived"),
    [
        ("new Proxy({ a: 1 }, {})", {"a": 1}),
        ("new Map([[1, 2]])", {}),
        ("Object.create({ inherited: 1 })", {}),
        (
            "{ [Symbol('x')]: 1, f() {}, u: undefined, n: NaN, d: new Date(0) }",
            {"n": None, "d": "1970-01-01T00:00:00.000Z"},
        ),
        ("{ a: { toJSON: () => ({ b: 1 }) } }", {"a": {"b": 1}}),
        (
            "{ '': 1, '\\u0000': 2, __proto__: null, ['__proto__']: 3 }",
            {"": 1, "\0": 2, "__proto__": 3},
        ),
        ("undefined", {}),
    ],
)
async def test_what_arrives_is_plain_json(run, arguments, arrived):
    seen = []

    async def host(call):
        seen.append(call.args)

    outcome = await run(f"await mcp.a.b({arguments})", host=host)
    assert isinstance(outcome, Completed), outcome
    assert seen == [arrived]


@pytest.mark.parametrize(
    "number", ["JSON.rawJSON('1e999')", "JSON.rawJSON('-1e999')", "JSON.rawJSON('9'.repeat(5000))"]
)
async def test_a_number_that_no_json_of_ours_can_carry_does_not_reach_the_host(run, number):
    """Python reads 1e999 as infinity, which no JSON can carry on to a tool."""
    seen = []

    async def host(call):
        seen.append(call.args)

    await run(f"await mcp.a.b({{ n: {number} }}).catch(() => {{}})", host=host)
    assert seen == []
    outcome = await run(f"return {number}", host=host)
    assert outcome.error.code == "result_not_json"


async def test_raw_json_cannot_break_out_of_its_place(run):
    seen = []

    async def host(call):
        seen.append(call.args)

    await run(
        """for (const text of ['1,"admin":true', '1}', '{}', '[1]', '"a"', ' 1', '1 ', 'x'])
            try { await mcp.a.b({ n: JSON.rawJSON(text) }) } catch {}
        try { await mcp.a.b({ n: Object.freeze(Object.assign(Object.create(null), { rawJSON: '1,"admin":true' })) }) } catch {}""",
        host=host,
    )
    assert not any("admin" in args for args in seen)


async def test_a_getter_that_ends_the_world_ends_only_the_run(fails):
    assert (await fails("await mcp.a.b({ get x() { for (;;); } })")).code == "cpu_limit"
    assert (
        await fails(
            "await mcp.a.b({ get x() { const a = []; for (;;) a.push('x'.repeat(1e5) + a.length) } })",
            limits=SMALL,
        )
    ).code == "memory_limit"


async def test_the_next_program_of_the_guest_is_not_confused():
    async def host(call):
        return call.tool

    async with Sandbox() as sandbox:
        await sandbox.run("mcp.a.x({ get k() { mcp.b.y({}); throw 1 } })", host=host)
        outcome = await sandbox.run("return await mcp.c.z({})", host=host)
    assert outcome.value == "c:z"
