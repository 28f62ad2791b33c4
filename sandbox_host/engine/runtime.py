"""What all sandboxes of a process share: engines, compiled modules, tickers, file guards.

Loading takes milliseconds with a warm cache and seconds without; `shared_runtimes` does it once.
"""

import functools
import json
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import blake3
import wasmtime

from sandbox_host import abi
from sandbox_host.engine import version
from sandbox_host.engine.compiled import CompiledModules, default_folder
from sandbox_host.engine.guard import Guard, wasi_config
from sandbox_host.engine.instances import (
    WARM_GUESTS,
    Instance,
    address_space_is_limited,
    new_engine,
    new_store,
)
from sandbox_host.engine.ticker import Ticker
from sandbox_host.errors import GuestMissing, LimitExceeded, ModuleInvalid
from sandbox_host.mounts import OpenedMount

GUEST_FOLDER = Path(__file__).resolve().parent.parent / "_guest"
JAVASCRIPT, ERASER = "quickjs.wasm", "eraser.wasm"

MOST_GUESTS = 4096
"""Guests at once in a process, beside the warm ones. Paused ones count too."""

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

    def __init__(self, manifest: Manifest, cache_folder: Path, *, warm: bool) -> None:
        """Make the engine; modules are loaded when first needed."""
        self._manifest = manifest
        self.engine = new_engine(warm=warm and not address_space_is_limited())
        self.ticker = Ticker(self.engine)
        self.guard = Guard(self.engine)
        self.modules = CompiledModules(self.engine, cache_folder, version.installed_version())
        self.foreign_modules = CompiledModules(
            self.engine, cache_folder / "foreign", version.installed_version()
        )
        self.guests = 0
        self._counting = threading.Lock()
        self._loading, self._loading_eraser = threading.Lock(), threading.Lock()

    def count(self, change: int) -> None:
        """Count a guest that came or went; from any thread."""
        with self._counting:
            self.guests += change

    @functools.cached_property
    def javascript(self) -> JavaScript:
        """The JavaScript guest."""
        with self._loading:
            return JavaScript(self, self._load(JAVASCRIPT), self._manifest.digest(JAVASCRIPT))

    @functools.cached_property
    def eraser_module(self) -> wasmtime.Module:
        """The compiled TypeScript eraser."""
        with self._loading_eraser:
            return self._load(ERASER)

    def compile_foreign(self, module: bytes) -> wasmtime.Module:
        """Give somebody else's module, from its own cache: it must not push ours out."""
        try:
            digest = blake3.blake3(module).hexdigest()
            return self.foreign_modules.load(digest, lambda: module)
        except wasmtime.WasmtimeError as error:
            raise ModuleInvalid(str(error).strip().splitlines()[0]) from None

    def fetch_eraser(self) -> None:
        """Load the eraser in the background, if that takes no compiling: most programs need it."""
        if self.modules.holds(self._manifest.digest(ERASER)):
            threading.Thread(
                target=lambda: self.eraser_module, name="pml-eraser", daemon=True
            ).start()

    def _load(self, name: str) -> wasmtime.Module:
        return self.modules.load(self._manifest.digest(name), lambda: self._manifest.read(name))


class Runtimes:
    """The warm engine for a few guests at a time, and one for as many as it takes behind it."""

    def __init__(self, guest_folder: Path, cache_folder: Path) -> None:
        """Load the warm engine with the JavaScript guest."""
        version.check_version(version.installed_version())
        self._manifest = Manifest(guest_folder)
        self._cache_folder = cache_folder
        self._loading = threading.Lock()
        self._cold: Runtime | None = None
        self.warm = Runtime(self._manifest, cache_folder, warm=True)
        self.warm.fetch_eraser()
        self.javascript = self.warm.javascript

    def for_guest(self) -> Runtime:
        """Give the engine that the next guest shall live in."""
        return self.for_raw() if self.warm_is_full() else self.warm

    def warm_is_full(self) -> bool:
        """Say whether the next guest will live in the second engine."""
        return self.warm.guests >= WARM_GUESTS

    def cold_is_loaded(self) -> bool:
        """Say whether the second engine is ready."""
        return self._cold is not None and "javascript" in vars(self._cold)

    def load_cold(self) -> None:
        """Make the second engine ready; seconds, if nothing is cached."""
        _ = self.cold.javascript

    def for_raw(self) -> Runtime:
        """Give the second engine, if there is room in it."""
        if self.cold.guests >= MOST_GUESTS:
            raise LimitExceeded(
                "guest_limit", f"{MOST_GUESTS + WARM_GUESTS} guests are alive in this process",
                hint="close sandboxes, or put suspended programs away with snapshot()",
            )  # fmt: skip
        return self.cold

    @property
    def cold(self) -> Runtime:
        """The engine without a pool: for more guests, and for raw modules."""
        with self._loading:
            if self._cold is None:
                self._cold = Runtime(self._manifest, self._cache_folder, warm=False)
            return self._cold


_SHARED = threading.Lock()


@functools.lru_cache(maxsize=1)
def _load_shared() -> Runtimes:
    return Runtimes(GUEST_FOLDER, default_folder(os.environ))


def shared_runtimes() -> Runtimes:
    """Give this process's engines: compiled code holds no state, so it may be shared."""
    with _SHARED:
        return _load_shared()
