"""A workspace, its user's state beside it, and what may be used of its configuration."""

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from pml.keys import Keys, environ_with
from pml.trust import Effective, Kept, Loaded, Store, TrustRecord, effective, load, load_trusted
from pml.trust import trust_workspace as trust

NOW = datetime.datetime(2026, 11, 18, tzinfo=datetime.UTC)
KEY = bytes(32)


class NoKeyring:
    def get(self, name: str) -> str | None:
        return None


@dataclasses.dataclass(frozen=True)
class Folder:
    path: Path
    home: Path
    environ: dict[str, str]

    @property
    def file(self) -> Path:
        return self.path / ".pml.json"

    @property
    def store(self) -> Store:
        return Store(Path(self.environ["PML_STATE"]), self.path)

    def write(self, value: Any) -> None:
        self.file.write_text(value if isinstance(value, str) else json.dumps(value))

    def trust(self, value: Any = None) -> TrustRecord:
        if value is not None:
            self.write(value)
        keys = Keys(self.environ, self.path, NoKeyring())
        return trust(self.path, environ_with(keys), self.home, NOW, keys)

    def use(self, value: Any = None) -> Effective:
        if value is not None:
            self.write(value)
        keys = Keys(self.environ, self.path, NoKeyring())
        return load_trusted(self.path, environ_with(keys), self.home, keys)[1]

    def loaded(self, value: Any) -> Loaded:
        self.write(value)
        return load(self.path, self.environ, self.home, KEY)

    def between(self, old: Any, new: Any) -> tuple[Effective, Loaded]:
        """What is used of `new` when `old` was trusted; `old` None: nothing was."""
        record = None if old is None else TrustRecord(self.loaded(old).statement)
        loaded = self.loaded(new)
        return effective(loaded, Kept(record)), loaded


def made_folder(root: Path, name: str = "work") -> Folder:
    home = root / "home"
    path = home / name
    path.mkdir(parents=True, exist_ok=True)
    for sub in ("src", "docs", "data"):
        (path / sub).mkdir(exist_ok=True)
    return Folder(path.resolve(), home, {"PML_STATE": str(root / "state"), "TOKEN": "t0k3n-value"})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return made_folder(tmp_path)


@pytest.fixture
def make(tmp_path: Path) -> Any:
    return lambda name: made_folder(tmp_path, name)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """One for property tests, which must not share a fixture of a single test."""
    made = made_folder(tmp_path_factory.mktemp("shared"))
    made.environ.update(DATA="docs", HOME="/home/ada")
    return made
