"""What all sandboxes of a process share: the engine, compiled modules, the ticker, the file guard.

Loading takes milliseconds with a warm cache and seconds without; `shared_runtime` does it once.
"""

import functools
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import wasmtime

from sandbox_host import abi
from sandbox_host.engine import version
from sandbox_host.engine.compiled import CompiledModules, default_folder
from sandbox_host.engine.guard import Guard, wasi_config
from sandbox_host.engine.instances import Instance, new_engine, new_store
from sandbox_host.engine.ticker import Ticker
from sandbox_host.errors import GuestMissing
from sandbox_host.mounts import OpenedMount

GUEST_FOLDER = Path(__file__).resolve().parent.parent / "_guest"
JAVASCRIPT, ERASER = "quickjs.wasm", "eraser.wasm"

_PROBE_BYTES = (
    64 << 20
)  # memory for the one instance that tells the exchange address and the image


class Manifest:
    """The built guest's files and their hashes."""

    def __init__(self, folder: Path) -> None:
        """Read the manifest that the build wrote."""
        self._folder = folder
        try:
            content = json.loads((folder / "manifest.json").read_bytes())
            self._files = {name: str(facts["sha256"]) for name, facts in content["files"].items()}
            built_for = content["abi"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise GuestMissing(f"manifest.json: {error}") from error
        if built_for != abi.ABI_VERSION:
            raise GuestMissing(f"it speaks ABI {built_for}, this host speaks {abi.ABI_VERSION}")

    def digest(self, name: str) -> str:
        """Give a file's sha256."""
        return self._files[name]

    def read(self, name: str) -> bytes:
        """Give a file's bytes, checked."""
        try:
            content = (self._folder / name).read_bytes()
        except OSError as error:
            raise GuestMissing(f"{name}: {error.strerror}") from error
        from hashlib import sha256  # noqa: PLC0415 - only when something must be compiled

        if sha256(content).hexdigest() != self._files[name]:
            raise GuestMissing(f"{name} is not the file that was built")
        return content


class JavaScript:
    """The QuickJS module, linked and ready to instantiate."""

    def __init__(self, runtime: "Runtime", module: wasmtime.Module, digest: str) -> None:
        """Link once; ask one instance for what is the same in all."""
        self.digest = digest
        self._runtime = runtime
        linker = wasmtime.Linker(runtime.engine)
        linker.define_wasi()
        runtime.guard.define(linker)
        self._pre = linker.instantiate_pre(module)
        self._image: bytes | None = None
        probe = self.instantiate(_PROBE_BYTES, ())
        entry = probe.enter(probe.function("pml_exchange"))
        while not entry.poll():
            pass
        self.exchange = entry.result
        probe.close()

    def instantiate(self, memory_bytes: int, mounts: Sequence[OpenedMount]) -> Instance:
        """Give a fresh guest."""
        return Instance(
            self._pre, new_store(self._runtime.engine, memory_bytes, wasi_config(mounts))
        )

    def image(self) -> bytes:
        """Give the memory that every fresh guest starts with."""
        if self._image is None:
            probe = self.instantiate(_PROBE_BYTES, ())
            self._image = probe.memory.read(0, probe.memory.size())
            probe.close()
        return self._image


class Runtime:
    """One engine and what is loaded into it. Safe to use from several threads."""

    def __init__(self, guest_folder: Path, cache_folder: Path) -> None:
        """Load the JavaScript guest; the eraser is loaded when first needed."""
        installed = version.installed_version()
        version.check_version(installed)
        self._manifest = Manifest(guest_folder)
        self.engine = new_engine()
        self.ticker = Ticker(self.engine)
        self.guard = Guard(self.engine)
        self.modules = CompiledModules(self.engine, cache_folder, installed)
        self._loading = threading.Lock()
        self.javascript = JavaScript(
            self, self._load(JAVASCRIPT), self._manifest.digest(JAVASCRIPT)
        )

    @functools.cached_property
    def eraser_module(self) -> wasmtime.Module:
        """The compiled TypeScript eraser."""
        with self._loading:
            return self._load(ERASER)

    def _load(self, name: str) -> wasmtime.Module:
        return self.modules.load(self._manifest.digest(name), lambda: self._manifest.read(name))


_SHARED = threading.Lock()


@functools.lru_cache(maxsize=1)
def _load_shared() -> Runtime:
    return Runtime(GUEST_FOLDER, default_folder(os.environ))


def shared_runtime() -> Runtime:
    """Give this process's runtime: compiled code holds no state, so it may be shared."""
    with _SHARED:
        return _load_shared()
