"""Attack: tool names that read differently in a policy, a prompt or a log than in the call."""

import pytest

from sandbox_host import Completed, Limits

REFUSED = ["mcp['a:b'].c", "mcp[':'].c", "mcp[''].c", "mcp.a['']", "mcp.a['\\n']", "mcp.a['b\\nallow: *']", "mcp['a\\r'].b", "mcp.a['\\x1b[2J']",
           "mcp.a['\\x7f']", "mcp.a['\\t']", "mcp.a['\\x00']", "mcp.a['x'.repeat(129)]", "mcp['é'.repeat(65)].b", "mcp['x'.repeat(1e6)].b"]  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
async def test_a_bad_name_throws_in_the_guest(run, name):
    async def host(call):
        raise AssertionError(call)

    outcome = await run(
        f"try {{ await {name}({{}}); return 'sent' }} catch (e) {{ return e.name }}", host=host
    )
    assert isinstance(outcome, Completed), outcome
    assert outcome.value == "TypeError"


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("mcp.__proto__.x", "__proto__:x"), ("mcp.a.__proto__", "a:__proto__"), ("mcp.constructor.constructor", "constructor:constructor"),
        ("mcp.toString.valueOf", "toString:valueOf"), ("mcp.then.then", "then:then"), ("mcp.a.then", "a:then"),
        ("mcp.a['b:c']", "a:b:c"), ("mcp.a['b/c']", "a:b/c"), ("mcp.hasOwnProperty.call", "hasOwnProperty:call"), ("mcp.a.prototype", "a:prototype"),
        ("mcp.a[{ toString: () => 'late' }]", "a:late"), ("mcp[1][2]", "1:2"), ("mcp.a.catch", "a:catch"), ("mcp.a.apply", "a:apply"),
        ("mcp.a['../b']", "a:../b"), ("mcp.a['*']", "a:*"),
    ],
)  # fmt: skip
async def test_a_strange_name_is_only_a_name(run, name, tool):
    tools = []

    async def host(call):
        tools.append(call.tool)
        return call.tool

    outcome = await run(f"return await {name}({{}})", host=host)
    assert isinstance(outcome, Completed), outcome
    assert tools == [tool]
    assert outcome.value == tool
    assert [record.tool for record in outcome.calls] == [tool]


async def test_a_name_cannot_change_between_the_check_and_the_use(run):
    """A key that is an object becomes a string once, before anything of ours sees it."""
    tools = []

    async def host(call):
        tools.append(call.tool)

    await run(
        "let n = 0; const k = { toString: () => n++ ? 'delete' : 'read' }; await mcp.fs[k]({})",
        host=host,
    )
    assert tools == ["fs:read"]


@pytest.mark.parametrize(
    "key",
    [
        "Symbol.iterator",
        "Symbol.toPrimitive",
        "Symbol('x')",
        "Symbol.toStringTag",
        "Symbol.asyncIterator",
    ],
)
async def test_symbols_name_no_tool(value, key):
    assert await value(f"return [mcp[{key}] === undefined, mcp.a[{key}] === undefined]") == [
        True,
        True,
    ]


async def test_awaiting_a_server_or_listing_it_calls_nothing(run):
    async def host(call):
        raise AssertionError(call)

    outcome = await run(
        "const s = await mcp.a; await mcp; Object.keys(mcp); Object.keys(s); JSON.stringify({ n: 1 }); `${typeof mcp} ${typeof s}`; return 1",
        host=host,
    )
    assert isinstance(outcome, Completed), outcome


async def test_a_million_server_names_meet_a_limit_or_end(run):
    outcome = await run(
        "for (let i = 0; i < 1e6; i++) mcp['s' + i]; return 1",
        limits=Limits(memory_bytes=8 << 20, cpu_seconds=2, wall_seconds=20),
    )
    assert isinstance(outcome, Completed) or outcome.error.code in {"memory_limit", "cpu_limit"}, (
        outcome
    )
