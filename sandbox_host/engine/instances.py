"""Guest instances and the calls into them, on stacks of their own.

wasmtime can run a call on a fiber: at each epoch tick the call yields and `Entry.poll` returns
False; polling again, from this thread or another, goes on where it stopped. That is what lets a
short slice run on the event loop's own thread and a long one move away from it, and what lets a
guest be dropped in the middle. wasmtime-py has no public face for this yet, so this file alone
uses its private bindings; `version.py` admits only releases it was proved on.
"""

import contextlib
import ctypes
from types import ModuleType
from typing import Any

import wasmtime
from wasmtime import _ffi as ffi

from sandbox_host.engine.ticker import RELAXED_TICKS
from sandbox_host.errors import (
    GuestCrashed,
    GuestProtocolError,
    LimitExceeded,
    ModuleInvalid,
    SandboxError,
)

resource: ModuleType | None = None
with contextlib.suppress(ImportError):  # Windows has no such limits
    import resource

WASM_STACK_BYTES = 2 << 20
"""Native stack of a guest. QuickJS stops itself earlier, at its own limit, with a RangeError."""

FIBER_STACK_BYTES = 4 << 20
"""The fiber: the guest's stack, and room for the host functions that run on top of it."""

WARM_GUESTS = 16
"""Guests of the warm engine. A slot of its pool keeps its pages, 2.4 MB, when its guest is freed:
the next one starts in half the time. More of them would only keep memory."""

ADDRESS_BYTES = 4 << 30
"""Reserved for each guest's memory: all that 32 bits can address, so that no access is checked."""

_GUARD_BYTES = 32 << 20
_RESIDENT_BYTES = 4 << 20
_RESIDENT_STACK_BYTES = 256 << 10
_TABLE_ELEMENTS = 20_000
_OTHERS = 48  # instances in the warm engine beside guests: erasers, forwarders of files
_START_TICKS = 25  # 50 ms, if a foreign module has a start function at all

_TRAPS = {
    "call stack exhausted": ("stack_limit", "the program recursed deeper than the guest's stack"),
    "out of memory": ("memory_limit", "the guest is out of memory"),
}

I32, I64 = 0, 1
FUNCTION_KIND, MEMORY_KIND = ffi.WASMTIME_EXTERN_FUNC.value, ffi.WASMTIME_EXTERN_MEMORY.value
_Trap = ctypes.POINTER(ffi.wasm_trap_t)
_Error = ctypes.POINTER(ffi.wasmtime_error_t)
_byref, _string_at, _memmove = ctypes.byref, ctypes.string_at, ctypes.memmove

# As in the bindings, but the pointer comes as a number: no object and no cast per access.
_memory_data = ffi.dll["wasmtime_memory_data"]
_memory_data.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_memory_data.restype = ctypes.c_void_p
_memory_size = ffi.dll["wasmtime_memory_data_size"]
_memory_size.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_memory_size.restype = ctypes.c_size_t


def address_space_is_limited() -> bool:
    """Say whether `ulimit -v` holds: a pool's reservation would then end the process."""
    return resource is not None and (
        resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    )


def new_engine(*, warm: bool) -> wasmtime.Engine:
    """Give an engine: a warm one has a few guests in a pool, the other maps each by itself."""
    config = wasmtime.Config()
    config.epoch_interruption = True
    # a store's memory limit is per memory: one memory, of 32 bits, of one thread
    config.wasm_multi_memory = False
    config.wasm_memory64 = False
    config.wasm_threads = False
    config.max_wasm_stack = WASM_STACK_BYTES
    config.memory_reservation = ADDRESS_BYTES
    config.memory_guard_size = _GUARD_BYTES
    ffi.wasmtime_config_async_stack_size_set(config.ptr(), FIBER_STACK_BYTES)
    if warm:
        _use_pool(config)
    return wasmtime.Engine(config)


def _use_pool(config: wasmtime.Config) -> None:
    """Keep the memory of freed guests mapped: the next one need not fault its pages in."""
    pool = ffi.wasmtime_pooling_allocation_config_new()
    for name, value in (
        ("total_core_instances", WARM_GUESTS + _OTHERS),
        ("total_memories", WARM_GUESTS + _OTHERS),
        ("total_tables", WARM_GUESTS + _OTHERS),
        ("total_stacks", WARM_GUESTS + _OTHERS),
        ("max_memory_size", ADDRESS_BYTES),
        ("table_elements", _TABLE_ELEMENTS),
        ("linear_memory_keep_resident", _RESIDENT_BYTES),
        ("async_stack_keep_resident", _RESIDENT_STACK_BYTES),
        ("table_keep_resident", 8 * _TABLE_ELEMENTS),
    ):
        getattr(ffi, f"wasmtime_pooling_allocation_config_{name}_set")(pool, value)
    ffi.wasmtime_pooling_allocation_strategy_set(config.ptr(), pool)
    ffi.wasmtime_pooling_allocation_config_delete(pool)


SETTINGS = (
    f"epoch,one-memory,stack={WASM_STACK_BYTES},fiber={FIBER_STACK_BYTES},"
    f"address={ADDRESS_BYTES},guard={_GUARD_BYTES}"
)
"""The settings as text: part of the key under which compiled modules are cached."""


def new_store(
    engine: wasmtime.Engine, memory_bytes: int, wasi: wasmtime.WasiConfig
) -> wasmtime.Store:
    """Give a store that yields at every epoch tick and cannot grow past its limits."""
    store = wasmtime.Store(engine)
    store.set_wasi(wasi)
    # two instances: the guest and the forwarder of the file guard; a table for each
    store.set_limits(
        memory_size=memory_bytes, instances=2, memories=2, tables=4, table_elements=_TABLE_ELEMENTS
    )
    ffi.wasmtime_context_epoch_deadline_async_yield_and_update(store._context(), 1)
    return store


class Entry:
    """One call in progress. Whoever began it polls it to its end or closes it."""

    __slots__ = ("_arguments", "_context", "_error", "_function", "_future", "_results", "_trap")

    def __init__(
        self, context: Any, function: Any, arguments: tuple[tuple[int, int], ...], results: int = 1
    ) -> None:
        """Begin a call of `function`; nothing runs before the first poll."""
        count = len(arguments)
        values = (ffi.wasmtime_val_t * count)() if count else (ffi.wasmtime_val_t * 1)()
        for value, (kind, number) in zip(values, arguments, strict=False):
            value.kind = kind
            if kind == I32:
                value.of.i32 = number
            else:
                value.of.i64 = number
        # kept, because wasmtime reads and writes them while the call goes on
        self._function, self._arguments = function, values
        self._results = (ffi.wasmtime_val_t * 1)()
        self._trap, self._error = _Trap(), _Error()
        self._context = context
        # set before every entry: the ticks that passed while the guest was at rest do not count
        ffi.wasmtime_context_epoch_deadline_async_yield_and_update(context, 1)
        ffi.wasmtime_context_set_epoch_deadline(context, 1)
        self._future: Any = ffi.wasmtime_func_call_async(
            context, _byref(function), values, count, self._results, results,
            _byref(self._trap), _byref(self._error),
        )  # fmt: skip

    def poll(self) -> bool:
        """Run until the call is done (True) or an epoch tick passed (False)."""
        if self._future is None:
            raise GuestCrashed("it was closed")
        if not ffi.wasmtime_call_future_poll(self._future):
            return False
        self.close()
        if self._error or self._trap:
            raise self._failure()
        return True

    def relax(self) -> None:
        """Yield only every few ticks from now on: the call has a thread of its own."""
        ffi.wasmtime_context_epoch_deadline_async_yield_and_update(self._context, RELAXED_TICKS)

    @property
    def result(self) -> int:
        """The i32 that the function gave."""
        return int(self._results[0].of.i32)

    def close(self) -> None:
        """Drop the call. A guest that was in the middle of it must not be entered again."""
        if self._future is not None:
            ffi.wasmtime_call_future_delete(self._future)
            self._future = None

    def _failure(self) -> SandboxError:
        if self._error:
            text = str(wasmtime.WasmtimeError._from_ptr(self._error))
        else:
            text = str(wasmtime.Trap._from_ptr(self._trap))
        return trap_error(text)


def trap_error(text: str) -> SandboxError:
    """Name a trap; its backtrace of wasm offsets helps nobody."""
    for sign, (code, message) in _TRAPS.items():
        if sign in text:
            return LimitExceeded(code, message)
    lines = text.strip().splitlines() or ["unknown trap"]
    return GuestCrashed(lines[-1].strip())


class Instance:
    """One instantiated module in its own store. Any thread, but one at a time."""

    def __init__(self, pre: wasmtime.InstancePre, store: wasmtime.Store) -> None:
        """Instantiate; the store's limits apply."""
        self.store = store
        self.context = store._context()
        self._raw = ffi.wasmtime_instance_t()
        trap, error = _Trap(), _Error()
        ffi.wasmtime_context_set_epoch_deadline(self.context, 1)
        future = ffi.wasmtime_instance_pre_instantiate_async(
            pre.ptr(), self.context, _byref(self._raw), _byref(trap), _byref(error)
        )
        done = any(ffi.wasmtime_call_future_poll(future) for _ in range(_START_TICKS))
        ffi.wasmtime_call_future_delete(future)
        if not done:
            raise LimitExceeded("cpu_limit", "the module's start function does not end")
        if error:
            text = str(wasmtime.WasmtimeError._from_ptr(error))
            raise ModuleInvalid(text.strip().splitlines()[-1])
        if trap:
            raise trap_error(str(wasmtime.Trap._from_ptr(trap)))
        self.memory = Memory(self.context, self._export("memory", MEMORY_KIND).memory)

    def function(self, name: str) -> Any:
        """Give an exported function, to begin entries with."""
        return self._export(name, FUNCTION_KIND).func

    def enter(self, function: Any, *arguments: int, results: int = 1) -> Entry:
        """Begin a call with i32 arguments and one i32 result, or none."""
        return Entry(self.context, function, tuple((I32, number) for number in arguments), results)

    def close(self) -> None:
        """Free everything of this guest at once."""
        self.store.close()

    def _export(self, name: str, kind: int) -> Any:
        item = ffi.wasmtime_extern_t()
        text = name.encode()
        buffer = ctypes.create_string_buffer(text, len(text))
        if not ffi.wasmtime_instance_export_get(
            self.context, _byref(self._raw), buffer, len(text), _byref(item)
        ):
            raise ModuleInvalid(f"it exports no `{name}`")
        if int(item.kind) != kind:  # the union would be read as something it is not
            raise ModuleInvalid(f"its `{name}` is of the wrong kind")
        return item.of


class Memory:
    """A guest's linear memory. Every access is checked against its size at that moment."""

    __slots__ = ("_context", "_raw", "_reference")

    def __init__(self, context: Any, raw: Any) -> None:
        """Hold the memory; nothing is read yet."""
        self._context = context
        self._raw = ffi.wasmtime_memory_t.from_buffer_copy(raw)
        self._reference = _byref(self._raw)

    def size(self) -> int:
        """Give the number of bytes."""
        return int(_memory_size(self._context, self._reference))

    def window(self) -> "Window":
        """Give access to it as it is now; true until the guest is entered again."""
        address = _memory_data(self._context, self._reference) or 0
        return Window(address, _memory_size(self._context, self._reference))

    def read(self, at: int, count: int) -> bytes:
        """Copy bytes out."""
        return self.window().read(at, count)

    def write(self, at: int, data: bytes) -> None:
        """Copy bytes in."""
        self.window().write(at, data)

    def grow_to(self, count: int) -> None:
        """Grow to at least `count` bytes, or fail as the guest would."""
        missing = count - self.size()
        if missing <= 0:
            return
        before = ctypes.c_uint64()
        error = ffi.wasmtime_memory_grow(
            self._context, _byref(self._raw), (missing + 0xFFFF) >> 16, _byref(before)
        )
        if error:
            wasmtime.WasmtimeError._from_ptr(error)
            raise LimitExceeded("memory_limit", "the guest's memory is larger than the limit")


class Window:
    """A guest's memory at rest: for several accesses in a row."""

    __slots__ = ("_address", "_size")

    def __init__(self, address: int, size: int) -> None:
        """Hold where it stands in this process."""
        self._address = address
        self._size = size

    def read(self, at: int, count: int) -> bytes:
        """Copy bytes out."""
        if at < 0 or count < 0 or at + count > self._size:
            raise GuestCrashed("it pointed outside its memory")
        return _string_at(self._address + at, count)

    def write(self, at: int, data: bytes) -> None:
        """Copy bytes in."""
        if at < 0 or at + len(data) > self._size:
            raise GuestCrashed("it pointed outside its memory")
        _memmove(self._address + at, data, len(data))


def memory_of(caller: wasmtime.Caller) -> Memory:
    """Give the memory of the module that called a host function."""
    memory = caller.get("memory")
    if not isinstance(memory, wasmtime.Memory):
        raise GuestProtocolError("it exports no memory")
    return Memory(caller._context(), memory._memory)
