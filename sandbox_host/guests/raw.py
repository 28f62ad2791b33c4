"""Raw WebAssembly: modules in any language that import `mcp` functions and wait in them.

`guest_runtime/README.md` lists the functions. A call waits on the guest's own fiber, so it costs
no thread; but the module keeps its stack while it waits, so it cannot be put on disk. Files are
open to it at any time, so its entries never run on the event loop's thread.
"""

from collections.abc import Callable, Sequence
from typing import Any

import wasmtime

from sandbox_host.abi import LOG_LINE_BYTES
from sandbox_host.engine.guard import Files, Guard, wasi_config
from sandbox_host.engine.instances import Entry as FiberEntry
from sandbox_host.engine.instances import Instance, Memory, memory_of, new_store
from sandbox_host.engine.runtime import Runtime
from sandbox_host.engine.waiting import define_waiting
from sandbox_host.errors import (
    CannotSuspend,
    GuestCrashed,
    GuestProtocolError,
    LimitExceeded,
    ModuleInvalid,
    SandboxError,
    UncaughtError,
    printable,
)
from sandbox_host.guests.guest import TOOL, Answer, Asked, GuestState, Program, Slice
from sandbox_host.limits import Limits
from sandbox_host.mounts import OpenedMount
from sandbox_host.outcome import LEVELS, Log

IMPORTS = "mcp"
ENTRY = "run"
_UNSIGNED = 0xFFFFFFFF


class RawGuest:
    """One instance of a foreign module."""

    can_suspend = False

    def __init__(
        self,
        runtime: Runtime,
        module: wasmtime.Module,
        limits: Limits,
        mounts: Sequence[OpenedMount],
    ) -> None:
        """Instantiate; a module that imports anything but `mcp` and WASI is refused."""
        self._runtime = runtime
        self.ticker = runtime.ticker
        self._module = module
        self._limits = limits
        self._args = b"{}"
        self._asked: list[Asked] = []
        self._logs: list[Log] = []
        self._log_bytes = 0
        self._calls = 0
        self._answer: Answer | None = None
        self._given = b""
        self._value: bytes | None = None
        self._failure: SandboxError | None = None
        store = new_store(runtime.engine, limits.memory_bytes, wasi_config(mounts))
        linker = wasmtime.Linker(runtime.engine)
        linker.define_wasi()
        runtime.guard.define(linker)
        self._kept = self._define(linker)
        try:
            self._instance = Instance(linker.instantiate_pre(module), store)
        except wasmtime.WasmtimeError as error:
            raise ModuleInvalid(str(error).strip().splitlines()[0]) from None
        self._files = runtime.guard.open(store, mounts)
        self._entry: FiberEntry | None = None
        runtime.count(1)

    def start(self, program: Program, now_ms: float) -> "RawEntry":
        """Call the module's `run`."""
        self._args = program.args
        name = program.entry or ENTRY
        results = _results_of(self._module, name)
        self._entry = self._instance.enter(self._instance.function(name), results=results)
        return RawEntry(self._entry, self._left, self._runtime.guard, self._files)

    def settle(
        self,
        answers: Sequence[Answer],
        now_ms: float,
        *,
        tick: bool,
        files: bool,
    ) -> "RawEntry":
        """Let the call that waits come back."""
        if self._entry is None or len(answers) != 1:
            raise GuestProtocolError("an answer that nothing waits for")
        self._answer = answers[0]
        return RawEntry(self._entry, self._left, self._runtime.guard, self._files)

    def snapshot(self) -> GuestState:
        """Refuse: the stack is not in memory."""
        raise CannotSuspend(ENTRY)

    def restore(self, state: GuestState) -> None:
        """Refuse: there are no snapshots of this kind."""
        raise CannotSuspend(ENTRY)

    def refusals(self) -> tuple[str, ...]:
        """Give the file operations that the guard refused."""
        return tuple(self._files.refused)

    def close(self) -> None:
        """Free it, also while it waits."""
        if self._entry is not None:
            self._entry.close()
        self._instance.close()
        self._runtime.count(-1)

    def _define(self, linker: wasmtime.Linker) -> Any:
        i32 = wasmtime.ValType.i32()

        def define(
            name: str, params: int, results: int, function: Callable[..., int | None]
        ) -> None:
            kind = wasmtime.FuncType([i32] * params, [i32] * results)
            called = self._safely(function, results=results)
            linker.define_func(IMPORTS, name, kind, called, access_caller=True)

        define("args_size", 0, 1, lambda _: len(self._args))
        define("args_read", 2, 1, lambda memory, at, room: _copy(memory, self._args, at, room))
        define("answer_read", 2, 1, lambda memory, at, room: _copy(memory, self._given, at, room))
        define("result", 2, 0, self._result)
        define("fail", 2, 0, self._fail)
        define("log", 3, 0, self._log)
        return define_waiting(linker, IMPORTS, "call", 4, self._begin, self._ended)

    def _safely(self, function: Callable[..., int | None], *, results: int) -> Callable[..., Any]:
        """Keep exceptions out of wasmtime: the first one ends the run after this entry."""
        nothing = 0 if results else None

        def call(caller: wasmtime.Caller, *arguments: int) -> int | None:
            try:
                unsigned = (argument & _UNSIGNED for argument in arguments)
                return function(memory_of(caller), *unsigned)
            except SandboxError as error:
                self._failure = self._failure or error
                return nothing
            except Exception as error:  # noqa: BLE001 - wasmtime would raise it in another guest
                self._failure = self._failure or GuestCrashed(f"a host function failed: {error}")
                return nothing

        return call

    def _begin(self, memory: Memory | None, arguments: tuple[int, ...]) -> None:
        try:
            if memory is None:
                raise GuestProtocolError("it calls without a memory")
            name_at, name_bytes, args_at, args_bytes = (number & _UNSIGNED for number in arguments)
            self._calls += 1
            if self._calls > self._limits.calls:
                raise LimitExceeded(
                    "call_limit", f"the module made more than {self._limits.calls} calls"
                )
            if args_bytes > self._limits.output_bytes:
                raise LimitExceeded(
                    "output_limit", "a call's arguments are larger than the output limit"
                )
            tool = memory.read(name_at, min(name_bytes, 1024)).decode(errors="replace")
            if not TOOL.fullmatch(tool):
                raise GuestProtocolError("a tool name of the wrong form")
            args = memory.read(args_at, args_bytes) or b"{}"
            self._asked.append(Asked(self._calls, tool, args, 0, 0))
        except SandboxError as error:
            self._failure = self._failure or error

    def _ended(self) -> int | None:
        """Give the answer's size once it is there, negative for an error."""
        if self._answer is None:
            return None
        answer, self._answer = self._answer, None
        self._given = answer.json
        return len(self._given) if answer.ok else -len(self._given)

    def _result(self, memory: Memory, at: int, count: int) -> None:
        if count > self._limits.output_bytes:
            raise LimitExceeded("output_limit", "the result is larger than the output limit")
        self._value = memory.read(at, count)

    def _fail(self, memory: Memory, at: int, count: int) -> None:
        message = memory.read(at, min(count, self._limits.output_bytes)).decode(errors="replace")
        self._failure = self._failure or UncaughtError("Error", printable(message))

    def _log(self, memory: Memory, level: int, at: int, count: int) -> None:
        self._log_bytes += count + LOG_LINE_BYTES
        if self._log_bytes > self._limits.log_bytes:
            raise LimitExceeded("log_limit", "the log output is larger than the log limit")
        text = memory.read(at, count).decode(errors="replace")
        self._logs.append(Log(LEVELS[min(level, len(LEVELS) - 1)], text))

    def _left(self, done: bool) -> Slice | None:
        """Give what the entry left, if the module has ended, failed or waits for a call."""
        if not (done or self._asked or self._failure):
            return None
        calls, self._asked = self._asked, []
        logs, self._logs = self._logs, []
        return Slice(calls, logs, (self._value or b"null") if done else None, self._failure)


def _results_of(module: wasmtime.Module, name: str) -> int:
    """Give how many results the entry has: none, or one to ignore. It takes nothing."""
    for export in module.exports:
        if export.name == name and isinstance(export.type, wasmtime.FuncType):
            if export.type.params or len(export.type.results) > 1:
                raise ModuleInvalid(f"its `{name}` takes parameters or gives several results")
            return len(export.type.results)
    raise ModuleInvalid(f"it exports no function `{name}`")


class RawEntry:
    """An entry into a module; it comes to rest when the module ends or waits for a call."""

    may_block = True

    def __init__(
        self, entry: FiberEntry, left: Callable[[bool], Slice | None], guard: Guard, files: Files
    ) -> None:
        """Hold the entry; it runs when it is polled."""
        self._entry = entry
        self._left = left
        self._guard = guard
        self._files = files

    def relax(self) -> None:
        """Let polls take longer."""
        self._entry.relax()

    def poll(self) -> Slice | None:
        """Go on for at most a tick."""
        with self._guard.serving(self._files):
            done = self._entry.poll()
        return self._left(done)


def _copy(memory: Memory, data: bytes, at: int, room: int) -> int:
    """Copy as much as there is room for; give how much there is in all."""
    memory.write(at, data[:room])
    return len(data)
