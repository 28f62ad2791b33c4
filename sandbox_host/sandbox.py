"""The face of the package: a sandbox that runs one program at a time and can put it away.

`Sandbox` owns a guest and replaces it when a program failed or was cancelled. It knows neither how
a guest computes (`driving`) nor how it is served (`bridge`).
"""

import contextlib
import functools
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.to_thread

from sandbox_host import answers
from sandbox_host.bridge import Bridge, Progress, Service, waiting_calls, wall_limit
from sandbox_host.driving import Driver, LoopDebt, aside
from sandbox_host.engine.runtime import Runtimes, shared_runtimes
from sandbox_host.errors import (
    AnswersMismatch,
    InvalidArguments,
    NotSuspended,
    SandboxBusy,
    SandboxClosed,
    SandboxError,
)
from sandbox_host.guests.guest import Answer, Entry, Guest, Program
from sandbox_host.guests.quickjs import QuickJsGuest
from sandbox_host.limits import Limits
from sandbox_host.mounts import Mount, OpenedMount, opened_together
from sandbox_host.outcome import Call, CallOutcome, CallRecords, Failed, Host, Outcome, Suspended
from sandbox_host.programs import Erasers, load_raw, locator, place
from sandbox_host.snapshot import Origin, pack, unpack

_CLOSE_SECONDS = 10.0  # for a program to stop; longer than a worker may take to notice
_inside: ContextVar["Sandbox | None"] = ContextVar("pml_inside", default=None)
_ENTRY = re.compile(r"[^\x00-\x1f\ud800-\udfff]{1,32}")  # 128 bytes at the most, in the guest


def _check_entry(call: str | None) -> None:
    if call is not None and not _ENTRY.fullmatch(call):
        raise InvalidArguments(f"call={call!r} is no name of an exported function")


class Shared:
    """What sandboxes share: the engines, the erased sources, the loop's debt."""

    def __init__(self, runtimes: Runtimes) -> None:
        """Begin with nothing gathered."""
        self.runtimes = runtimes
        self.erasers = Erasers(runtimes.warm)
        self.debt = LoopDebt()

    async def prepare(self) -> None:
        """Load the second engine, off the loop, when the next guest will need it."""
        if self.runtimes.warm_is_full() and not self.runtimes.cold_is_loaded():
            await aside(self.runtimes.load_cold)


_SHARING = threading.Lock()


@functools.lru_cache(maxsize=1)
def _make_shared() -> Shared:
    return Shared(shared_runtimes())


def _shared() -> Shared:
    with _SHARING:
        return _make_shared()


class Sandbox:
    """A fresh WebAssembly guest for TypeScript and JavaScript.

    Use it as an async context manager. Programs run one after another in the same guest, so what
    one leaves on `globalThis` the next one sees; a program that fails takes the guest with it.
    `snapshot()`, and opening a restored sandbox, take time in proportion to the guest's memory, on
    the thread that calls them.
    """

    def __init__(self, *, limits: Limits | None = None, mounts: Sequence[Mount] = ()) -> None:
        """Say what programs may use; nothing is opened yet."""
        self._limits = limits or Limits()
        self._mounts = tuple(mounts)
        self._opened: tuple[OpenedMount, ...] = ()
        self._shared: Shared | None = None
        self._guest: Guest | None = None
        self._suspended: Progress | None = None
        self._source = ""
        self._running: anyio.CancelScope | None = None
        self._rested = anyio.Event()
        self._restoring: bytes | None = None
        self._refused: tuple[str, ...] = ()

    @classmethod
    def restore(
        cls, data: bytes, *, limits: Limits | None = None, mounts: Sequence[Mount] = ()
    ) -> "Sandbox":
        """Give a sandbox that holds a suspended program; open it, then `resume`.

        Limits and mounts are given anew: a snapshot grants nothing. The mounts must be the same.
        """
        sandbox = cls(limits=limits, mounts=mounts)
        sandbox._restoring = bytes(data)
        return sandbox

    async def __aenter__(self) -> Self:
        """Load the runtime if this is the first sandbox; open the mounts."""
        if _make_shared.cache_info().currsize:
            self._shared = _shared()
        else:
            self._shared = await anyio.to_thread.run_sync(_shared)
        self._opened = opened_together(self._mounts)
        if self._restoring is not None:
            self._unpack(self._restoring)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Free the guest."""
        await self.aclose()

    async def aclose(self) -> None:
        """Free the guest; a program that is running is stopped first. May be called twice.

        A host function may close the sandbox whose call it is answering: the run then ends when
        that function does.
        """
        self._shared = None  # from now on nothing begins here
        running = self._running
        if running is None:
            self._discard()
        else:
            running.cancel()
            if _inside.get() is not self:
                with anyio.CancelScope(shield=True), anyio.move_on_after(_CLOSE_SECONDS):
                    await self._rested.wait()

    async def run(
        self, code: str, *, host: Host, args: Any = None, call: str | None = None
    ) -> Outcome:
        """Run a program to its outcome.

        Args:
            code: a function body (top-level await and return; a last expression is its value) or
                an ES module, in TypeScript or JavaScript.
            host: answers the program's `mcp.*` calls.
            args: JSON data; the program's `args`.
            call: of a module, the exported function to call.
        """
        shared = self._ready()
        payload = answers.arguments(args, self._limits.input_bytes)
        _check_entry(call)
        with self._busy():
            try:
                erased = await shared.erasers.erase(code, self._limits.code_bytes)
                if self._guest is None:
                    await shared.prepare()
                    self._guest = self._new_guest(shared)
                entry = self._guest.start(self._program(erased.code.encode(), payload, call), 0.0)
            except SandboxError as error:
                self._discard()
                return Failed(error)
            self._source = code
            return await self._serve(
                self._guest, entry, Progress(), Service(host, locator(erased))
            )

    async def run_wasm(
        self, module: bytes, *, host: Host, args: Any = None, call: str | None = None
    ) -> Outcome:
        """Run a raw WebAssembly module that imports `mcp` functions, in a guest of its own.

        Args:
            module: the bytes; `guest_runtime/README.md` lists what it may import and must export.
            host: answers its calls; `SUSPEND` ends the run with `CannotSuspend`.
            args: JSON data that the module can read.
            call: the exported function to call, `run` if not given.
        """
        shared = self._ready()
        payload = answers.arguments(args, self._limits.input_bytes)
        _check_entry(call)
        with self._busy():
            self._discard()
            try:
                runtime = await aside(shared.runtimes.for_raw)
                with anyio.move_on_after(self._limits.wall_seconds) as wall:
                    self._guest = await load_raw(runtime, module, self._limits, self._opened)
                if wall.cancelled_caught or self._guest is None:
                    return Failed(wall_limit(self._limits.wall_seconds))
                entry = self._guest.start(self._program(b"", payload, call), 0.0)
            except SandboxError as error:
                self._discard()
                return Failed(error)
            return await self._serve(self._guest, entry, Progress(), Service(host))

    async def resume(self, answered: Mapping[int, Any], *, host: Host) -> Outcome:
        """Go on with a suspended program.

        Args:
            answered: for each call id its value, or an exception to reject the call with. Calls
                that are left out go on waiting.
            host: answers the calls that follow.
        """
        guest, progress = self._waiting()
        if not answered or not answered.keys() <= progress.waiting.keys():
            raise AnswersMismatch(answered, progress.waiting)
        with self._busy():
            erased = await self._open().erasers.erase(self._source, sys.maxsize)
            brought = [
                _settled(progress, progress.waiting.pop(number), value, self._limits.input_bytes)
                for number, value in answered.items()
            ]
            self._suspended = None
            try:
                entry = guest.settle(brought, progress.clock_ms, tick=False, files=False)
            except SandboxError as error:
                self._discard()
                return Failed(error, tuple(progress.logs), CallRecords(progress.records))
            return await self._serve(guest, entry, progress, Service(host, locator(erased)))

    def snapshot(self) -> bytes:
        """Give the suspended program as bytes; `Sandbox.restore` takes them, in any process."""
        guest, progress = self._waiting()
        return pack(self._origin(), self._source, guest.snapshot(), progress)

    @property
    def waiting(self) -> tuple[Call, ...]:
        """The calls that a suspended program waits for; after `restore` too."""
        return waiting_calls(self._suspended) if self._suspended else ()

    @property
    def refused_files(self) -> tuple[str, ...]:
        """What programs in this sandbox tried to do to protected files, for an audit."""
        return (*self._refused, *(self._guest.refusals() if self._guest else ()))

    async def _serve(
        self, guest: Guest, entry: Entry, progress: Progress, service: Service
    ) -> Outcome:
        """Serve a program until it rests; then keep the guest or give it up."""
        shared = self._open()
        driver = Driver(guest.ticker, shared.debt, self._limits.cpu_seconds)
        driver.cpu_seconds = progress.cpu_seconds
        outcome: Outcome | None = None
        try:
            outcome = await Bridge(guest, driver, self._limits, service, progress).run(entry)
        finally:
            if driver.lost:
                self._guest = None  # a worker thread is still inside: it cannot be freed
            if outcome is None or isinstance(outcome, Failed) or not guest.can_suspend:
                self._discard()
        if isinstance(outcome, Failed):
            place(outcome.error, self._source, service.original)
        if isinstance(outcome, Suspended):
            self._suspended = progress
        return outcome

    @contextlib.contextmanager
    def _busy(self) -> Iterator[None]:
        """Keep other programs out, and let `aclose` stop this one."""
        debt = self._open().debt
        self._rested = anyio.Event()
        debt.running += 1
        token = _inside.set(self)
        try:
            with anyio.CancelScope() as self._running:
                yield
        finally:
            stopped, self._running = self._running, None
            _inside.reset(token)
            debt.running -= 1
            if self._shared is None:
                self._discard()
            self._rested.set()
        if stopped is not None and stopped.cancelled_caught:
            raise SandboxClosed

    def _program(self, source: bytes, payload: bytes, call: str | None) -> Program:
        return Program(
            source,
            payload,
            call or "",
            log_bytes=self._limits.log_bytes,
            output_bytes=self._limits.output_bytes,
            calls=self._limits.calls,
            seed=int.from_bytes(os.urandom(8), "little"),
        )

    def _unpack(self, data: bytes) -> None:
        shared = self._ready()
        limit = self._limits.memory_bytes
        state, progress, self._source = unpack(data, self._origin(), limit)
        self._guest = self._new_guest(shared)
        try:
            self._guest.restore(state)
        except SandboxError:
            self._discard()
            raise
        self._suspended, self._restoring = progress, None

    def _origin(self) -> Origin:
        mounts = tuple((mount.guest, mount.writable) for mount in self._opened)
        return Origin(self._open().runtimes.javascript.digest, mounts)

    def _new_guest(self, shared: Shared) -> Guest:
        return QuickJsGuest(shared.runtimes.for_guest(), self._limits, self._opened)

    def _open(self) -> Shared:
        if self._shared is None:
            raise SandboxClosed
        return self._shared

    def _ready(self) -> Shared:
        """Give what is shared, if a program may start now."""
        shared = self._open()
        if self._running is not None or self._suspended is not None:
            raise SandboxBusy
        return shared

    def _waiting(self) -> tuple[Guest, Progress]:
        self._open()
        if self._running is not None:
            raise SandboxBusy
        if self._suspended is None or self._guest is None:
            raise NotSuspended
        return self._guest, self._suspended

    def _discard(self) -> None:
        guest, self._guest, self._suspended = self._guest, None, None
        if guest is not None:
            self._refused += guest.refusals()
            guest.close()


def _settled(progress: Progress, call: Call, value: Any, limit_bytes: int) -> Answer:
    """Make an answer of what the embedder gave for a suspended call, and record it."""
    if isinstance(value, BaseException):
        answer = answers.rejected(call, value, limit_bytes)
    else:
        answer = answers.resolved(call, value, limit_bytes)
    outcome: CallOutcome = "ok" if answer.ok else "error"
    progress.records.append((call.id, call.tool, outcome, 0.0, call.line, call.column))
    return answer
