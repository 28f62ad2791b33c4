"""What every attack needs: a victim beside it, a folder with something outside to hurt, and guests of one's own.

Nothing here is a fake. `wasi` calls the real WASI functions behind the real guard, from a WebAssembly
module as a hostile one would; `forge` runs a module that speaks the guest's side of the ABI and lies.
"""

import contextlib
import copy
import dataclasses
import os
import stat
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import wasmtime

from sandbox_host import Call, Completed, Failed, Limits, Mount, Outcome, Sandbox, SandboxError
from sandbox_host.engine.guard import WASI, Files, wasi_config
from sandbox_host.engine.instances import I32, I64, Entry, Instance, new_store
from sandbox_host.engine.runtime import JavaScript, Runtime, shared_runtimes
from sandbox_host.guests.quickjs import QuickJsGuest
from sandbox_host.mounts import OpenedMount

ROOT = Path(__file__).resolve().parents[2]

QUICK = Limits(cpu_seconds=0.5, wall_seconds=10)
"""Limits that are hit soon; the wall is only there so that a broken limit does not hang the tests."""

HANG_SECONDS = 30.0  # a test that takes this long has found a hang

PROGRAM_CODES = frozenset(
    {"uncaught_error", "tool_error", "syntax_error", "result_not_json", "deadlock"}
)
LIMIT_CODES = frozenset(
    {"cpu_limit", "wall_limit", "memory_limit", "stack_limit", "output_limit", "log_limit", "call_limit",
     "code_limit"}
)  # fmt: skip


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def echo(call: Call) -> Any:
    """Answer with what arrived, so that a program can see it."""
    return {"tool": call.tool, "args": call.args}


# --- the one beside it -----------------------------------------------------------------------------


@pytest.fixture(autouse=True)
async def bystander() -> AsyncIterator[Sandbox]:
    """A second sandbox with state of its own, opened before the attack: it must not notice anything."""
    async with Sandbox() as sandbox:
        planted = await sandbox.run("globalThis.kept = { n: 41 }; return 1", host=echo)
        assert isinstance(planted, Completed)
        yield sandbox
        with anyio.fail_after(HANG_SECONDS):
            found = await sandbox.run(
                "return kept.n + (await mcp.math.one({ n: 1 })).args.n", host=echo
            )
        assert isinstance(found, Completed), found
        assert found.value == 42
        clean = await sandbox.run("return [({}).polluted === undefined, typeof [].map]", host=echo)
        assert isinstance(clean, Completed), clean
        assert clean.value == [True, "function"]


# --- running programs ------------------------------------------------------------------------------

Run = Callable[..., Awaitable[Outcome]]
FailedBy = Callable[..., Awaitable[SandboxError]]


@pytest.fixture
def run() -> Run:
    async def run(
        code: str,
        *,
        limits: Limits = QUICK,
        mounts: Sequence[Mount] = (),
        host: Callable[[Call], Awaitable[Any]] = echo,
        args: Any = None,
        call: str | None = None,
    ) -> Outcome:
        """Run in a fresh sandbox; afterwards the same sandbox must run the next program."""
        async with Sandbox(limits=limits, mounts=mounts) as sandbox:
            with anyio.fail_after(HANG_SECONDS):
                outcome = await sandbox.run(code, host=host, args=args, call=call)
            if isinstance(outcome, Failed):
                again = await sandbox.run("return 6 * 7", host=host)
                assert isinstance(again, Completed), again
                assert again.value == 42
        return outcome

    return run


@pytest.fixture
def value(run: Run) -> Callable[..., Awaitable[Any]]:
    async def value(code: str, **options: Any) -> Any:
        outcome = await run(code, **options)
        assert isinstance(outcome, Completed), outcome
        return outcome.value

    return value


@pytest.fixture
def fails(run: Run) -> FailedBy:
    """The named error that a program ends in."""

    async def fails(code: str, **options: Any) -> SandboxError:
        outcome = await run(code, **options)
        assert isinstance(outcome, Failed), str(outcome)[:500]
        assert outcome.error.code in PROGRAM_CODES | LIMIT_CODES, outcome.error
        return outcome.error

    return fails


# --- the loop --------------------------------------------------------------------------------------


class Heartbeat:
    """A task that ticks beside the attack and remembers the longest time it could not."""

    def __init__(self) -> None:
        self.worst_seconds = 0.0

    async def tick(self) -> None:
        last = time.perf_counter()
        while True:
            await anyio.sleep(0.005)
            now = time.perf_counter()
            self.worst_seconds = max(self.worst_seconds, now - last)
            last = now


@pytest.fixture
def heartbeat() -> Callable[[], contextlib.AbstractAsyncContextManager[Heartbeat]]:
    @contextlib.asynccontextmanager
    async def beating() -> AsyncIterator[Heartbeat]:
        heart = Heartbeat()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(heart.tick)
            await anyio.sleep(0.01)
            yield heart
            await anyio.sleep(0.02)
            tasks.cancel_scope.cancel()

    return beating


# --- the folder and what lies outside it -----------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class World:
    """`mount` is what the guest is given; everything beside it must stay as it is."""

    mount: Path
    outside: Path

    def writable(self) -> Mount:
        return Mount(self.mount, writable=True, guest_path="/mount")

    def readable(self) -> Mount:
        return Mount(self.mount, writable=False, guest_path="/mount")

    @property
    def secret(self) -> Path:
        return self.outside / "secret.txt"


def state_of(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every name below a folder with its mode, link count and content."""
    state = {}
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            facts = path.lstat()
            content = b""
            if stat.S_ISREG(facts.st_mode):
                content = path.read_bytes()
            elif stat.S_ISLNK(facts.st_mode):
                content = str(path.readlink()).encode()
            state[str(path.relative_to(folder))] = (facts.st_mode, facts.st_nlink, content)
    return state


def links_out(mount: Path) -> set[Path]:
    """The links below a folder that lead out of it."""
    return {
        path
        for path in mount.rglob("*")
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(mount.resolve())
    }


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path / "mount", tmp_path / "outside")
    sibling = tmp_path / "mount_evil"  # its name begins with the mount's
    for folder in (world.mount, world.outside, sibling, world.mount / "sub"):
        folder.mkdir()
    world.secret.write_text("secret")
    (sibling / "secret.txt").write_text("secret")
    (world.mount / "plain.txt").write_text("plain")
    (world.mount / "sub" / "inner.txt").write_text("inner")
    before = state_of(world.outside), state_of(sibling)
    yield world
    assert (state_of(world.outside), state_of(sibling)) == before
    assert set(tmp_path.iterdir()) == {world.mount, world.outside, sibling}


# --- a hostile WebAssembly module behind the guard -------------------------------------------------

SIGNATURES = {
    "args_sizes_get": "ii", "environ_sizes_get": "ii", "clock_time_get": "iIi", "fd_allocate": "iII",
    "fd_close": "i", "fd_fdstat_set_flags": "ii", "fd_fdstat_set_rights": "iII", "fd_filestat_get": "ii",
    "fd_filestat_set_size": "iI", "fd_filestat_set_times": "iIIi", "fd_prestat_get": "ii", "fd_pwrite": "iiiIi",
    "fd_read": "iiii", "fd_readdir": "iiiIi", "fd_renumber": "ii", "fd_write": "iiii",
    "path_create_directory": "iii", "path_filestat_get": "iiiii", "path_filestat_set_times": "iiiiIIi",
    "path_link": "iiiiiii", "path_open": "iiiiiIIii", "path_readlink": "iiiiii", "path_remove_directory": "iii",
    "path_rename": "iiiiii", "path_symlink": "iiiii", "path_unlink_file": "iii", "poll_oneoff": "iiii",
    "proc_exit": "i", "proc_raise": "i", "random_get": "ii", "sock_accept": "iii", "sock_recv": "iiiiii",
    "sock_send": "iiiii", "sock_shutdown": "ii",
}  # fmt: skip

RIGHT_READ, RIGHT_WRITE = 1 << 1, 1 << 6
CREATE, DIRECTORY, EXCLUSIVE, TRUNCATE = 1, 2, 4, 8
_FIRST, _SECOND, _RESULT, _VECTOR, _DATA = 1024, 6144, 64, 128, 16384


def _thin_module() -> str:
    """A module that hands every WASI function out as its own export."""
    types = {"i": "i32", "I": "i64"}
    imports, functions = [], []
    for name, signature in SIGNATURES.items():
        params = " ".join(types[letter] for letter in signature)
        result = "" if name == "proc_exit" else "(result i32)"
        imports.append(f'(import "{WASI}" "{name}" (func ${name} (param {params}) {result}))')
        passed = " ".join(f"(local.get {number})" for number in range(len(signature)))
        tail = "(i32.const 0)" if name == "proc_exit" else ""
        functions.append(
            f'(func (export "{name}") (param {params}) (result i32) (call ${name} {passed}) {tail})'
        )
    return f'(module {" ".join(imports)} (memory (export "memory") 2 16) {" ".join(functions)})'


class Wasi:
    """A hostile module's hands: each method is one WASI call of the guest; 0 is success."""

    def __init__(self, runtime: Runtime, mounts: Sequence[OpenedMount]) -> None:
        linker = wasmtime.Linker(runtime.engine)
        linker.define_wasi()
        runtime.guard.define(linker)
        pre = linker.instantiate_pre(wasmtime.Module(runtime.engine, _thin_module()))
        store = new_store(runtime.engine, 4 << 20, wasi_config(mounts))
        self.instance = Instance(pre, store)
        self.files: Files = runtime.guard.open(store, mounts)
        self._guard = runtime.guard

    def call(self, name: str, *arguments: int) -> int:
        kinds = (I64 if letter == "I" else I32 for letter in SIGNATURES[name])
        entry = Entry(
            self.instance.context, self.instance.function(name),
            tuple(zip(kinds, arguments, strict=True)),
        )  # fmt: skip
        with self._guard.serving(self.files):
            while not entry.poll():
                pass
        return entry.result

    def text(self, path: str | bytes, at: int = _FIRST) -> tuple[int, int]:
        content = path.encode() if isinstance(path, str) else path
        self.instance.memory.write(at, content)
        return at, len(content)

    def open(
        self,
        path: str | bytes,
        *,
        fd: int = 3,
        oflags: int = 0,
        rights: int = RIGHT_READ,
        follow: int = 1,
    ) -> tuple[int, int]:
        """Give errno and the new descriptor."""
        errno = self.call("path_open", fd, follow, *self.text(path), oflags, rights, 0, 0, _RESULT)
        return errno, struct.unpack("<i", self.instance.memory.read(_RESULT, 4))[0]

    def create(self, path: str | bytes, *, fd: int = 3) -> int:
        """Try to write a file; what was opened is written to."""
        errno, opened = self.open(path, fd=fd, oflags=CREATE, rights=RIGHT_WRITE)
        if errno == 0:
            self.write(opened, b"planted")
            self.call("fd_close", opened)
        return errno

    def write(self, fd: int, content: bytes) -> int:
        self.instance.memory.write(_DATA, content)
        self.instance.memory.write(_VECTOR, struct.pack("<II", _DATA, len(content)))
        return self.call("fd_write", fd, _VECTOR, 1, _RESULT)

    def read(self, fd: int, count: int = 64) -> bytes | int:
        self.instance.memory.write(_VECTOR, struct.pack("<II", _DATA, count))
        errno = self.call("fd_read", fd, _VECTOR, 1, _RESULT)
        if errno:
            return errno
        (got,) = struct.unpack("<I", self.instance.memory.read(_RESULT, 4))
        return self.instance.memory.read(_DATA, got)

    def one_path(self, name: str, path: str | bytes, *, fd: int = 3) -> int:
        return self.call(name, fd, *self.text(path))

    def rename(self, old: str | bytes, new: str | bytes, *, fd: int = 3, other: int = 3) -> int:
        return self.call("path_rename", fd, *self.text(old), other, *self.text(new, _SECOND))

    def symlink(self, target: str | bytes, path: str | bytes, *, fd: int = 3) -> int:
        return self.call("path_symlink", *self.text(target), fd, *self.text(path, _SECOND))

    def link(self, old: str | bytes, new: str | bytes, *, fd: int = 3, other: int = 3) -> int:
        return self.call("path_link", fd, 1, *self.text(old), other, *self.text(new, _SECOND))


@pytest.fixture
def wasi(world: World) -> Iterator[Callable[..., Wasi]]:
    """Makes a hostile module with the world's mount (writable unless told otherwise) as descriptor 3."""
    opened: list[Wasi] = []
    links: set[Path] = set()  # those that the test itself put there

    def make(*mounts: Mount) -> Wasi:
        links.update(links_out(world.mount))
        folders = [mount.opened() for mount in (mounts or (world.writable(),))]
        opened.append(Wasi(shared_runtimes().cold, folders))
        return opened[-1]

    yield make
    for module in opened:
        module.instance.close()
    assert links_out(world.mount) <= links, "a link that leads out was planted"


# --- a guest that was taken over: it speaks the ABI and lies ---------------------------------------

_OUTBOX = 1 << 16


def _escaped(content: bytes) -> str:
    return "".join(f"\\{byte:02x}" for byte in content)


@dataclasses.dataclass(frozen=True)
class Lie:
    """What one entry leaves in the exchange block."""

    outbox: bytes = b""
    outbox_at: int | None = None
    outbox_bytes: int | None = None
    inbox_at: int = 4096
    inbox_bytes: int = 32768
    state: int = 0
    timer_ms: int = 0xFFFFFFFF
    files: int = 0
    body: str = ""
    """WebAssembly to run in the entry, before the block is written."""


def _reactor(lies: Sequence[Lie], reserve: str) -> str:
    """A module with the exports of the JavaScript guest; entry number n leaves lie number n."""
    data, cases, at = [], [], _OUTBOX
    for number, lie in enumerate(lies):
        data.append(f'(data (i32.const {at}) "{_escaped(lie.outbox)}")')
        fields = (
            lie.inbox_at, lie.inbox_bytes, at if lie.outbox_at is None else lie.outbox_at,
            len(lie.outbox) if lie.outbox_bytes is None else lie.outbox_bytes,
            lie.state, lie.timer_ms, lie.files,
        )  # fmt: skip
        stores = " ".join(
            f"(i32.store (i32.const {64 + 4 * i}) (i32.const {field & 0xFFFFFFFF}))"
            for i, field in enumerate(fields)
        )
        cases.append(
            f"(if (i32.eq (global.get $n) (i32.const {number})) (then {lie.body} {stores}))"
        )
        at += len(lie.outbox)
    pages = (at >> 16) + 2
    begin = struct.pack("<8I", 4096, 32768, _OUTBOX, 0, 0, 0xFFFFFFFF, 0, 0)
    return f"""(module
      (memory (export "memory") {pages}) (global $n (mut i32) (i32.const 0))
      (data (i32.const 64) "{_escaped(begin)}") {" ".join(data)}
      (func (export "pml_exchange") (result i32) (i32.const 64))
      (func (export "pml_reserve") (param i32) (result i32) {reserve})
      (func $next (param i32) (result i32)
        {" ".join(cases)}
        (global.set $n (i32.add (global.get $n) (i32.const 1))) (i32.const 0))
      (export "pml_start" (func $next)) (export "pml_settle" (func $next)))"""


Forge = Callable[..., Awaitable[Outcome]]


class ForgedSandbox(Sandbox):
    """A sandbox whose guest is a module of the test's own."""

    def __init__(self, module: str, **options: Any) -> None:
        super().__init__(**options)
        self._runtime = copy.copy(shared_runtimes().cold)
        self._runtime.javascript = JavaScript(
            self._runtime, wasmtime.Module(self._runtime.engine, module), "forged"
        )

    def _new_guest(self, shared: Any) -> QuickJsGuest:
        return QuickJsGuest(self._runtime, self._limits, self._opened)


@pytest.fixture
def forge() -> Forge:
    """Runs a guest that answers its entries with these lies."""

    async def forge(
        *lies: Lie,
        limits: Limits = QUICK,
        host: Callable[[Call], Awaitable[Any]] = echo,
        args: Any = None,
        reserve: str = "(i32.const 4096)",
    ) -> Outcome:
        async with ForgedSandbox(_reactor(lies, reserve), limits=limits) as sandbox:
            with anyio.fail_after(HANG_SECONDS):
                return await sandbox.run("1", host=host, args=args)

    return forge


@pytest.fixture
def lie() -> type[Lie]:
    return Lie


# --- attacks that may take the process with them ---------------------------------------------------


@pytest.fixture
def in_child() -> Callable[[str], subprocess.CompletedProcess[str]]:
    """Runs Python in a process of its own, for what might crash or hang this one."""

    def in_child(script: str, timeout_seconds: float = 20) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", script],
            capture_output=True, text=True, timeout=timeout_seconds, env=environment, check=False,
        )  # fmt: skip

    return in_child
