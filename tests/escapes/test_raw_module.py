"""Attack: WebAssembly written by hand, which needs no bug in an engine to do what it likes inside its memory."""

import anyio
import pytest
import wasmtime

from sandbox_host import Completed, Failed, Limits, ModuleInvalid, Sandbox, SandboxError

LIMITS = Limits(
    memory_bytes=4 << 20,
    cpu_seconds=0.2,
    wall_seconds=5,
    log_bytes=2048,
    calls=50,
    output_bytes=2048,
)
MCP = """
(import "mcp" "call" (func $call (param i32 i32 i32 i32) (result i32)))
(import "mcp" "log" (func $log (param i32 i32 i32)))
(import "mcp" "result" (func $result (param i32 i32)))
(import "mcp" "fail" (func $fail (param i32 i32)))
(import "mcp" "args_read" (func $args_read (param i32 i32) (result i32)))
(import "mcp" "answer_read" (func $answer_read (param i32 i32) (result i32)))
"""


def module(body, head="", memory='(memory (export "memory") 1) (data (i32.const 0) "a:b{}")'):
    return wasmtime.wat2wasm(f'(module {MCP} {memory} {head} (func (export "run") {body}))')


@pytest.fixture
def run_raw():
    async def run_raw(wasm, *, limits=LIMITS, mounts=(), host=None):
        async def echo(call):
            return call.args

        async with Sandbox(limits=limits, mounts=mounts) as sandbox:
            try:
                outcome = await sandbox.run_wasm(bytes(wasm), host=host or echo)
            except SandboxError as error:
                return error.code
            after = await sandbox.run("return 1", host=echo)
            assert isinstance(after, Completed)
            return outcome.error.code if isinstance(outcome, Failed) else outcome.value

    return run_raw


CALL = "(drop (call $call (i32.const 0) (i32.const 3) (i32.const 3) (i32.const 2)))"
ENDINGS = {
    "an endless loop": ("(loop $l (br $l))", {"cpu_limit"}),
    "a loop of calls": (f"(loop $l {CALL} (br $l))", {"call_limit"}),
    "a loop of log lines": ("(loop $l (call $log (i32.const 1) (i32.const 0) (i32.const 5)) (br $l))", {"log_limit"}),
    "a loop of empty log lines": ("(loop $l (call $log (i32.const 1) (i32.const 0) (i32.const 0)) (br $l))", {"log_limit"}),
    "a log line outside the memory": ("(call $log (i32.const 1) (i32.const -16) (i32.const 64))", {"guest_crashed"}),
    "a log line of four gigabytes": ("(call $log (i32.const 1) (i32.const 0) (i32.const -1))", {"log_limit", "guest_crashed"}),
    "a result outside the memory": ("(call $result (i32.const -16) (i32.const 64))", {"guest_crashed"}),
    "a result too large": ("(call $result (i32.const 0) (i32.const 4096))", {"output_limit"}),
    "a result that is no JSON": ("(call $result (i32.const 0) (i32.const 3))", {"result_not_json"}),
    "a failure outside the memory": ("(call $fail (i32.const -16) (i32.const 64))", {"guest_crashed"}),
    "a call outside the memory": ("(drop (call $call (i32.const -16) (i32.const 3) (i32.const 3) (i32.const 2)))", {"guest_crashed"}),
    "a call with arguments too large": ("(drop (call $call (i32.const 0) (i32.const 3) (i32.const 3) (i32.const 60000)))", {"output_limit"}),
    "a call without a tool": ("(drop (call $call (i32.const 0) (i32.const 0) (i32.const 3) (i32.const 2)))", {"guest_protocol"}),
    "a call with a bad tool": ("(drop (call $call (i32.const 0) (i32.const 60000) (i32.const 3) (i32.const 2)))", {"guest_protocol"}),
    "reading the arguments over the end": ("(drop (call $args_read (i32.const -1) (i32.const -1)))", {"guest_crashed"}),
    "reading an answer that is not there": ("(drop (call $answer_read (i32.const 65535) (i32.const -1)))", {None, "guest_crashed"}),
    "recursion": ("(call $f)", {"stack_limit"}),
    "a trap": ("unreachable", {"guest_crashed"}),
    "an access outside": ("(drop (i64.load (i32.const -1)))", {"guest_crashed"}),
}  # fmt: skip


@pytest.mark.parametrize("what", ENDINGS)
async def test_it_ends_by_name(run_raw, what):
    body, names = ENDINGS[what]
    assert (
        await run_raw(module(body, head="(func $f (call $f) (drop (i32.const 0)) (call $f))"))
        in names
    )


async def test_memory_and_tables_stay_within_the_limits(run_raw):
    told = await run_raw(
        module("(loop $l (br_if $l (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))")
    )
    assert told is None  # growing is refused, and the module ends by itself
    table = "(table $t 1 funcref)"
    grow = "(loop $l (br_if $l (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1))))"
    assert await run_raw(module(grow, head=table)) is None
    for memory in ('(memory (export "memory") 1000)', '(memory (export "memory") 65536)'):
        assert await run_raw(module("", memory=memory)) in {"memory_limit", "module_invalid"}
    for head in (
        "(table 10000000 funcref)",
        "(table 1 funcref)" * 50,
        "".join(f"(memory $m{n} 1)" for n in range(20)),
    ):
        assert await run_raw(module("", head=head)) in {"module_invalid", "memory_limit"}


@pytest.mark.parametrize(
    "start",
    [
        "(loop $l (br $l))",
        CALL,
        "unreachable",
        "(drop (memory.grow (i32.const 100000)))",
        "(call $s)",
    ],
)
async def test_a_start_function_is_no_way_around(run_raw, heartbeat, start):
    async with heartbeat() as heart:
        told = await run_raw(module("", head=f"(func $s {start}) (start $s)"))
    assert told in {
        "cpu_limit",
        "guest_crashed",
        "module_invalid",
        "call_limit",
        "stack_limit",
        "guest_protocol",
        None,
    }
    assert heart.worst_seconds < 0.2


@pytest.mark.parametrize("name", ["poll_oneoff"])
async def test_it_cannot_sleep(run_raw, name):
    wasm = wasmtime.wat2wasm(
        f"""(module (import "wasi_snapshot_preview1" "{name}" (func $p (param i32 i32 i32 i32) (result i32)))
        (import "mcp" "result" (func $result (param i32 i32)))
        (memory (export "memory") 1) (data (i32.const 16) "\\01") (data (i32.const 24) "\\00\\f0\\5a\\2b\\17")
        (func (export "run") (i32.store8 (i32.const 900) (i32.add (i32.const 48) (i32.ne (i32.const 0)
            (call $p (i32.const 0) (i32.const 512) (i32.const 1) (i32.const 800))))) (call $result (i32.const 900) (i32.const 1))))"""
    )
    assert await run_raw(wasm) == 1


@pytest.mark.parametrize(
    "wasm",
    [b"", b"\0asm", b"\0asm\1\0\0\0", b"\0asm\1\0\0\0" + b"\xff" * 100, b"(module)", b"\0asm\x0d\0\1\0", b"not wasm", b"\x7fELF",
     bytes(wasmtime.wat2wasm('(module (import "env" "system" (func)) (memory (export "memory") 1) (func (export "run")))')),
     bytes(wasmtime.wat2wasm('(module (import "mcp" "secret" (func)) (memory (export "memory") 1) (func (export "run")))')),
     bytes(wasmtime.wat2wasm('(module (import "mcp" "log" (func (param i64))) (memory (export "memory") 1) (func (export "run")))')),
     bytes(wasmtime.wat2wasm('(module (func (export "run")))')), bytes(wasmtime.wat2wasm('(module (memory (export "memory") 1))')),
     bytes(wasmtime.wat2wasm('(module (memory (export "run") 1) (func (export "memory")))')),
     bytes(wasmtime.wat2wasm('(module (memory (export "memory") 1) (func (export "run") (param i32)))')),
     bytes(wasmtime.wat2wasm('(module (memory (export "memory") i64 1) (func (export "run")))'))],
    ids=range(16),
)  # fmt: skip
async def test_what_cannot_be_run_is_refused(run_raw, wasm):
    told = await run_raw(wasm)
    assert told in {ModuleInvalid.code, "guest_protocol", "guest_crashed"}


async def test_a_module_of_ten_megabytes_is_refused_unread(run_raw):
    assert await run_raw(b"\0asm\1\0\0\0" + bytes(10 << 20)) == "code_limit"


async def test_its_answers_stay_its_own(run_raw):
    """Two modules side by side wait in calls of the same number."""
    answers = {}

    async def go(number):
        async def host(call):
            await anyio.sleep(0.01)
            return number

        wasm = module(
            f"{CALL} (drop (call $answer_read (i32.const 100) (i32.const 1))) (call $result (i32.const 100) (i32.const 1))"
        )
        answers[number] = await run_raw(wasm, host=host)

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(go, number)
    assert answers == {number: number for number in range(8)}


async def test_memory_of_a_guest_that_is_gone_is_not_seen_by_the_next(run_raw):
    """Guests may share a pool of memory: what one leaves must be gone before another looks."""

    async def host(call):
        return None

    for _ in range(4):
        async with Sandbox() as sandbox:
            await sandbox.run(
                "globalThis.a = Array(50).fill(0).map((_, i) => 'SECRET'.repeat(3000) + i); return 1",
                host=host,
            )
    # gives 1 if any byte beyond the data is not zero
    scan = """(local $at i32) (local $sum i32) (local.set $at (i32.const 64))
        (drop (memory.grow (i32.const 60)))
        (loop $l (local.set $sum (i32.or (local.get $sum) (i32.load (local.get $at))))
            (local.set $at (i32.add (local.get $at) (i32.const 4)))
            (br_if $l (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536)))))
        (i32.store8 (i32.const 8) (i32.add (i32.const 48) (i32.ne (local.get $sum) (i32.const 0))))
        (call $result (i32.const 8) (i32.const 1))"""
    for _ in range(4):
        assert await run_raw(module(scan)) == 0


async def test_more_guests_than_there_is_room_for_are_refused_by_name():
    async def host(call):
        return None

    opened, told = [], set()
    try:
        for _ in range(1100):
            sandbox = await Sandbox().__aenter__()
            opened.append(sandbox)
            outcome = await sandbox.run("1", host=host)
            if isinstance(outcome, Failed):
                told.add(outcome.error.code)
                break
    finally:
        for sandbox in opened:
            await sandbox.aclose()
    assert len(opened) > 1000
    assert told <= {"memory_limit", "guest_limit", "too_many_guests"}
    async with Sandbox() as sandbox:
        assert isinstance(await sandbox.run("1", host=host), Completed)
