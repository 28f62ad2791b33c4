"""Compiles QuickJS and our shim with `zig cc` into one WASI reactor module.

Applies the patches, embeds the prelude, compiles each C file to an object, links. Leaves nothing
in the source tree. Does not know where the sources came from, nor what happens to the module next.
"""

import dataclasses
import importlib.metadata
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from guest_runtime import commands
from guest_runtime.errors import PatchError, ToolError
from guest_runtime.sources import Patch

QUICKJS_FILES = ("quickjs.c", "libregexp.c", "libunicode.c", "dtoa.c")

# The shadow stack in linear memory. QuickJS's own limit must stay below it, so that deep recursion
# is a RangeError and not a trap.
STACK_BYTES = 1 << 20

PARALLEL = 2  # quickjs.c alone takes most of the time; more processes would only cost memory

_TARGET = ("--target=wasm32-wasi",)
_COMPILE = (
    "-O2",
    "-DNDEBUG",
    "-D_GNU_SOURCE",
    "-D_WASI_EMULATED_SIGNAL",
    "-fno-sanitize=undefined",
)
_THIRD_PARTY = ("-w",)  # upstream's warnings are upstream's
_OWN = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
_LINK = (
    "-mexec-model=reactor",
    "-O2",
    "-s",
    "-Wl,--export-memory",
    f"-Wl,-z,stack-size={STACK_BYTES}",
)
_LIBRARIES = ("-lwasi-emulated-signal",)


@dataclasses.dataclass(frozen=True)
class Workplace:
    """Where one compilation reads and writes."""

    quickjs: Path  # upstream-quickjs/, already patched
    own: Path  # guest_runtime/
    output: Path  # objects, generated headers, the linked module
    zig_cache: Path  # zig keeps its compiled wasi-libc here between builds


def compile_guest(place: Workplace) -> bytes:
    """Compile everything and give the linked module, not yet initialised."""
    (place.output / "prelude.h").write_text(
        prelude_header(sorted((place.own / "js" / "prelude").glob("*.js"))), encoding="ascii"
    )
    theirs = [place.quickjs / name for name in QUICKJS_FILES]
    own = sorted((place.own / "js").glob("*.c"))
    jobs = [(path, _THIRD_PARTY) for path in theirs] + [(path, _OWN) for path in own]
    with ThreadPoolExecutor(PARALLEL) as pool:
        objects = list(pool.map(lambda job: _compile(place, *job), jobs))
    linked = place.output / "linked.wasm"
    _zig(place, *_LINK, *map(str, objects), *_LIBRARIES, "-o", str(linked))
    return linked.read_bytes()


def apply_patches(folder: Path, patches: Iterable[Patch]) -> None:
    """Change the fetched sources; refuse when an anchor is not there exactly once."""
    for patch in patches:
        path = folder / patch.file
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        count = text.count(patch.find)
        if count != 1:
            raise PatchError(patch.file, patch.find, count)
        path.write_text(text.replace(patch.find, patch.replace), encoding="utf-8")


def prelude_header(scripts: Sequence[Path]) -> str:
    """Give the C header that embeds the prelude's scripts, in the order given."""
    texts = [path.read_bytes() for path in scripts]
    arrays = "".join(
        f"static const unsigned char pml_prelude_{number}[] = {{{_bytes(text)}0}};\n"
        for number, text in enumerate(texts)
    )
    rows = "".join(
        f"    {{{json.dumps(path.name)}, pml_prelude_{number}, {len(text)}}},\n"
        for number, (path, text) in enumerate(zip(scripts, texts, strict=True))
    )
    return (
        "/* Made by guest_runtime/compiling.py from js/prelude/. */\n"
        f"{arrays}"
        "static const struct { const char *name; const unsigned char *text; unsigned len; }\n"
        # C has no empty array: without scripts one unused row stays.
        f"PML_PRELUDE[] = {{\n{rows or '    {0, 0, 0},' + chr(10)}}};\n"
        f"#define PML_PRELUDE_COUNT {len(texts)}\n"
    )


def require_tool(name: str, wanted: str) -> None:
    """Refuse to build with another version of a tool than the pinned one."""
    try:
        found = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found = None
    if found != wanted:
        raise ToolError(name, wanted, found)


def zig_folder() -> Path:
    """Give the folder of the installed compiler, which holds its C library's sources."""
    return Path(str(importlib.metadata.distribution("ziglang").locate_file("ziglang")))


def _bytes(text: bytes) -> str:
    return "".join(f"{byte}," for byte in text)


def _compile(place: Workplace, source: Path, warnings: tuple[str, ...]) -> Path:
    target = place.output / f"{source.parent.name}-{source.stem}.o"
    # As a system header: our strict warnings are not for upstream's inline functions.
    include = ["-isystem", str(place.quickjs), f"-I{place.own}", f"-I{place.output}"]
    # Without the map, __FILE__ would carry this machine's temporary paths into the module.
    paths = [
        f"-ffile-prefix-map={folder}=." for folder in (place.quickjs, place.own, place.output)
    ]
    _zig(place, *_COMPILE, *warnings, *include, *paths, "-c", str(source), "-o", str(target))
    return target


def _zig(place: Workplace, *arguments: str) -> None:
    caches = {
        "ZIG_GLOBAL_CACHE_DIR": str(place.zig_cache),
        "ZIG_LOCAL_CACHE_DIR": str(place.output / "zig"),
    }
    command = commands.python("-m", "ziglang", "cc", *_TARGET, *arguments)
    commands.run(command, cwd=place.output, extra_env=caches)
