"""Attack: a result, or arguments of a call, larger than the host wants to read."""

import dataclasses

import pytest

from sandbox_host import Limits, ToolError

LIMITS = Limits(output_bytes=1 << 20, cpu_seconds=3, wall_seconds=20)


@pytest.mark.parametrize(
    "code",
    [
        "return 'x'.repeat(2 << 20)",
        "return '\\0'.repeat(300_000)",  # six times as long when escaped
        "return Array(600_000).fill(0)",
        "return Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => ['key' + i, i]))",
        "const a = Array(200).fill('x'.repeat(10_000)); return [a, a]",
        "let a = ['x'.repeat(100)]; for (let i = 0; i < 20; i++) a = [a, a]; return a",
        "return { toJSON: () => 'x'.repeat(2 << 20) }",
        "return new Uint8Array(2 << 20)",
    ],
)
async def test_a_result_over_the_limit_is_refused(fails, code):
    error = await fails(code, limits=LIMITS)
    assert error.code in {"output_limit", "memory_limit"}, error


async def test_a_billion_laughs_end_at_a_limit(fails):
    error = await fails(
        "let a = ['lol']; for (let i = 0; i < 40; i++) a = [a, a]; return a",
        limits=dataclasses.replace(LIMITS, cpu_seconds=0.4),
    )
    assert error.code in {"memory_limit", "cpu_limit", "output_limit"}


@pytest.mark.parametrize(
    "arguments",
    [
        "{ s: 'x'.repeat(2 << 20) }",
        "{ a: Array(600_000).fill(0) }",
        "{ toJSON: () => ({ s: 'x'.repeat(2 << 20) }) }",
    ],
)
async def test_arguments_over_the_limit_never_arrive(run, arguments):
    async def host(call):
        raise AssertionError(call)

    outcome = await run(
        f"try {{ await mcp.a.b({arguments}) }} catch {{}} return 1", limits=LIMITS, host=host
    )
    assert outcome.error.code == "output_limit"
    assert outcome.calls == ()


async def test_an_error_over_the_limit_is_cut_or_refused(fails):
    error = await fails("throw new Error('x'.repeat(2 << 20))", limits=LIMITS)
    assert error.code in {"uncaught_error", "output_limit"}
    assert len(error.message) < 10_000


async def test_reading_a_result_of_many_small_objects_does_not_stall_the_loop(run, heartbeat):
    """4 MB of `{},{},...` become over a million Python objects."""
    async with heartbeat() as heart:
        outcome = await run("return Array(1_300_000).fill({})", limits=Limits(cpu_seconds=10))
    assert outcome.error.code == "result_not_json"
    assert "more than 100000 arrays and objects" in outcome.error.message
    assert heart.worst_seconds < 0.2


async def test_reading_arguments_of_many_small_objects_does_not_stall_the_loop(run, heartbeat):
    async def host(call):
        return len(call.args["a"])

    async with heartbeat() as heart:
        outcome = await run(
            "const a = Array(600_000).fill({}); return await Promise.all([mcp.a.b({ a }), mcp.a.b({ a }), mcp.a.b({ a })])",
            limits=Limits(cpu_seconds=10, memory_bytes=128 << 20), host=host,
        )  # fmt: skip
    assert outcome.error.code == "tool_error"
    assert outcome.error.tool_code == "invalid_arguments"
    assert heart.worst_seconds < 0.2


async def test_a_hosts_answer_over_the_limit_rejects_the_call(value):
    async def host(call):
        return "x" * (2 << 20)

    got = await value(
        "try { await mcp.a.b() } catch (e) { return e.code }",
        host=host,
        limits=Limits(input_bytes=1 << 20),
    )
    assert got == "input_limit"


@pytest.mark.parametrize("part", ["message", "code", "data"])
async def test_a_hosts_error_over_the_limit_rejects_the_call_all_the_same(value, part):
    async def host(call):
        parts = {"message": "m", part: "x" * (30 << 20)}
        raise ToolError(parts.pop("message"), **parts)

    got = await value("try { await mcp.a.b() } catch (e) { return e.name }", host=host)
    assert got == "McpError"
