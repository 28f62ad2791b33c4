"""The targets by name, and what each begins with.

A target is a module of `targets/`: `one(data)` returns when all that is promised of these bytes
holds and raises when not; `WORDS` are what its grammar is made of; `seeds()`, where there is one,
makes what is not text. Text lies in `seeds/<target>/`, what once broke it in
`regressions/<target>/`.
"""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CRASHES = HERE / "crashes"
"""What a campaign found; not kept by git."""


def names() -> list[str]:
    """Name the targets."""
    return sorted(file.stem for file in (HERE / "targets").glob("[a-z]*.py"))


def target(name: str) -> Any:
    """Give a target's module."""
    return importlib.import_module(f".targets.{name}", __package__)


def seeds(name: str) -> list[bytes]:
    """Give what a target begins with."""
    made = getattr(target(name), "seeds", tuple)
    return [*made(), *(file.read_bytes() for file in _files("seeds", name))]


def regressions() -> Iterator[tuple[str, Path]]:
    """Give every input that once broke a target."""
    for name in names():
        for file in _files("regressions", name):
            yield name, file


def _files(folder: str, name: str) -> list[Path]:
    return sorted((HERE / folder / name).glob("[!.]*"))
