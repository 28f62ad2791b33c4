"""JSON as the standard has it: the engine's own code for it is patched for speed."""

import json
import math
import random
from typing import Any

import pytest

from sandbox_host import Completed, Sandbox, ToolError
from sandbox_host.outcome import Call

# expression, and the text that it must give (what Node gives)
WRITTEN = [
    ("{b: 1, 2: 2, a: 3, 1: 4}", '{"1":4,"2":2,"b":1,"a":3}'),
    ("{a: undefined, b: () => 1, c: Symbol.iterator, d: null}", '{"d":null}'),
    ("[undefined, () => 1, Symbol.iterator, null, , 1]", "[null,null,null,null,null,1]"),
    ("[0, -0, 1.5, -2147483648, 2147483648, 1e21, 5e-324, 0.1, NaN, -Infinity]",
     "[0,0,1.5,-2147483648,2147483648,1e+21,5e-324,0.1,null,null]"),
    ("[Object(1), Object('s'), Object(false)]", '[1,"s",false]'),
    ('{["a\\"b\\\\c\\n\\u0001"]: "\\u007f\\u2028\\ud800é"}',
     '{"a\\"b\\\\c\\n\\u0001":"\x7f\u2028\\ud800é"}'),
    ("{toJSON(key) { return ['root', key]; }}", '["root",""]'),
    ("{a: {toJSON(key) { return key; }}, b: [{toJSON(key) { return typeof key + key; }}]}",
     '{"a":"a","b":["string0"]}'),
    ("{7: {toJSON(key) { return typeof key + key; }}}", '{"7":"string7"}'),
    ("Object.defineProperty({a: 1}, 'hidden', {value: 2})", '{"a":1}'),
    ("Object.create({inherited: 1}, {own: {value: 2, enumerable: true}})", '{"own":2}'),
    ("{get a() { return 5; }}", '{"a":5}'),
    ("{a: {toJSON() { delete this_.b; this_.c = 1; return 1; }}, b: 2}", '{"a":1}'),
    ("{a: {toJSON() { Object.defineProperty(this_, 'b', {get: () => 9}); return 1; }}, b: 2}",
     '{"a":1,"b":9}'),
    ("new Proxy({a: 1, b: {c: 2}}, {})", '{"a":1,"b":{"c":2}}'),
    ("new Proxy({a: 1, b: 2}, {ownKeys: () => ['b', 'a']})", '{"b":2,"a":1}'),
    ("new Proxy([1, [2]], {})", "[1,[2]]"),
    ("[new Date(0), new Map([[1, 2]]), /x/]", '["1970-01-01T00:00:00.000Z",{},{}]'),
    ("[shared, {x: shared}, shared]", '[{"s":1},{"x":{"s":1}},{"s":1}]'),
    ("'abc'", '"abc"'),
    ("JSON.parse('{\"a\": 1, \"b\": 2, \"a\": 3, \"__proto__\": 4, \"10\": 5, \"9\": 6}')",
     '{"9":6,"10":5,"a":3,"b":2,"__proto__":4}'),
]  # fmt: skip

OPTIONS = [
    ("{a: [1, {b: 2}], c: {}, d: []}, null, 2",
     '{\n  "a": [\n    1,\n    {\n      "b": 2\n    }\n  ],\n  "c": {},\n  "d": []\n}'),
    ("[[1]], null, '--'", "[\n--[\n----1\n--]\n]"),
    ("{a: 1, b: {a: 2, c: 3}, 1: 4}, ['b', 'a', 1, 'a']", '{"b":{"a":2},"a":1,"1":4}'),
    ("{a: 1, b: [2, 3]}, (key, value) => typeof value === 'number' ? key + value : value",
     '{"a":"a1","b":["02","13"]}'),
    ("{a: 1}, function (key, value) { return key === 'a' ? Object.keys(this) : value; }",
     '{"a":["a"]}'),
    ("{a: 1, b: 2}, (key, value) => key === 'a' ? undefined : value", '{"b":2}'),
]  # fmt: skip


async def _refuse(call: Call) -> Any:
    raise ToolError(call.tool)


async def _value(program: str, args: Any = None) -> Any:
    async with Sandbox() as sandbox:
        outcome = await sandbox.run(program, host=_refuse, args=args)
    assert isinstance(outcome, Completed), outcome
    return outcome.value


@pytest.mark.parametrize(("expression", "text"), WRITTEN)
async def test_values_are_written_as_the_standard_has_it(expression: str, text: str) -> None:
    program = f"const shared = {{s: 1}}; const this_ = {expression}; return JSON.stringify(this_)"
    assert await _value(program) == text


@pytest.mark.parametrize(("arguments", "text"), OPTIONS)
async def test_replacers_and_gaps_are_honoured(arguments: str, text: str) -> None:
    assert await _value(f"return JSON.stringify({arguments})") == text


@pytest.mark.parametrize(
    "expression",
    [
        "const a = {}; a.a = a; a",
        "const a = []; a.push([a]); a",
        "const a = {b: [{}]}; a.b[0].c = a.b; a",
        "const a = {b: {toJSON: () => a}}; a",
    ],
)
async def test_a_circle_is_an_error_and_the_next_call_is_not_harmed(expression: str) -> None:
    setup, name = expression.rsplit(" ", 1)
    program = (
        f"{setup} let said; try {{ JSON.stringify({name}) }} catch (error) {{ said = error }}"
        "return [said instanceof TypeError, said.message, JSON.stringify({ok: [{}]})]"
    )
    assert await _value(program) == [True, "circular reference", '{"ok":[{}]}']


async def test_an_error_in_the_middle_leaves_nothing_behind() -> None:
    program = """
        const bad = {a: 1, b: {c: [{toJSON(key) { throw new Error(key) }}]}, d: 1};
        const said = [];
        for (let i = 0; i < 2000; i++)
            try { JSON.stringify(bad) } catch (error) { said.push(error.message) }
        for (const value of [1n, {a: 1n}, [{get x() { throw new Error("get") }}]])
            try { JSON.stringify(value) } catch (error) { said.push(error.message) }
        return [said.length, said[0], said.slice(2000)]
    """
    assert await _value(program) == [
        2003, "0",
        ["BigInt are forbidden in JSON.stringify", "BigInt are forbidden in JSON.stringify",
         "get"],
    ]  # fmt: skip


async def test_traps_of_a_proxy_are_called_in_the_order_of_the_standard() -> None:
    program = """
        const seen = [];
        const handler = {};
        for (const name of ["get", "ownKeys", "getOwnPropertyDescriptor"])
            handler[name] = (target, ...rest) => {
                seen.push(name + (typeof rest[0] === "string" ? ":" + rest[0] : ""));
                return Reflect[name](target, ...rest);
            };
        JSON.stringify(new Proxy({a: 1, b: 2}, handler));
        return seen
    """
    assert await _value(program) == [
        "get:toJSON", "ownKeys", "getOwnPropertyDescriptor:a", "getOwnPropertyDescriptor:b",
        "get:a", "get:b",
    ]  # fmt: skip


async def test_a_reviver_sees_every_value_and_its_source() -> None:
    program = """
        const seen = [];
        const value = JSON.parse('{"a": [1, 2.50], "b": {"c": "x"}}', (key, value, context) => {
            seen.push(key + (context.source === undefined ? "" : "=" + context.source));
            return typeof value === "number" ? value * 2 : value;
        });
        return [value, seen]
    """
    assert await _value(program) == [
        {"a": [2, 5], "b": {"c": "x"}},
        ["0=1", "1=2.50", "a", 'c="x"', "b", ""],
    ]


def _any_value(chance: random.Random, depth: int = 0) -> Any:
    kinds = 4 if depth > 4 else 6
    match chance.randrange(kinds):
        case 0:
            return chance.choice([None, True, False, 0, -1, chance.getrandbits(31), 2**53 - 1])
        case 1:
            number = chance.uniform(-1, 1) * 10 ** chance.randint(-30, 30)
            return round(number, chance.randint(0, 12)) if chance.random() < 0.7 else number
        case 2 | 3:
            alphabet = 'ab "\\/\n\t\x00\x1f\x7fé\u2028\U0001f600'
            return "".join(chance.choices(alphabet, k=chance.randint(0, 12)))
        case 4:
            return [_any_value(chance, depth + 1) for _ in range(chance.randint(0, 6))]
        case _:
            keys = ["a", "b", "10", "9", "", "__proto__", "constructor", "é", 'q"', "toString"]
            count = chance.randint(0, 8)
            return {key: _any_value(chance, depth + 1) for key in chance.sample(keys, count)}


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(
            _same(one[key], other[key]) for key in one
        )  # fmt: skip
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(
            _same(*pair) for pair in zip(one, other, strict=True)
        )  # fmt: skip
    if isinstance(one, float) or isinstance(other, float):
        return math.isclose(one, other, rel_tol=0, abs_tol=0)
    return one == other and type(one) is type(other)


async def test_what_goes_in_comes_out_and_is_written_the_same_twice() -> None:
    chance = random.Random(11)  # noqa: S311
    values = [_any_value(chance) for _ in range(1500)]
    program = """return args.map((value) => {
        const text = JSON.stringify(value), spaced = JSON.stringify(value, null, 1);
        return [text, JSON.stringify(JSON.parse(text)) === text, JSON.stringify(JSON.parse(spaced)) === text, value];
    })"""
    for wanted, (text, again, spaced, found) in zip(
        values, await _value(program, values), strict=True
    ):
        assert again, text
        assert spaced, text
        assert _same(json.loads(text), wanted), text
        assert _same(found, wanted), text
