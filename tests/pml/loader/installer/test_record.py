import datetime
import json
from pathlib import Path

import pytest

from pml.loader.installer import (
    Approved,
    Installed,
    Record,
    RecordDamagedError,
    approval_of,
    wanted_in,
)

from .conftest import KEY

NOW = datetime.datetime(2026, 1, 6, 10, 30, tzinfo=datetime.UTC)
COMMAND = "npx @mcp/server-memory@1.2.3 --key s3cr3t"


def approval(command: str = COMMAND) -> Approved:
    wanted = wanted_in(command)
    assert wanted.exact is not None
    installed = Installed(wanted.exact, Path("tree"), "sha256-abc123", "sha256-def456")
    return approval_of(wanted, installed, NOW)


@pytest.fixture
def record(tmp_path: Path) -> Record:
    (tmp_path / "workspace").mkdir()
    return Record(tmp_path / "state", tmp_path / "workspace", KEY)


def test_a_yes_is_remembered_for_the_package_as_it_was_asked_for(record: Record) -> None:
    record.approve("memory", approval())
    asked = wanted_in(COMMAND)
    assert record.approved("memory", asked) == approval()
    assert record.approved("memory", wanted_in("npx @mcp/server-memory@1.2.3 --other")) is not None
    assert record.approved("other", asked) is None


@pytest.mark.parametrize(
    "command",
    ["npx @mcp/server-memory@1.2.4", "npx @mcp/server-memory", "npx @mcp/server-memo@1.2.3",
     "uvx server-memory", "npx -p @mcp/server-memory@1.2.3 other"],
)  # fmt: skip
def test_a_yes_is_for_nothing_else(record: Record, command: str) -> None:
    record.approve("memory", approval())
    assert record.approved("memory", wanted_in(command)) is None


def test_deps_json_has_the_format_of_the_requirement(record: Record, tmp_path: Path) -> None:
    record.approve("memory", approval())
    file = tmp_path / "workspace" / ".pml" / "deps.json"
    told = json.loads(file.read_text(encoding="utf-8"))
    assert told["version"] == 1
    assert told["installed"]["memory"] == {
        "version": "1.2.3",
        "integrity": "sha256-abc123",
        "installedAt": "2026-01-06T10:30:00Z",
        "installCommand": "npx @mcp/server-memory@1.2.3",
        "package": "@mcp/server-memory",
        "treeIntegrity": "sha256-def456",
    }
    assert "s3cr3t" not in file.read_text(encoding="utf-8")


def test_deps_json_grants_nothing(record: Record, tmp_path: Path) -> None:
    """An attack: a cloned repository that brings its own list of what is installed."""
    record.approve("memory", approval())
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (tmp_path / "workspace" / ".pml").rename(folder / ".pml")
    other = Record(tmp_path / "other state", folder, KEY)
    assert other.approved("memory", wanted_in(COMMAND)) is None


def test_deps_json_is_never_written_through_a_link(record: Record, tmp_path: Path) -> None:
    """An attack: a repository whose `.pml` leads into the user's home."""
    (tmp_path / "target").mkdir()
    (tmp_path / "workspace" / ".pml").symlink_to(tmp_path / "target")
    with pytest.raises(RecordDamagedError):
        record.approve("memory", approval())
    assert list((tmp_path / "target").iterdir()) == []
    assert record.approved("memory", wanted_in(COMMAND)) is None
    (tmp_path / "workspace" / ".pml").unlink()
    (tmp_path / "workspace" / ".pml").mkdir()
    (tmp_path / "workspace" / ".pml" / "deps.json").symlink_to(tmp_path / "target" / "x")
    record.approve("memory", approval())
    assert not (tmp_path / "target" / "x").exists()


def test_a_record_that_somebody_else_wrote_is_an_error(record: Record, tmp_path: Path) -> None:
    record.approve("memory", approval())
    file = tmp_path / "state" / "packages"
    good = file.read_bytes()
    for bad in (good.replace(b"1.2.3", b"6.6.6"), good[:-1], b"", b"\n{}", good + b" "):
        file.write_bytes(bad)
        with pytest.raises(RecordDamagedError, match="not written by you"):
            record.approved("memory", wanted_in(COMMAND))
    file.write_bytes(good)
    assert record.approved("memory", wanted_in(COMMAND)) == approval()


def test_a_record_of_another_user_or_place_is_an_error(record: Record, tmp_path: Path) -> None:
    record.approve("memory", approval())
    strange = Record(tmp_path / "state", tmp_path / "workspace", b"x" * 32)
    with pytest.raises(RecordDamagedError):
        strange.approved("memory", wanted_in(COMMAND))
    (tmp_path / "moved").mkdir()
    (tmp_path / "state" / "packages").rename(tmp_path / "moved" / "packages")
    with pytest.raises(RecordDamagedError):
        Record(tmp_path / "moved", tmp_path, KEY).approved("memory", wanted_in(COMMAND))
