"""What a guest may do to files, on top of WASI's own confinement to the mounts.

WASI keeps a guest inside its preopened folders. This room adds what preopens cannot say: protected
names inside a writable mount, no links planted for others to follow, no sleep past the deadline,
no pipes or devices to hang on. The functions a guest imports from WASI are replaced; those that
are allowed go on to the real ones through the forwarder, a small module in the same store (the
real ones read the memory of the module that calls them, so the host cannot call them itself).
"""

import contextlib
import functools
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import wasmtime

from sandbox_host.engine.instances import I32, I64, Entry, Instance, Memory, memory_of
from sandbox_host.errors import printable
from sandbox_host.mounts import OpenedMount, protected_by_move, protected_name

WASI = "wasi_snapshot_preview1"
FIRST_PREOPEN = 3  # after the standard streams
PATH_BYTES = 4096  # the longest path a guest may name
_REFUSALS_KEPT, _REFUSAL_CHARACTERS = 100, 300  # for the embedder's audit

ERRNO_BADF, ERRNO_FAULT, ERRNO_PERM = 8, 21, 63
ERRNO_MFILE = 33
_MOST_OPEN = 64  # files open at once in a guest: they are descriptors of our process

# datasync, write, allocate, set_size. Not set_times: libc asks for it whenever it opens a file,
# and the functions that would use it are refused.
_RIGHT_WRITES = 1 << 0 | 1 << 6 | 1 << 8 | 1 << 22
_OFLAG_WRITES = 1 << 0 | 1 << 3  # create, truncate

# Refused whatever the arguments: planting links, sleeping, changing times, moving descriptors (a
# preopen's number would then stand for another folder), sockets, signals.
REFUSED = (
    "path_symlink", "path_link", "poll_oneoff", "path_filestat_set_times", "fd_filestat_set_times",
    "fd_renumber", "sock_accept", "sock_recv", "sock_send", "sock_shutdown", "proc_raise",
)  # fmt: skip

_SIGNATURES: dict[str, str] = {  # of the functions that are checked and forwarded
    "path_open": "iiiiiIIii",
    "path_create_directory": "iii",
    "path_remove_directory": "iii",
    "path_unlink_file": "iii",
    "path_rename": "iiiiii",
    "fd_close": "i",
}


def _forwarder() -> str:
    """Give the forwarder's text: each function calls the real one of the same name."""
    types = {"i": "i32", "I": "i64"}
    imports, functions = [], []
    for name, signature in _SIGNATURES.items():
        params = " ".join(types[letter] for letter in signature)
        imports.append(f'(import "{WASI}" "{name}" (func ${name} (param {params}) (result i32)))')
        passed = " ".join(f"(local.get {number})" for number in range(len(signature)))
        functions.append(
            f'(func (export "{name}") (param {params}) (result i32) (call ${name} {passed}))'
        )
    return f'(module {" ".join(imports)} (memory (export "memory") 1 1) {" ".join(functions)})'


_FIRST_PATH, _SECOND_PATH, _OPENED = 0, PATH_BYTES, 2 * PATH_BYTES  # in the forwarder's memory


class Files:
    """One guest's mounts, and what was refused to it."""

    def __init__(self, mounts: Sequence[OpenedMount], forwarder: Instance) -> None:
        """Take the forwarder that stands in the guest's store."""
        self.mounts = tuple(mounts)
        self.refused: list[str] = []
        self.open_count = 0
        self._forwarder = forwarder
        self._functions = {name: forwarder.function(name) for name in _SIGNATURES}

    def forward(
        self, name: str, arguments: tuple[int, ...], first: bytes = b"", second: bytes = b""
    ) -> int:
        """Call the real function; paths were copied to the forwarder's memory."""
        memory = self._forwarder.memory
        memory.write(_FIRST_PATH, first)
        memory.write(_SECOND_PATH, second)
        kinds = (I64 if letter == "I" else I32 for letter in _SIGNATURES[name])
        entry = Entry(
            self._forwarder.context,
            self._functions[name],
            tuple(zip(kinds, arguments, strict=True)),
        )
        while not entry.poll():
            pass
        return entry.result

    def opened(self) -> bytes:
        """Give the descriptor that the last `path_open` wrote."""
        return self._forwarder.memory.read(_OPENED, 4)

    def is_preopen(self, descriptor: int) -> bool:
        """Say whether a descriptor stands for a mount."""
        return 0 <= descriptor - FIRST_PREOPEN < len(self.mounts)

    def writable(self, descriptor: int, path: bytes, *, moved: bool) -> bool:
        """Say whether a guest may write here; a refusal is kept for the embedder to see."""
        if not self.is_preopen(descriptor):
            # relative to a folder the guest opened itself: its name is unknown here, so no
            self._refuse(path.decode(errors="replace"), "not named from its mount")
            return False
        mount = self.mounts[descriptor - FIRST_PREOPEN]
        name = _protected(mount.host, os.fsdecode(path), moved=moved)
        if name is None:
            return True
        self._refuse(f"{mount.guest}/{path.decode(errors='replace')}", f"protected: {name}")
        return False

    def concealed(self, descriptor: int, path: bytes) -> bool:
        """Say whether the embedder keeps a file from the guest, by its name or where it leads."""
        mount = self.mounts[descriptor - FIRST_PREOPEN] if self.is_preopen(descriptor) else None
        if mount is None or mount.conceals is None:
            return False
        written = mount.host / os.fsdecode(path).lstrip("/")
        for named in (written, Path(os.path.realpath(written))):
            reason = mount.conceals(named.as_posix())
            if reason is not None:
                self._refuse(f"{mount.guest}/{path.decode(errors='replace')}", reason)
                return True
        return False

    def _refuse(self, path: str, reason: str) -> None:
        """Keep what was refused, as far as anyone would read."""
        if len(self.refused) < _REFUSALS_KEPT:
            self.refused.append(f"{printable(path, _REFUSAL_CHARACTERS)} ({reason})")

    def hangs(self, descriptor: int, path: bytes) -> bool:
        """Say whether opening would wait for someone else: a pipe, a device, a socket."""
        if not self.is_preopen(descriptor):
            return True
        host = self.mounts[descriptor - FIRST_PREOPEN].host / os.fsdecode(path)
        try:
            mode = host.stat().st_mode
        except (OSError, ValueError):
            return False
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _protected(root: Path, path: str, *, moved: bool) -> str | None:
    """Look at the path as written and as it resolves: a link may lead to a protected name."""
    move = protected_by_move if moved else protected_name

    def check(parts: Sequence[str]) -> str | None:
        return move([root.name, *parts])  # the mount itself may be a part of a protected name

    written = [part for part in path.split("/") if part not in ("", ".")]
    if (name := check(written)) is not None:
        return name
    parent = Path(os.path.realpath(root.joinpath(*written[:-1]))) if written else root
    last = parent / written[-1] if written else parent
    for resolved in (last, last if moved else Path(os.path.realpath(last))):
        if resolved.is_relative_to(root) and (name := check(resolved.relative_to(root).parts)):
            return name
    return None


class Guard:
    """The replaced functions of one linker. Which guest is calling is known by the thread."""

    def __init__(self, engine: wasmtime.Engine) -> None:
        """Prepare; the forwarder is compiled when a guest first opens a file."""
        self._engine = engine
        self._active = threading.local()

    @functools.cached_property
    def _forwarder(self) -> wasmtime.InstancePre:
        linker = wasmtime.Linker(self._engine)
        linker.define_wasi()
        return linker.instantiate_pre(wasmtime.Module(self._engine, _forwarder()))

    def open(self, store: wasmtime.Store, mounts: Sequence[OpenedMount]) -> Files:
        """Give a guest its files; called before its first file turn, never inside a call."""
        return Files(mounts, Instance(self._forwarder, store))

    @contextlib.contextmanager
    def serving(self, files: Files) -> Iterator[None]:
        """Say whose calls arrive on this thread."""
        self._active.files = files
        try:
            yield
        finally:
            self._active.files = None

    def define(self, linker: wasmtime.Linker) -> None:
        """Put the functions over WASI's own."""
        linker.allow_shadowing = True
        i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
        for name in REFUSED:
            linker.define_func(WASI, name, _refused_type(name), lambda *_: ERRNO_PERM)
        for name, signature in _SIGNATURES.items():
            kind = wasmtime.FuncType(
                [i64 if letter == "I" else i32 for letter in signature], [i32]
            )
            linker.define_func(WASI, name, kind, self._checked(name), access_caller=True)

    def _checked(self, name: str) -> Callable[..., int]:
        check = _CHECKS[name]

        def call(caller: wasmtime.Caller, *arguments: int) -> int:
            # nothing may be raised through wasmtime: it would surface in another guest
            try:
                files = getattr(self._active, "files", None)
                if files is None:
                    return ERRNO_BADF
                return check(files, memory_of(caller), arguments)
            except Exception:  # noqa: BLE001
                return ERRNO_FAULT

        return call


def _refused_type(name: str) -> wasmtime.FuncType:
    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
    letters = {
        "path_symlink": "iiiii", "path_link": "iiiiiii", "poll_oneoff": "iiii",
        "path_filestat_set_times": "iiiiIIi", "fd_filestat_set_times": "iIIi", "fd_renumber": "ii",
        "sock_accept": "iii", "sock_recv": "iiiiii", "sock_send": "iiiii", "sock_shutdown": "ii",
        "proc_raise": "i",
    }[name]  # fmt: skip
    return wasmtime.FuncType([i64 if letter == "I" else i32 for letter in letters], [i32])


def _path(memory: Memory, at: int, count: int) -> bytes:
    if not 0 <= (count & 0xFFFFFFFF) < PATH_BYTES:
        raise ValueError("path")
    return memory.read(at & 0xFFFFFFFF, count)


def _path_open(files: Files, memory: Memory, arguments: tuple[int, ...]) -> int:
    descriptor, lookup, at, count, oflags, rights, inherited, fdflags, result = arguments
    path = _path(memory, at, count)
    writes = rights & _RIGHT_WRITES or oflags & _OFLAG_WRITES
    if writes and not files.writable(descriptor, path, moved=False):
        return ERRNO_PERM
    if files.hangs(descriptor, path) or files.concealed(descriptor, path):
        return ERRNO_PERM
    forwarded = (
        descriptor,
        lookup,
        _FIRST_PATH,
        count,
        oflags,
        rights,
        inherited,
        fdflags,
        _OPENED,
    )
    if files.open_count >= _MOST_OPEN:
        return ERRNO_MFILE
    errno = files.forward("path_open", forwarded, path)
    if errno == 0:
        files.open_count += 1
        memory.write(result & 0xFFFFFFFF, files.opened())
    return errno


def _one_path(name: str, *, moved: bool) -> Callable[[Files, Memory, tuple[int, ...]], int]:
    def check(files: Files, memory: Memory, arguments: tuple[int, ...]) -> int:
        descriptor, at, count = arguments
        path = _path(memory, at, count)
        if not files.writable(descriptor, path, moved=moved):
            return ERRNO_PERM
        return files.forward(name, (descriptor, _FIRST_PATH, count), path)

    return check


def _path_rename(files: Files, memory: Memory, arguments: tuple[int, ...]) -> int:
    descriptor, at, count, other, other_at, other_count = arguments
    old, new = _path(memory, at, count), _path(memory, other_at, other_count)
    if not files.writable(descriptor, old, moved=True) or files.concealed(descriptor, old):
        return ERRNO_PERM
    if not files.writable(other, new, moved=True):
        return ERRNO_PERM
    forwarded = (descriptor, _FIRST_PATH, count, other, _SECOND_PATH, other_count)
    return files.forward("path_rename", forwarded, old, new)


def _fd_close(files: Files, _memory: Memory, arguments: tuple[int, ...]) -> int:
    # a closed preopen's number would be given to the next folder that is opened
    if arguments[0] < FIRST_PREOPEN + len(files.mounts):
        return ERRNO_PERM
    errno = files.forward("fd_close", arguments)
    files.open_count -= errno == 0
    return errno


_CHECKS: dict[str, Callable[[Files, Memory, tuple[int, ...]], int]] = {
    "path_open": _path_open,
    "path_create_directory": _one_path("path_create_directory", moved=False),
    "path_remove_directory": _one_path("path_remove_directory", moved=True),
    "path_unlink_file": _one_path("path_unlink_file", moved=True),
    "path_rename": _path_rename,
    "fd_close": _fd_close,
}


def wasi_config(mounts: Sequence[OpenedMount]) -> Any:
    """Give the WASI of one guest: no arguments, no environment, no streams, only these folders."""
    config = wasmtime.WasiConfig()
    for mount in mounts:
        config.preopen_dir(str(mount.host), mount.guest, mount.writable)
    return config
