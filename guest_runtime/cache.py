"""Finished builds, kept by the hash of everything they were made from.

An entry is a folder with the guest's files and a manifest of their hashes. It appears by one
rename, is compared with its manifest whenever it is used, and is treated as absent when it does
not match. Uses only the standard library: the build hook asks here before anything is installed.
"""

import dataclasses
import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1

_INPUT_SUFFIXES = frozenset({".py", ".c", ".h", ".js"})
_INPUT_NAMES = frozenset({"sources.toml"})  # pins the tools' versions too


@dataclasses.dataclass(frozen=True)
class Cache:
    """The folder for everything the build keeps between runs."""

    root: Path

    @property
    def downloads(self) -> Path:
        """Verified archives, by sha256."""
        return self.root / "downloads"

    @property
    def zig(self) -> Path:
        """The compiler's own cache (its compiled wasi-libc)."""
        return self.root / "zig"

    def entry(self, inputs: str) -> Path | None:
        """Give the folder of an intact finished build, or None."""
        folder = self.root / inputs
        return folder if is_intact(folder, inputs) else None

    def put(self, inputs: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> Path:
        """Keep a finished build and give its folder."""
        self.root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.root, prefix="new-") as temporary:
            fresh, old = Path(temporary) / "fresh", Path(temporary) / "old"
            fresh.mkdir()
            for name, content in files.items():
                (fresh / name).write_bytes(content)
            (fresh / MANIFEST).write_text(manifest(inputs, files, facts), encoding="utf-8")
            target = self.root / inputs
            if self.entry(inputs) is None:
                if target.exists():  # corrupted: aside, so that the rename finds an empty place
                    target.rename(old)
                _rename_unless_other_was_first(fresh, target)
        return target


def input_hash(folder: Path) -> str:
    """Give the hash over every file of `guest_runtime/` that can change the result."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.name in _INPUT_NAMES or path.suffix in _INPUT_SUFFIXES:
            content = path.read_bytes()
            name = path.relative_to(folder).as_posix()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def manifest(inputs: str, files: Mapping[str, bytes], facts: Mapping[str, Any]) -> str:
    """Give the manifest's text; the same facts give the same bytes."""
    listed = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in files.items()
    }
    document = {"format": MANIFEST_FORMAT, "inputs": inputs, "files": listed, **facts}
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def is_intact(folder: Path, inputs: str) -> bool:
    """Tell whether every file is there as its manifest says, for these inputs."""
    try:
        document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        files: dict[str, dict[str, Any]] = document["files"]
        return (
            document["format"] == MANIFEST_FORMAT
            and document["inputs"] == inputs
            and all(_sha256(folder / name) == facts["sha256"] for name, facts in files.items())
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False


def install(entry: Path, target: Path) -> None:
    """Copy a finished build into the package; the manifest last, each file by one rename."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = json.loads((entry / MANIFEST).read_text(encoding="utf-8"))
    if is_intact(target, wanted["inputs"]):
        return
    for name in [*wanted["files"], MANIFEST]:
        with tempfile.TemporaryDirectory(dir=target, prefix=".new-") as temporary:
            shutil.copyfile(entry / name, Path(temporary) / name).replace(target / name)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _rename_unless_other_was_first(fresh: Path, target: Path) -> None:
    try:
        fresh.rename(target)
    except OSError:
        # Another build of the same inputs finished meanwhile; its result is the same.
        if not target.is_dir():
            raise
