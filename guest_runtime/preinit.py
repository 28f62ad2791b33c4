"""Runs the guest's initialisation once, at build time, and bakes the memory into the module.

A fresh sandbox then starts from a copy-on-write image instead of making a JavaScript context.
Every `errors.Rule` is checked. Initialisation may ask the host only for clock and random bytes
(answered with zeros) and for folders (none), so nothing of this machine is baked in and the same
input gives the same bytes. The guest must therefore seed its randomness and clock origin when it
starts, and let libc look for folders again. `_initialize` and `pml_init` are not exported
afterwards: a second run would corrupt the image.
"""

import struct
from collections.abc import Callable
from typing import Any

import wasmtime

from guest_runtime import wasm_image
from guest_runtime.errors import PreinitError, Rule

INITIALISERS = ("_initialize", "pml_init")
MEMORY_EXPORT = "memory"

_GLOBAL_PREFIX = "pml build global "
_STACK_POINTER = 0  # the linker makes it global 0, and `mutable_globals` proves it is there

_WASI = "wasi_snapshot_preview1"
_ERRNO_BADF = 8  # "no such descriptor": the end of the list of preopened folders
_ERRNO_NOSYS = 52
_TIMESTAMP_BYTES = 8


def preinitialise(module: bytes, *, stack_bytes: int) -> bytes:
    """Give the module whose memory starts as it is after `_initialize` and `pml_init`."""
    wasm_image.refuse_unsupported(module)
    guest = _Guest(wasm_image.with_globals_exported(module, _GLOBAL_PREFIX))
    before = guest.globals()
    for name in INITIALISERS:
        guest.call(name)
    if guest.asked:
        raise PreinitError(Rule.NO_HOST_CALLS, sorted(guest.asked))
    after = guest.globals()
    if after != before:
        raise PreinitError(Rule.GLOBALS_AT_REST, after)
    image = _without_stack(guest.memory(), before, stack_bytes)
    return wasm_image.with_image(module, image, drop_exports=frozenset(INITIALISERS))


def _without_stack(memory: bytes, values: dict[str, int], stack_bytes: int) -> bytes:
    """Blank what initialisation left on its stack: dead bytes that only enlarge the image."""
    top = values.get(f"{_GLOBAL_PREFIX}{_STACK_POINTER}", 0)
    if not stack_bytes <= top <= len(memory):
        raise PreinitError(Rule.STACK_FITS, top)
    return memory[: top - stack_bytes] + bytes(stack_bytes) + memory[top:]


class _Guest:
    """One instance, all imports stubs; `asked` collects those that should not be called."""

    def __init__(self, module: bytes) -> None:
        self.asked: set[str] = set()
        self._said = b""  # what initialisation wrote: why it failed
        engine = wasmtime.Engine()
        self._store = wasmtime.Store(engine)
        compiled = wasmtime.Module(engine, module)
        linker = wasmtime.Linker(engine)
        for wanted in compiled.imports:
            self._define(linker, wanted)
        self._exports = linker.instantiate(self._store, compiled).exports(self._store)

    def call(self, name: str) -> None:
        function = self._exports.get(name)
        if not isinstance(function, wasmtime.Func):
            raise PreinitError(Rule.INITIALISERS, sorted(self._exports))
        try:
            result = function(self._store)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
            raise PreinitError(Rule.INITIALISERS, f"{name}: {error}, {self.asked=}") from error
        if result not in (None, 0):
            raise PreinitError(
                Rule.INITIALISERS, f"{name}={result} {self._said.decode(errors='replace')}"
            )

    def globals(self) -> dict[str, int]:
        return {
            name: item.value(self._store)
            for name, item in self._exports.items()
            if name.startswith(_GLOBAL_PREFIX) and isinstance(item, wasmtime.Global)
        }

    def memory(self) -> bytes:
        memory = self._exports.get(MEMORY_EXPORT)
        if not isinstance(memory, wasmtime.Memory):
            raise PreinitError(Rule.MEMORY_EXPORTED, memory)
        return bytes(memory.read(self._store))

    def _define(self, linker: wasmtime.Linker, wanted: wasmtime.ImportType) -> None:
        kind, module, name = wanted.type, wanted.module, wanted.name or ""
        if not isinstance(kind, wasmtime.FuncType):
            raise PreinitError(Rule.ONLY_FUNCTION_IMPORTS, f"{module}.{name}")
        quiet = (
            self._listen if (module, name) == (_WASI, "fd_write") else _QUIET.get((module, name))
        )
        stub = quiet or self._recorder(f"{module}.{name}", kind)
        linker.define_func(module, name, kind, stub, access_caller=True)

    def _listen(
        self, caller: wasmtime.Caller, _fd: int, parts: int, count: int, written: int
    ) -> int:
        memory = caller[MEMORY_EXPORT]
        if not isinstance(memory, wasmtime.Memory):
            return _ERRNO_NOSYS
        said = b""
        for at in range(parts, parts + 8 * count, 8):
            start, length = struct.unpack("<II", memory.read(caller, at, at + 8))
            said += memory.read(caller, start, start + length)
        self._said += said
        memory.write(caller, struct.pack("<I", len(said)), written)
        return 0

    def _recorder(self, name: str, kind: wasmtime.FuncType) -> Callable[..., Any]:
        answer = [_ERRNO_NOSYS] * len(kind.results)

        def stub(_caller: wasmtime.Caller, *_arguments: Any) -> Any:
            self.asked.add(name)
            return answer[0] if answer else None

        return stub


def _zero(caller: wasmtime.Caller, at: int, count: int) -> int:
    memory = caller[MEMORY_EXPORT]
    if not isinstance(memory, wasmtime.Memory):
        return _ERRNO_NOSYS
    memory.write(caller, bytes(count), at)
    return 0


def _clock_time_get(caller: wasmtime.Caller, _clock: int, _precision: int, at: int) -> int:
    return _zero(caller, at, _TIMESTAMP_BYTES)


def _random_get(caller: wasmtime.Caller, at: int, count: int) -> int:
    return _zero(caller, at, count)


_QUIET: dict[tuple[str, str], Callable[..., int]] = {
    (_WASI, "clock_time_get"): _clock_time_get,
    (_WASI, "random_get"): _random_get,
    (_WASI, "fd_prestat_get"): lambda _caller, _descriptor, _at: _ERRNO_BADF,
}
