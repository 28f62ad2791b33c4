"""The public face: what a program may be, what comes back, and how a sandbox lives."""

import threading
from typing import Any

import anyio
import pytest

from sandbox_host import (
    Call,
    Completed,
    Failed,
    Host,
    InvalidArguments,
    Limits,
    Sandbox,
    SandboxBusy,
    SandboxClosed,
    ToolError,
    UncaughtToolError,
)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1 + 1", 2),
        ("return 1 + 1", 2),
        ("const n: number = 20; n + 1", 21),
        ("const x = await Promise.resolve(5); x", 5),
        ("Promise.resolve([1, 2])", [1, 2]),
        ("return Promise.resolve({a: 1})", {"a": 1}),
        ("if (args.early) return 'early'; 'late'", "late"),
        ("let x = 1; { x += 1 } x", 2),
        ("", None),
        ("undefined", None),
        ("const f = () => 3", None),
        ("try { return 1 } finally { globalThis.done = true }", 1),
        ("for (const x of [1, 2, 3]) { if (x === 2) return x }", 2),
        ("enum Colour { Red, Green = 5 } return Colour.Green", 5),
        ("namespace N { export const z = 3 } return N.z", 3),
        ("class P { constructor(private a: number) {} get() { return this.a } } new P(4).get()", 4),
        ("return (args as any).missing ?? 'none'", "none"),
        ("// a comment at the end", None),
        ("#!/usr/bin/env deno\n7", 7),
        ("'use strict'; 8", 8),
        ("return new Date(0)", "1970-01-01T00:00:00.000Z"),
    ],
)  # fmt: skip
async def test_a_function_body_gives_its_return_or_its_last_expression(
    run: Any, code: str, value: object
) -> None:
    assert await run(code) == Completed(value)


@pytest.mark.parametrize(
    ("code", "call", "value"),
    [
        ("export async function read(args: {n: number}) { return args.n * 2 }", None, 8),
        ("export function a() { return 1 }\nexport function b(x) { return x.n }", "b", 4),
        ("export default async (args) => args.n + 1", None, 5),
        ("export default 42", None, 42),
        ("export async function callTool(name, args) { return [name, args.n] }", "go", ["go", 4]),
        ("const n = await Promise.resolve(3); export const f = () => n", None, 3),
        ("export async function callTool(n, a) {} ; export const x = 1; export const go = () => 9", "go", 9),
    ],
)  # fmt: skip
async def test_a_module_gives_what_its_export_gives(
    run: Any, code: str, call: str | None, value: object
) -> None:
    assert await run(code, call=call, args={"n": 4}) == Completed(value)


async def test_a_module_with_several_functions_asks_which(run: Any) -> None:
    outcome = await run("export const a = () => 1; export const b = () => 2")
    assert outcome.error.code == "uncaught_error"
    assert "name the one to call: a, b" in outcome.error.message
    outcome = await run("export const a = () => 1", call="z")
    assert "no function 'z'; it exports: a" in outcome.error.message
    outcome = await run("1 + 1", call="z")
    assert "no function 'z'; it exports: none" in outcome.error.message


async def test_calls_reach_the_host_with_tool_arguments_and_place(host: Host) -> None:
    seen: list[Call] = []

    async def recording(call: Call) -> Any:
        seen.append(call)
        return await host(call)

    async with Sandbox() as sandbox:
        code = "const n: number =\n  (await mcp.math.add({a: 1, b: 2})).sum; return n"
        outcome = await sandbox.run(code, host=recording, args={})
    assert isinstance(outcome, Completed)
    assert outcome.value == 3
    assert seen == [Call(1, "math:add", {"a": 1, "b": 2}, line=2, column=19)]
    (record,) = outcome.calls
    assert (record.tool, record.outcome, record.line, record.column) == ("math:add", "ok", 2, 19)
    assert record.milliseconds >= 0


async def test_places_of_calls_in_transformed_code_are_those_of_the_source(run: Any) -> None:
    outcome = await run("enum E { A,\n B }\nawait mcp.echo.args({})\nE.B")
    assert [(record.line, record.column) for record in outcome.calls] == [(3, 16)]


async def test_a_rejected_call_is_an_mcp_error_with_tool_code_and_data(run: Any) -> None:
    outcome = await run(
        "try { await mcp.no.tool({}) } catch (e) {"
        " return [e instanceof McpError, e instanceof Error, e.name, e.tool, e.code, e.message, e.data] }"
    )
    assert outcome.value == [
        True, True, "McpError", "no:tool", "unknown_tool", "no tool no:tool", {"asked": "no:tool"},
    ]  # fmt: skip
    assert outcome.calls[0].outcome == "error"


async def test_an_uncaught_tool_error_names_the_tool_and_the_line(run: Any) -> None:
    outcome = await run("const a = 1\nawait mcp.no.tool({})\n")
    assert isinstance(outcome.error, UncaughtToolError)
    assert (outcome.error.code, outcome.error.tool, outcome.error.tool_code) == (
        "tool_error", "no:tool", "unknown_tool",
    )  # fmt: skip
    assert (outcome.error.line, outcome.error.source_line) == (2, "await mcp.no.tool({})")


async def test_whatever_a_host_function_raises_rejects_the_call() -> None:
    async def raising(call: Call) -> Any:
        raise KeyError(call.args["n"])

    async with Sandbox() as sandbox:
        outcome = await sandbox.run(
            "try { await mcp.a.b({n: 7}) } catch (e) { return [e.code, e.message] }", host=raising
        )
    assert isinstance(outcome, Completed)
    assert outcome.value == ["host_error", "7"]


@pytest.mark.parametrize("bad", [{1, 2}, float("nan"), object(), b"bytes"])
async def test_an_answer_without_json_form_rejects_the_call(bad: object) -> None:
    async def host(call: Call) -> Any:
        return {"value": bad}

    async with Sandbox() as sandbox:
        outcome = await sandbox.run(
            "try { await mcp.a.b() } catch (e) { return e.code }", host=host
        )
    assert isinstance(outcome, Completed)
    assert outcome.value == "answer_not_json"


@pytest.mark.parametrize(
    "tool", ["find", "map", "then", "constructor", "__proto__", "toString", "a.b", "a-b"]
)
async def test_a_tool_may_have_any_name(run: Any, tool: str) -> None:
    outcome = await run(f"await mcp['srv']['{tool}']({{x: 1}})")
    assert outcome.error.tool == f"srv:{tool}"


async def test_awaiting_a_server_or_mcp_itself_ends(run: Any) -> None:
    outcome = await run(
        "const fs = await mcp.math; await mcp; return (await fs.add({a: 1, b: 1})).sum"
    )
    assert outcome.value == 2


@pytest.mark.parametrize(
    "expression",
    [
        "mcp.a.b([1])",
        "mcp.a.b('x')",
        "mcp.a.b(null)",
        "mcp.a.b(() => 1)",
        "mcp['a:b'].c()",
        "mcp.a['\\n']()",
    ],
)
async def test_bad_arguments_and_names_are_type_errors_in_the_program(
    run: Any, expression: str
) -> None:
    outcome = await run(f"try {{ {expression} }} catch (e) {{ return e.name }}")
    assert outcome == Completed("TypeError")


async def test_side_by_side_calls_run_at_once_and_keep_their_order() -> None:
    entered, most = 0, 0
    gate = anyio.Event()

    async def host(call: Call) -> Any:
        nonlocal entered, most
        entered += 1
        most = max(most, entered)
        if most == 20:
            gate.set()
        await gate.wait()
        entered -= 1
        return call.args["i"]

    async with Sandbox() as sandbox:
        with anyio.fail_after(20):
            outcome = await sandbox.run(
                "Promise.all(Array.from({length: 20}, (_, i) => mcp.t.go({i})))", host=host
            )
    assert isinstance(outcome, Completed)
    assert outcome.value == list(range(20))


async def test_calls_in_flight_are_bounded_and_the_rest_wait_their_turn() -> None:
    active, most = 0, 0

    async def host(call: Call) -> Any:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await anyio.sleep(0.001)
        active -= 1
        return call.args["i"]

    async with Sandbox(limits=Limits(calls_in_flight=3)) as sandbox:
        outcome = await sandbox.run(
            "(await Promise.all(Array.from({length: 30}, (_, i) => mcp.t.go({i})))).length",
            host=host,
        )
    assert isinstance(outcome, Completed)
    assert (outcome.value, most) == (30, 3)


async def test_timers_and_calls_go_on_together(run: Any) -> None:
    outcome = await run(
        "const first = await Promise.race(["
        " mcp.wait.seconds({seconds: 30}).then(() => 'call'),"
        " new Promise(done => setTimeout(() => done('timer'), 5))]); first",
        limits=Limits(wall_seconds=0.5),
    )
    # the program has its value, but a call it made is still in flight when the wall is reached
    assert outcome.error.code == "wall_limit"
    outcome = await run(
        "let n = 0; const stop = setInterval(() => n++, 1);"
        "await new Promise(done => setTimeout(done, 30)); clearInterval(stop); n > 3"
    )
    assert outcome.value is True


async def test_calls_nobody_awaits_are_still_made_before_the_program_is_complete(run: Any) -> None:
    outcome = await run("mcp.math.add({a: 1, b: 1}).then(r => console.log(r.sum)); 'done'")
    assert outcome.value == "done"
    assert [log.text for log in outcome.logs] == ["2"]
    assert [record.outcome for record in outcome.calls] == ["ok"]


async def test_a_rejection_that_nobody_handles_is_told_in_the_log(run: Any) -> None:
    outcome = await run("mcp.no.tool({}); Promise.reject(new TypeError('lost')); 1")
    assert outcome.value == 1
    assert [(log.level, log.text) for log in outcome.logs] == [
        ("error", "unhandled rejection: TypeError: lost"),
        ("error", "unhandled rejection: McpError: no tool no:tool"),
    ]


async def test_a_failed_program_cancels_what_it_still_waits_for() -> None:
    cancelled = False

    async def host(call: Call) -> Any:
        nonlocal cancelled
        if call.tool == "a:fail":
            raise ToolError("no")
        try:
            await anyio.sleep(60)
        except anyio.get_cancelled_exc_class():
            cancelled = True
            raise

    async with Sandbox() as sandbox:
        with anyio.fail_after(20):
            outcome = await sandbox.run(
                "await Promise.all([mcp.a.slow(), mcp.a.fail()])", host=host
            )
    assert isinstance(outcome, Failed)
    assert cancelled
    assert {record.tool: record.outcome for record in outcome.calls} == {
        "a:fail": "error", "a:slow": "cancelled",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("code", "line", "column", "source_line"),
    [
        ("const a = 1;\nconst b = ;", 2, 11, "const b = ;"),
        ("let x: = 3", 1, 8, "let x: = 3"),
        ("export const a = 1\nexport const b = ((", 2, 20, "export const b = (("),
        ("return 1 +", 1, 11, "return 1 +"),
    ],
)
async def test_a_syntax_error_names_line_column_and_source_line(
    run: Any, code: str, line: int, column: int, source_line: str
) -> None:
    error = (await run(code)).error
    assert error.code == "syntax_error"
    assert error.line == line
    assert error.source_line == source_line
    assert abs(error.column - column) <= 1, error.column


@pytest.mark.parametrize(
    ("code", "line", "column"),
    [
        ("throw new Error('x')", 1, 11),
        ("const a = 1\n\n  a.b.c", 3, 3),
        ("function f() {\n  null.x\n}\nf()", 2, 3),
        ("enum E { A }\nconst e: E = E.A\nthrow new TypeError('no ' + e)", 3, 29),
        ("export default () => {\n  throw new Error('m')\n}", 2, 13),
        ("const t = 'héllo 🎉'; null.x", 1, 22),
        ("const t: string = 'héllo 🎉'; null.x", 1, 30),
    ],
)
async def test_an_error_thrown_in_the_program_names_its_place(
    run: Any, code: str, line: int, column: int
) -> None:
    error = (await run(code)).error
    assert error.code == "uncaught_error"
    assert (error.line, error.column) == (line, column)
    assert error.source_line == code.split("\n")[line - 1]


async def test_throwing_something_that_is_no_error_is_told(run: Any) -> None:
    assert (await run("throw 'text'")).error.message == "Uncaught: text"
    assert (await run("throw {toString() { throw 1 }}")).error.code == "uncaught_error"


@pytest.mark.parametrize(
    "code", ["1n", "const a = {}; a.a = a; a", "({get x() { throw new Error('no') }})"]
)
async def test_a_value_without_json_form_is_named(run: Any, code: str) -> None:
    assert (await run(code)).error.code == "result_not_json"


async def test_a_program_that_waits_for_nothing_fails(run: Any) -> None:
    assert (await run("await new Promise(() => {})")).error.code == "deadlock"


async def test_console_output_comes_with_its_level(run: Any) -> None:
    outcome = await run(
        "console.log('a', {b: 1}); console.warn('w'); console.error('e'); console.debug('d')"
    )
    assert [(log.level, log.text) for log in outcome.logs] == [
        ("log", "a { b: 1 }"), ("warn", "w"), ("error", "e"), ("debug", "d"),
    ]  # fmt: skip


async def test_programs_in_one_sandbox_share_global_this_but_not_their_declarations(
    host: Host,
) -> None:
    async with Sandbox() as sandbox:
        assert await sandbox.run("const a = 1; globalThis.kept = 2; a", host=host) == Completed(1)
        assert await sandbox.run("const a = 5; [a, kept]", host=host) == Completed([5, 2])
        await sandbox.run("throw 1", host=host)
        assert await sandbox.run("typeof kept", host=host) == Completed("undefined")


async def test_two_sandboxes_share_nothing(host: Host) -> None:
    async with Sandbox() as one, Sandbox() as other:
        await one.run("globalThis.x = 1; Array.prototype.evil = 1", host=host)
        assert await other.run("[typeof x, [].evil]", host=host) == Completed(["undefined", None])


async def test_random_numbers_differ_between_sandboxes(run: Any) -> None:
    values = [(await run("[Math.random(), crypto.randomUUID()]")).value for _ in range(3)]
    assert len({str(value) for value in values}) == 3


async def test_a_sandbox_runs_one_program_at_a_time(host: Host) -> None:
    async with Sandbox() as sandbox:
        async with anyio.create_task_group() as tasks:
            running = anyio.Event()

            async def telling(call: Call) -> Any:
                running.set()
                return await host(call)

            tasks.start_soon(
                lambda: sandbox.run("await mcp.wait.seconds({seconds: 60})", host=telling)
            )
            await running.wait()
            with pytest.raises(SandboxBusy):
                await sandbox.run("1", host=host)
            tasks.cancel_scope.cancel()
        assert await sandbox.run("1", host=host) == Completed(1)


async def test_a_closed_sandbox_says_so(host: Host) -> None:
    sandbox = Sandbox()
    with pytest.raises(SandboxClosed):
        await sandbox.run("1", host=host)
    async with sandbox:
        pass
    await sandbox.aclose()
    with pytest.raises(SandboxClosed):
        await sandbox.run("1", host=host)


async def test_arguments_that_are_no_json_are_refused_before_anything_runs(host: Host) -> None:
    async with Sandbox() as sandbox:
        for bad in ({"a": object()}, float("inf")):
            with pytest.raises(InvalidArguments):
                await sandbox.run("1", host=host, args=bad)


async def test_cancelling_a_run_stops_the_guest_and_frees_the_sandbox(host: Host) -> None:
    async with Sandbox() as sandbox:
        for code in ("while (true) {}", "await mcp.wait.seconds({seconds: 60})"):
            with anyio.move_on_after(0.05) as scope:
                await sandbox.run(code, host=host)
            assert scope.cancelled_caught
        assert await sandbox.run("2", host=host) == Completed(2)


async def test_a_thousand_waiting_programs_need_no_thousand_threads() -> None:
    release = anyio.Event()
    waiting = 0

    async def host(call: Call) -> Any:
        nonlocal waiting
        waiting += 1
        await release.wait()
        return waiting

    async def one() -> None:
        async with Sandbox() as sandbox:
            outcome = await sandbox.run("await mcp.a.b({})", host=host)
            assert isinstance(outcome, Completed)

    async with anyio.create_task_group() as tasks:
        for _ in range(1000):
            tasks.start_soon(one)
        with anyio.fail_after(60):
            while waiting < 1000:
                await anyio.sleep(0.01)
        assert threading.active_count() < 60
        release.set()
