"""Every limit is hit once, and its error names it."""

import contextlib
from typing import Any

import pytest

from sandbox_host import SUSPEND, Completed, Failed, Host, Limits, Sandbox
from sandbox_host.engine.instances import WARM_GUESTS
from sandbox_host.engine.runtime import MOST_GUESTS

MEBIBYTE = 1 << 20


@pytest.mark.parametrize(
    ("code", "limits", "name"),
    [
        ("while (true) {}", Limits(cpu_seconds=0.1), "cpu_limit"),
        ("await mcp.wait.seconds({seconds: 60})", Limits(wall_seconds=0.1), "wall_limit"),
        ("await new Promise(done => setTimeout(done, 60_000))", Limits(wall_seconds=0.1), "wall_limit"),
        ("while (true) {}", Limits(wall_seconds=0.1), "wall_limit"),
        ("const a = []; while (true) a.push(new Array(1e5).fill(1))", Limits(memory_bytes=8 * MEBIBYTE), "memory_limit"),
        (" " * 2000, Limits(code_bytes=1000), "code_limit"),
        ("'x'.repeat(2000)", Limits(output_bytes=1024), "output_limit"),
        ("await mcp.echo.args({x: 'x'.repeat(2000)})", Limits(output_bytes=1024), "output_limit"),
        ("console.log('x'.repeat(2000))", Limits(log_bytes=1024), "log_limit"),
        ("for (let i = 0; i < 100; i++) console.log('x'.repeat(50))", Limits(log_bytes=1024), "log_limit"),
        ("for (let i = 0; i < 11; i++) mcp.math.add({a: 1, b: 2})", Limits(calls=10), "call_limit"),
        ("for (let i = 0; i < 11; i++) await mcp.math.add({a: 1, b: 2})", Limits(calls=10), "call_limit"),
    ],
)  # fmt: skip
async def test_a_used_up_budget_ends_the_run_by_name(
    run: Any, code: str, limits: Limits, name: str
) -> None:
    outcome = await run(code, limits=limits)
    assert outcome.error.code == name
    assert outcome.error.message


@pytest.mark.parametrize(
    ("code", "limits"),
    [
        ("for (let i = 0; i < 11; i++) mcp.math.add({a: 1, b: 2})", Limits(calls=10)),
        ("console.log('x'.repeat(2000))", Limits(log_bytes=1024)),
    ],
)
async def test_a_program_cannot_catch_the_end_of_its_budget(
    run: Any, code: str, limits: Limits
) -> None:
    caught = f"try {{ {code} }} catch {{ }} finally {{ console.log('!') }} return 'went on'"
    assert (await run(caught, limits=limits)).error.code in ("call_limit", "log_limit")


async def test_a_budget_is_exact(run: Any) -> None:
    code = "for (let i = 0; i < 10; i++) await mcp.math.add({a: 1, b: 2}); 'ok'"
    assert (await run(code, limits=Limits(calls=10))).value == "ok"
    assert (await run("'x'.repeat(1022)", limits=Limits(output_bytes=1024))).value == "x" * 1022
    assert (await run("console.log('x'.repeat(1008))", limits=Limits(log_bytes=1024))).logs


async def test_each_program_of_a_sandbox_has_the_whole_budget(host: Host) -> None:
    async with Sandbox(limits=Limits(calls=2, log_bytes=1024)) as sandbox:
        for _ in range(3):
            code = "await mcp.echo.args({}); await mcp.echo.args({}); console.log('x'.repeat(1000)); 1"
            outcome = await sandbox.run(code, host=host)
            assert isinstance(outcome, Completed), outcome


async def test_an_answer_larger_than_the_input_limit_rejects_its_call(run: Any) -> None:
    async def large(call: object) -> str:
        return "x" * 2000

    async with Sandbox(limits=Limits(input_bytes=1000)) as sandbox:
        outcome = await sandbox.run(
            "try { await mcp.a.b() } catch (e) { return e.code }", host=large
        )
    assert isinstance(outcome, Completed)
    assert outcome.value == "input_limit"


async def test_arguments_larger_than_the_input_limit_are_refused(run: Any) -> None:
    with pytest.raises(Exception, match="Limits.input_bytes=1000"):
        await run("1", args={"x": "x" * 2000}, limits=Limits(input_bytes=1000))


async def test_large_input_within_the_limits_arrives_whole(run: Any) -> None:
    data = {"x": "héllo" * 200_000}
    limits = Limits(output_bytes=8 * MEBIBYTE)
    assert (await run("return args", args=data, limits=limits)).value == data
    assert (await run("return await mcp.echo.args(args)", args=data, limits=limits)).value == data


async def test_out_of_memory_can_be_caught_and_lived_with(run: Any) -> None:
    code = "let n = 0; try { const a = []; while (true) { a.push(new Array(1e5).fill(1)); n++ } } catch (e) { return String(e) }"
    outcome = await run(code, limits=Limits(memory_bytes=8 * MEBIBYTE))
    assert outcome.value == "InternalError: out of memory"


async def test_deep_recursion_is_a_range_error_in_the_program(run: Any) -> None:
    code = "function f() { return f() + 1 } try { f() } catch (e) { return e.name }"
    assert (await run(code)).value == "RangeError"


@pytest.mark.parametrize(
    "wrong",
    [{"memory_bytes": 1}, {"memory_bytes": 5 << 32}, {"cpu_seconds": 0}, {"calls": -1}, {"wall_seconds": float("nan")}],
)  # fmt: skip
def test_limits_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="cannot work"):
        Limits(**wrong)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # a gigabyte: once is enough
async def test_more_guests_than_fit_are_refused_by_name_and_harm_nobody() -> None:
    async def never(call: object) -> Any:
        return SUSPEND

    async with contextlib.AsyncExitStack() as stack:
        first = await stack.enter_async_context(Sandbox())
        await first.run("await mcp.a.b({})", host=never)
        outcome: Any = None
        for _ in range(MOST_GUESTS + WARM_GUESTS):
            sandbox = await stack.enter_async_context(Sandbox())
            outcome = await sandbox.run("await mcp.a.b({})", host=never)
            if isinstance(outcome, Failed):
                break
        assert outcome.error.code == "guest_limit"
        assert (await first.resume({1: 7}, host=never)).value == 7
