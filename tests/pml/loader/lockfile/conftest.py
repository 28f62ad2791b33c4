"""A workspace with a lockfile, and who remembers which one is ours."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pml.fqdn import Fqdn, integrity_of
from pml.loader.lockfile import LockEntry, LockStore
from pml.routing import Routing

AT = "2026-01-07T12:00:00Z"


def entry(content: bytes = b"code", **facts: Any) -> LockEntry:
    given = {"type": "deno", "routing": Routing.CLIENT, "fetched_at": AT} | facts
    return LockEntry(integrity_of(content), **given)


def name(text: str, content: bytes | None = None) -> Fqdn:
    parsed = Fqdn.parse(text)
    return parsed if content is None else parsed.with_hash(integrity_of(content)[7:])


class Memory:
    """A witness that remembers as long as the process lives."""

    def __init__(self) -> None:
        self.sha256: str | None = None

    def last(self) -> str | None:
        return self.sha256

    def wrote(self, sha256: str) -> None:
        self.sha256 = sha256


@dataclasses.dataclass(frozen=True)
class Place:
    workspace: Path
    state: Path
    witness: Memory

    @property
    def file(self) -> Path:
        return self.workspace / ".pml" / "mcp.lock"

    def store(self, **options: Any) -> LockStore:
        return LockStore(self.workspace, self.state, self.witness, **options)

    def put(self, content: bytes | str) -> None:
        """Write the file as somebody else would."""
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    workspace = tmp_path / "work"
    workspace.mkdir()
    return Place(workspace, tmp_path / "state", Memory())
