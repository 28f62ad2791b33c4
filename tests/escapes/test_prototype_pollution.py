"""Attack: data with `__proto__`, `constructor`, `toJSON`, `then` as keys, in either direction, to change what objects are."""

import json

import pytest

from sandbox_host import Completed, Sandbox, ToolError

HOSTILE = json.loads(
    """{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "prototype": {"polluted": 1},
    "toJSON": "x", "then": "x", "valueOf": 1, "toString": null, "hasOwnProperty": 1, "length": -1, "__defineGetter__": 1,
    "Symbol.iterator": 1, "a": [{"__proto__": {"polluted": 1}}]}"""
)
CLEAN = (
    "({}).polluted === undefined && [].polluted === undefined && (() => 1).polluted === undefined"
)


async def test_an_answer_is_data_whatever_its_keys(value):
    async def host(call):
        return HOSTILE

    told = await value(
        f"""const answer = await mcp.a.b({{}})
        return [{CLEAN}, Object.getPrototypeOf(answer) === Object.prototype, Object.hasOwn(answer, '__proto__'),
            answer.a[0].polluted === undefined, JSON.stringify(answer)]""",
        host=host,
    )
    assert told[:4] == [True] * 4
    assert json.loads(told[4]) == HOSTILE


async def test_the_embedders_args_are_data_whatever_their_keys(value):
    told = await value(
        f"return [{CLEAN}, Object.getPrototypeOf(args) === Object.prototype, args.polluted === undefined]",
        args=HOSTILE,
    )
    assert told == [True] * 3


async def test_a_hosts_error_is_data_whatever_its_keys(value):
    async def host(call):
        raise ToolError("m", code="__proto__", data=HOSTILE)

    told = await value(
        f"try {{ await mcp.a.b() }} catch (e) {{ return [{CLEAN}, e instanceof McpError, e.message, Object.getPrototypeOf(e.data) === Object.prototype] }}",
        host=host,
    )
    assert told == [True, True, "m", True]


async def test_an_answer_with_then_is_not_taken_for_a_promise(value):
    async def host(call):
        return {"then": {"then": 1}, "value": 7}

    assert await value("return (await mcp.a.b()).value", host=host) == 7


async def test_arguments_and_results_reach_the_host_as_plain_data(run):
    seen = []

    async def host(call):
        seen.append(call.args)
        return call.args

    code = "const d = JSON.parse(args.text); return await mcp.a.b(d)"
    outcome = await run(code, host=host, args={"text": json.dumps(HOSTILE)})
    assert isinstance(outcome, Completed)
    assert outcome.value == HOSTILE
    assert seen == [HOSTILE]
    assert type(seen[0]["__proto__"]) is dict


@pytest.mark.parametrize(
    "pollution",
    [
        "Object.prototype.toJSON = () => ({ forged: 1 })",
        "Object.prototype.then = undefined; Object.prototype.toJSON = undefined",
        "Object.prototype.get = () => 1; Object.prototype.set = () => 1",
        "Object.prototype.value = 7; Object.prototype.writable = false",
        "Object.defineProperty(Object.prototype, 'value', { get() { throw new Error('x') }, set() {} })",
        "Object.defineProperty(Object.prototype, 'value', { value: 7, writable: false })",
        "Object.defineProperty(Object.prototype, 'args', { set() { throw 1 } })",
        "Object.defineProperty(Array.prototype, '0', { set() { throw 1 }, get() { throw 1 } })",
        "Array.prototype[Symbol.iterator] = function* () { throw 1 }",
        "Object.prototype[Symbol.toPrimitive] = () => { throw 1 }",
        "Object.prototype.message = 1; Object.prototype.stack = { toString() { throw 1 } }",
        "Object.freeze(Object.prototype); Object.freeze(Array.prototype); Object.freeze(Promise.prototype)",
        "Object.setPrototypeOf(Object.prototype, null); delete Object.prototype.constructor",
        "for (const k of Object.getOwnPropertyNames(Object.prototype)) try { delete Object.prototype[k] } catch {}",
        "for (const k of Reflect.ownKeys(Promise.prototype)) try { delete Promise.prototype[k] } catch {}",
        "for (const k of Reflect.ownKeys(globalThis)) try { delete globalThis[k] } catch {}",
        "Object.prototype.__proto__ = null; Function.prototype.call = Function.prototype.apply = () => { throw 1 }",
    ],
)
@pytest.mark.parametrize(
    "end",
    [
        "return 1",
        "throw new Error('e')",
        "return await mcp.a.b({ x: 1 })",
        "console.log({ a: [1] }); return 1",
    ],
)
async def test_a_polluted_guest_ends_in_an_outcome(run, pollution, end):
    """It may lie about itself; the host must get an outcome with a name, and never an exception."""
    outcome = await run(f"{pollution}; {end}")
    if not isinstance(outcome, Completed):
        assert outcome.error.code in {
            "uncaught_error",
            "tool_error",
            "result_not_json",
            "cpu_limit",
            "stack_limit",
        }, outcome.error


async def test_what_one_sandbox_pollutes_no_other_sees():
    async with Sandbox() as hostile, Sandbox() as other:
        await hostile.run(
            "Object.prototype.polluted = 1; globalThis.mine = 1; Array.prototype.map = null",
            host=None,
        )
        outcome = await other.run(
            "return [typeof mine, ({}).polluted ?? null, [1].map((x) => x)]", host=None
        )
    assert outcome.value == ["undefined", None, [1]]


async def test_a_failed_guest_takes_its_pollution_with_it():
    async with Sandbox() as sandbox:
        await sandbox.run("Object.prototype.polluted = 1; globalThis.mine = 1; throw 1", host=None)
        outcome = await sandbox.run("return [typeof mine, ({}).polluted ?? null]", host=None)
    assert outcome.value == ["undefined", None]
