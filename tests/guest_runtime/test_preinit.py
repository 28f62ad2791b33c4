"""The rewritten module starts where initialisation ended, and rule breakers are refused."""

from collections.abc import Mapping

import pytest
import wasmtime
from hypothesis import given
from hypothesis import strategies as st

from guest_runtime import preinit, wasm_image
from guest_runtime.errors import PreinitError

STACK = 65_536

# A guest in miniature: init writes to memory, grows it, uses its stack, reads the clock.
GUEST = """
(module
  {imports}
  (import "wasi_snapshot_preview1" "clock_time_get"
    (func $clock (param i32 i64 i32) (result i32)))
  (memory (export "memory") {memory})
  (global $sp (mut i32) (i32.const 65536))
  (global $other (mut i64) (i64.const -5))
  (global (export "constant") f64 (f64.const 0.5))
  (data (i32.const 66000) "hello")
  (func (export "_initialize") (i32.store (i32.const 65000) (i32.const 7)))
  (func (export "pml_init") (result i32)
    (drop (call $clock (i32.const 0) (i64.const 0) (i32.const 70000)))
    (drop (memory.grow (i32.const 1)))
    (i32.store (i32.const 140000) (i32.const 42))
    {init})
  (func (export "read") (param i32) (result i32) (i32.load (local.get 0)))
  {rest})
"""


def guest(
    imports: str = "", memory: str = "2", init: str = "(i32.const 0)", rest: str = ""
) -> bytes:
    text = GUEST.format(imports=imports, memory=memory, init=init, rest=rest)
    return bytes(wasmtime.wat2wasm(text))


def start(module: bytes) -> tuple[wasmtime.Store, Mapping[str, object]]:
    engine = wasmtime.Engine()
    store = wasmtime.Store(engine)
    compiled = wasmtime.Module(engine, module)
    linker = wasmtime.Linker(engine)
    linker.define_unknown_imports_as_traps(compiled)
    return store, linker.instantiate(store, compiled).exports(store)


def read(module: bytes, address: int) -> int:
    store, exports = start(module)
    function = exports["read"]
    assert isinstance(function, wasmtime.Func)
    return int(function(store, address))


def test_memory_starts_as_initialisation_left_it() -> None:
    ready = preinit.preinitialise(guest(), stack_bytes=STACK)
    assert read(ready, 140_000) == 42
    assert read(ready, 66_000) == int.from_bytes(b"hell", "little")


def test_memory_keeps_the_size_it_grew_to() -> None:
    store, exports = start(preinit.preinitialise(guest(), stack_bytes=STACK))
    memory = exports["memory"]
    assert isinstance(memory, wasmtime.Memory)
    assert memory.size(store) == 3


def test_what_initialisation_left_on_its_stack_is_blank() -> None:
    assert read(preinit.preinitialise(guest(), stack_bytes=STACK), 65_000) == 0


def test_initialisers_are_no_longer_exported() -> None:
    _, exports = start(preinit.preinitialise(guest(), stack_bytes=STACK))
    assert sorted(exports) == ["constant", "memory", "read"]


def test_a_start_function_does_not_run_again() -> None:
    counting = """(func $count (i32.store (i32.const 68000)
        (i32.add (i32.const 1) (i32.load (i32.const 68000))))) (start $count)"""
    assert read(preinit.preinitialise(guest(rest=counting), stack_bytes=STACK), 68_000) == 1


def test_the_same_guest_gives_the_same_bytes() -> None:
    first = preinit.preinitialise(guest(), stack_bytes=STACK)
    assert first == preinit.preinitialise(guest(), stack_bytes=STACK)


PASSIVE = '(data "passive")'
SECOND_MEMORY = "(memory 1)"
IMPORTED_GLOBAL = '(import "env" "g" (global i32))'
HOST_CALL = '(import "mcp" "call" (func $call (param i32)))'


@pytest.mark.parametrize(
    ("module", "rule"),
    [
        (guest(rest=PASSIVE), "data segments are active"),
        (guest(rest=SECOND_MEMORY), "one memory"),
        (guest(imports=IMPORTED_GLOBAL), "imports only functions"),
        (guest(memory="2 9 shared"), "one memory"),
        (guest(init="(i32.const 3)"), "pml_init=3"),
        (guest(init="unreachable"), "unreachable"),
        (guest(init="(global.set $sp (i32.const 9)) (i32.const 0)"), "initial value"),
        (guest(init="(global.set $other (i64.const 9)) (i32.const 0)"), "initial value"),
        (guest(imports=HOST_CALL, init="(call $call (i32.const 1)) (i32.const 0)"), "mcp.call"),
        (b"\0asm\x0d\0\x01\0", "core wasm module"),
    ],
)
def test_a_guest_that_breaks_a_rule_is_refused(module: bytes, rule: str) -> None:
    with pytest.raises(PreinitError, match=rule):
        preinit.preinitialise(module, stack_bytes=STACK)


def test_what_a_failing_initialisation_wrote_is_shown() -> None:
    imports = """(import "wasi_snapshot_preview1" "fd_write"
        (func $write (param i32 i32 i32 i32) (result i32)))"""
    init = """(i32.store (i32.const 80000) (i32.const 66000))
        (i32.store (i32.const 80004) (i32.const 5))
        (drop (call $write (i32.const 2) (i32.const 80000) (i32.const 1) (i32.const 80008)))
        (i32.const 1)"""
    with pytest.raises(PreinitError, match="pml_init=1 hello"):
        preinit.preinitialise(guest(imports=imports, init=init), stack_bytes=STACK)


def test_initialisation_is_told_that_there_are_no_folders() -> None:
    imports = """(import "wasi_snapshot_preview1" "fd_prestat_get"
        (func $prestat (param i32 i32) (result i32)))"""
    init = "(i32.sub (call $prestat (i32.const 3) (i32.const 80000)) (i32.const 8))"
    preinit.preinitialise(guest(imports=imports, init=init), stack_bytes=STACK)


def test_a_stack_larger_than_its_place_is_refused() -> None:
    with pytest.raises(PreinitError, match="stack pointer"):
        preinit.preinitialise(guest(), stack_bytes=STACK + 1)


@given(st.integers(0, 2**32 - 1))
def test_unsigned_numbers_round_trip(value: int) -> None:
    assert wasm_image.Reader(wasm_image.unsigned(value)).unsigned() == value


@given(st.integers(-(2**31), 2**31 - 1))
def test_signed_numbers_end_where_they_should(value: int) -> None:
    encoded = wasm_image.signed(value)
    raw = wasm_image.Reader(encoded).unsigned()
    bits = 7 * len(encoded)
    assert (raw - (1 << bits) if raw >> (bits - 1) else raw) == value


@given(st.lists(st.tuples(st.integers(0, 65_535), st.binary(min_size=1, max_size=9)), max_size=8))
def test_segments_rebuild_the_memory(writes: list[tuple[int, bytes]]) -> None:
    memory = bytearray(65_536 * 2)
    for offset, data in writes:
        memory[offset : offset + len(data)] = data
    rebuilt = bytearray(len(memory))
    for offset, data in wasm_image.non_zero_runs(bytes(memory)):
        rebuilt[offset : offset + len(data)] = data
    assert rebuilt == memory
