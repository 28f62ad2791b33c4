"""A workspace's folder as `pml.places` lays it out, and short files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pml.audit import Audit, log

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "workspaces" / "app-0123456789abcdef"


@pytest.fixture
def lines(folder: Path) -> Lines:
    """Reads the newest file as any JSON reader would."""

    def read() -> list[dict[str, Any]]:
        text = (folder / "audit.jsonl").read_text(encoding="ascii")
        return [json.loads(line) for line in text.splitlines()]

    return read


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of about five lines."""
    monkeypatch.setattr(log, "MOST_BYTES", 1200)


def written(folder: Path, count: int, event: str = "call") -> None:
    audit = Audit(folder)
    for number in range(count):
        audit.write(event, {"number": number})
    audit.close()
