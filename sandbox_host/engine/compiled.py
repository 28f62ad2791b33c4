"""Compiled modules on disk: native code, so private, checked, and rebuilt when in doubt.

One file per module, named by what went into it: the wasm's hash, wasmtime's version, the engine's
settings, the machine. It begins with the blake3 of the rest, and only bytes with that hash are
handed to wasmtime. A folder that others could write is not used at all.
"""

import contextlib
import os
import platform
import stat
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import blake3
import wasmtime

from sandbox_host.engine.instances import SETTINGS

_HASH_BYTES = 32
_PRIVATE = 0o700
_MOST_ENTRIES = 16  # a few versions of guest, eraser and raw modules; each takes megabytes
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def default_folder(environment: Mapping[str, str]) -> Path:
    """Give the user's own folder for compiled modules."""
    home = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "pml" / "compiled"


class CompiledModules:
    """Loads modules from the folder, compiling what is missing, damaged or not ours."""

    def __init__(self, engine: wasmtime.Engine, folder: Path, version: str) -> None:
        """Remember where; nothing is touched before the first load."""
        self._engine = engine
        self._folder = folder
        self._key = f"{version}|{SETTINGS}|{sys.platform}|{platform.machine()}"

    def load(self, digest: str, wasm: Callable[[], bytes]) -> wasmtime.Module:
        """Give the module with this hash; `wasm` is asked for its bytes only to compile."""
        path = self._path(digest)
        private = self._is_private()
        if private and (code := _checked(path)) is not None:
            with contextlib.suppress(wasmtime.WasmtimeError):
                module = wasmtime.Module.deserialize(self._engine, code)
                with contextlib.suppress(OSError):
                    os.utime(path)  # used: the last to be let go
                return module
        module = wasmtime.Module(self._engine, wasm())
        if private:
            with contextlib.suppress(OSError):  # a full disk costs time, not the run
                _keep(path, bytes(module.serialize()))
        return module

    def holds(self, digest: str) -> bool:
        """Say whether there is an entry, good or not."""
        return self._path(digest).exists()

    def _path(self, digest: str) -> Path:
        name = blake3.blake3(f"{digest}|{self._key}".encode()).hexdigest()[:40]
        return self._folder / f"{name}.cwasm"

    def _is_private(self) -> bool:
        """Make the folder if need be; say whether it is ours alone."""
        try:
            self._folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            facts = self._folder.lstat()
        except OSError:
            return False
        if not hasattr(os, "getuid"):
            return stat.S_ISDIR(facts.st_mode)
        return (
            stat.S_ISDIR(facts.st_mode)
            and facts.st_uid == os.getuid()
            and not facts.st_mode & _OTHERS
        )


def _checked(path: Path) -> bytes | None:
    """Give the code if the file is whole; the very bytes that were hashed are the ones used."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    code = content[_HASH_BYTES:]
    if len(content) <= _HASH_BYTES or blake3.blake3(code).digest() != content[:_HASH_BYTES]:
        return None
    return code


def _keep(path: Path, code: bytes) -> None:
    """Write the file whole or not at all; then let go of those that were used longest ago."""
    import tempfile  # noqa: PLC0415 - 8 ms to import, only when something was compiled

    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(blake3.blake3(code).digest())
            file.write(code)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise
    by_age = sorted(path.parent.glob("*.cwasm"), key=lambda entry: entry.stat().st_mtime)
    for entry in by_age[:-_MOST_ENTRIES]:
        entry.unlink(missing_ok=True)
