"""Raw WebAssembly: any module that imports `mcp` functions, held by the same limits and folders."""

from pathlib import Path
from typing import Any

import anyio
import pytest
import wasmtime

from sandbox_host import SUSPEND, Call, Completed, Failed, Limits, Mount, Sandbox, ToolError

HEAD = """
 (import "mcp" "call" (func $call (param i32 i32 i32 i32) (result i32)))
 (import "mcp" "answer_read" (func $answer (param i32 i32) (result i32)))
 (import "mcp" "args_size" (func $args_size (result i32)))
 (import "mcp" "args_read" (func $args (param i32 i32) (result i32)))
 (import "mcp" "result" (func $result (param i32 i32)))
 (import "mcp" "fail" (func $fail (param i32 i32)))
 (import "mcp" "log" (func $log (param i32 i32 i32)))
 (memory (export "memory") 2)
 (data (i32.const 0) "math:add") (data (i32.const 16) "{\\"a\\":40,\\"b\\":2}") (data (i32.const 64) "notool") (data (i32.const 72) "NaN")
"""
ADD = "(call $call (i32.const 0) (i32.const 8) (i32.const 16) (i32.const 14))"


def module(body: str, *, head: str = HEAD) -> bytes:
    return bytes(wasmtime.wat2wasm(f'(module {head} (func (export "run") (local $n i32) {body}))'))


async def add(call: Call) -> Any:
    await anyio.sleep(0)
    if call.tool != "math:add":
        raise ToolError("no such tool", code="unknown")
    return {"sum": call.args["a"] + call.args["b"]}


async def run(
    wasm: bytes, *, limits: Limits | None = None, mounts: Any = (), **options: Any
) -> Any:
    async with Sandbox(limits=limits, mounts=mounts) as sandbox:
        return await sandbox.run_wasm(wasm, host=options.pop("host", add), **options)


async def test_a_call_waits_for_its_answer() -> None:
    outcome = await run(
        module(
            f"{ADD} drop (local.set $n (call $answer (i32.const 100) (i32.const 1000))) (call $result (i32.const 100) (local.get $n))"
        )
    )
    assert isinstance(outcome, Completed)
    assert outcome.value == {"sum": 42}
    assert [(record.tool, record.outcome) for record in outcome.calls] == [("math:add", "ok")]


async def test_a_rejected_call_gives_a_negative_size_and_the_errors_json() -> None:
    async def refuse(call: Call) -> Any:
        raise ToolError("no", code="denied")

    wasm = module(
        f"(local.set $n (i32.sub (i32.const 0) {ADD})) (drop (call $answer (i32.const 100) (i32.const 1000)))"
        "(call $result (i32.const 100) (local.get $n))"
    )
    outcome = await run(wasm, host=refuse)
    assert outcome.value == {"message": "no", "code": "denied", "tool": "math:add"}


async def test_arguments_logs_and_no_result() -> None:
    wasm = module(
        "(drop (call $args (i32.const 100) (i32.const 1000))) (call $log (i32.const 3) (i32.const 100) (call $args_size))"
    )
    outcome = await run(wasm, args={"x": 1})
    assert (outcome.value, outcome.logs[0].level, outcome.logs[0].text) == (
        None,
        "warn",
        '{"x":1}',
    )


async def test_many_calls_in_a_loop() -> None:
    body = f"(loop $again {ADD} drop (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $again (i32.lt_s (local.get $n) (i32.const 200))))"
    outcome = await run(module(body))
    assert len(outcome.calls) == 200
    outcome = await run(module(body), limits=Limits(calls=100))
    assert outcome.error.code == "call_limit"


@pytest.mark.parametrize(
    ("body", "limits", "code"),
    [
        ("(loop (br 0))", Limits(cpu_seconds=0.1), "cpu_limit"),
        ("unreachable", Limits(), "guest_crashed"),
        ("(call $result (i32.const 0) (i32.const 5000))", Limits(output_bytes=1024), "output_limit"),
        ("(call $log (i32.const 0) (i32.const 0) (i32.const 5000))", Limits(log_bytes=1024), "log_limit"),
        ("(call $result (i32.const -1) (i32.const 100))", Limits(), "guest_crashed"),
        ("(call $fail (i32.const 0) (i32.const 8))", Limits(), "uncaught_error"),
        ("(drop (call $call (i32.const 64) (i32.const 6) (i32.const 0) (i32.const 0)))", Limits(), "guest_protocol"),
        ("(call $result (i32.const 0) (i32.const 8))", Limits(), "result_not_json"),
        ("(call $result (i32.const 72) (i32.const 3))", Limits(), "result_not_json"),
    ],
)  # fmt: skip
async def test_what_goes_wrong_in_a_module_has_a_name(
    body: str, limits: Limits, code: str
) -> None:
    outcome = await run(module(body), limits=limits)
    assert isinstance(outcome, Failed)
    assert outcome.error.code == code


async def test_memory_is_limited() -> None:
    wasm = module("(if (i32.eq (memory.grow (i32.const 200)) (i32.const -1)) (then unreachable))")
    assert isinstance(await run(wasm), Completed)
    assert (await run(wasm, limits=Limits(memory_bytes=4 << 20))).error.code == "guest_crashed"


@pytest.mark.parametrize(
    ("wasm", "reason"),
    [
        (b"", "does not begin"),
        (b"(module)", "does not begin"),
        (b"\0asm\1\0\0\0junk", ""),
        (bytes(wasmtime.wat2wasm('(module (memory (export "memory") 1))')), "exports no function `run`"),
        (bytes(wasmtime.wat2wasm('(module (func (export "run")))')), "exports no `memory`"),
        (bytes(wasmtime.wat2wasm('(module (memory (export "memory") 1) (func (export "run") (param i32)))')), "takes parameters"),
        (bytes(wasmtime.wat2wasm('(module (import "env" "evil" (func)) (memory (export "memory") 1) (func (export "run")))')), "evil"),
        (bytes(wasmtime.wat2wasm('(module (memory (export "memory") 1) (memory 1) (func (export "run")))')), ""),
    ],
)  # fmt: skip
async def test_bytes_that_are_no_usable_module_are_refused(wasm: bytes, reason: str) -> None:
    outcome = await run(wasm)
    assert outcome.error.code == "module_invalid"
    assert reason in outcome.error.message


async def test_a_module_cannot_be_suspended() -> None:
    async def later(call: Call) -> Any:
        return SUSPEND

    assert (await run(module(f"{ADD} drop"), host=later)).error.code == "cannot_suspend"


async def test_a_waiting_module_can_be_cancelled() -> None:
    async def never(call: Call) -> Any:
        await anyio.sleep(60)

    async with Sandbox() as sandbox:
        for body in (f"{ADD} drop", "(loop (br 0))"):
            with anyio.move_on_after(0.05) as scope:
                await sandbox.run_wasm(module(body), host=never)
            assert scope.cancelled_caught
        assert isinstance(await sandbox.run("1", host=add), Completed)


async def test_a_start_function_is_held_by_the_limits_too() -> None:
    wasm = bytes(
        wasmtime.wat2wasm(
            '(module (memory (export "memory") 1) (func (export "run")) (func $s (loop (br 0))) (start $s))'
        )
    )
    outcome = await run(wasm, limits=Limits(cpu_seconds=0.1))
    assert outcome.error.code in ("module_invalid", "cpu_limit")


OPEN = """
 (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
 (import "mcp" "result" (func $result (param i32 i32)))
 (memory (export "memory") 1) (data (i32.const 0) ".mcp.json") (data (i32.const 32) "free.txt")
"""


@pytest.mark.parametrize(("at", "length", "errno"), [(0, 9, 63), (32, 8, 0)])
async def test_the_guard_holds_for_modules_too(
    tmp_path: Path, at: int, length: int, errno: int
) -> None:
    body = (
        f"(if (i32.ne (i32.const {errno}) (call $open (i32.const 3) (i32.const 0) (i32.const {at}) (i32.const {length})"
        " (i32.const 1) (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 200))) (then unreachable))"
    )
    outcome = await run(module(body, head=OPEN), mounts=[Mount(tmp_path, writable=True)])
    assert isinstance(outcome, Completed), outcome
    assert [entry.name for entry in tmp_path.iterdir()] == (["free.txt"] if errno == 0 else [])
