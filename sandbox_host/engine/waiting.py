"""A function that a guest calls and waits in: its fiber waits, no thread does."""

import ctypes
from collections.abc import Callable
from typing import Any

import wasmtime
from wasmtime import _ffi as ffi

from sandbox_host.engine.instances import I32, MEMORY_KIND, Memory

Begin = Callable[[Memory | None, tuple[int, ...]], None]
Ended = Callable[[], int | None]

_NO_FINALIZER = ctypes.cast(0, ctypes.CFUNCTYPE(None, ctypes.c_void_p))


def define_waiting(
    linker: wasmtime.Linker, module: str, name: str, params: int, begin: Begin, ended: Ended
) -> Any:
    """Define a function of i32s that gives an i32 once `ended` has one.

    `begin` gets the caller's memory, if it has one, and the arguments. Neither may raise. The
    result must be kept for as long as the linker's instances live.
    """
    into: list[Any] = []  # where the result goes; a guest waits in one call at a time

    def ready(_env: Any) -> bool:
        number = ended()
        if number is None:
            return False
        result = into.pop()
        result.kind = I32
        result.of.i32 = number
        return True

    proceed = ffi.wasmtime_func_async_continuation_callback_t(ready)

    def call(
        _env: Any, caller: Any, args: Any, count: int, results: Any, _n: int, _trap: Any, then: Any
    ) -> None:
        # first of all: wasmtime ends the process if there is nothing to go on with
        then[0].callback = proceed
        then[0].env = None
        then[0].finalizer = _NO_FINALIZER
        into.append(results[0])
        memory = _callers_memory(ffi.wasmtime_caller_context(caller), caller)
        begin(memory, tuple(args[i].of.i32 for i in range(count)))

    entered = ffi.wasmtime_func_async_callback_t(call)
    i32 = wasmtime.ValType.i32()
    kind = wasmtime.FuncType([i32] * params, [i32])
    module_text, name_text = module.encode(), name.encode()
    error = ffi.wasmtime_linker_define_async_func(
        linker.ptr(),
        ctypes.create_string_buffer(module_text, len(module_text)), len(module_text),
        ctypes.create_string_buffer(name_text, len(name_text)), len(name_text),
        kind.ptr(), entered, None, _NO_FINALIZER,
    )  # fmt: skip
    if error:
        raise wasmtime.WasmtimeError._from_ptr(error)
    return entered, proceed


def _callers_memory(context: Any, caller: Any) -> Memory | None:
    item = ffi.wasmtime_extern_t()
    name = ctypes.create_string_buffer(b"memory", 6)
    found = ffi.wasmtime_caller_export_get(caller, name, 6, ctypes.byref(item))
    if not found or int(item.kind) != MEMORY_KIND:
        return None
    return Memory(context, item.of.memory)
