"""Compiled code on disk: private, checked, rebuilt when in doubt, never loaded when wrong."""

import os
import stat
from pathlib import Path

import pytest
import wasmtime

from sandbox_host.engine.compiled import CompiledModules, default_folder
from sandbox_host.engine.instances import new_engine

WASM = bytes(wasmtime.wat2wasm('(module (func (export "seven") (result i32) i32.const 7))'))


class Source:
    """The wasm, and how often it was asked for: each time is a compilation."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> bytes:
        self.asked += 1
        return WASM


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "compiled"


def _load(
    folder: Path, source: Source, digest: str = "d1", version: str = "50.0.1"
) -> list[str | None]:
    module = CompiledModules(new_engine(warm=False), folder, version).load(digest, source)
    return [export.name for export in module.exports]


def test_a_module_is_compiled_once_and_then_loaded(folder: Path) -> None:
    source = Source()
    for _ in range(3):
        assert _load(folder, source) == ["seven"]
    assert source.asked == 1


def test_the_folder_and_the_files_are_the_users_alone(folder: Path) -> None:
    _load(folder, Source())
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(entry.stat().st_mode) for entry in folder.iterdir()] == [0o600]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: b"",
        lambda content: content[:32] + bytes([content[40] ^ 1]) + content[33:],
        lambda content: content[:5000] + bytes([content[5000] ^ 255]) + content[5001:],
        lambda content: os.urandom(len(content)),
    ],
)
def test_a_corrupted_entry_is_detected_and_rebuilt(folder: Path, damage: object) -> None:
    source = Source()
    _load(folder, source)
    (entry,) = folder.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))  # type: ignore[operator]
    assert _load(folder, source) == ["seven"]
    assert source.asked == 2
    assert len(entry.read_bytes()) == len(whole)
    _load(folder, source)
    assert source.asked == 2


def test_another_content_version_or_setting_is_another_entry(folder: Path) -> None:
    source = Source()
    _load(folder, source)
    _load(folder, source, digest="d2")
    _load(folder, source, version="50.0.2")
    assert source.asked == 3
    assert len(list(folder.iterdir())) == 3


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_folder_that_others_may_write_is_not_used(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    source = Source()
    _load(folder, source)
    _load(folder, source)
    assert source.asked == 2
    assert not list(folder.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_folder_that_is_a_link_is_not_used(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.parent.mkdir(parents=True)
    folder.symlink_to(tmp_path / "elsewhere")
    _load(folder, Source())
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_folder_that_cannot_be_made_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert _load(tmp_path / "file" / "cache", Source()) == ["seven"]


def test_old_entries_are_let_go(folder: Path) -> None:
    for number in range(20):
        _load(folder, Source(), digest=f"d{number}")
    assert len(list(folder.iterdir())) == 16


def test_the_folder_is_in_the_users_cache() -> None:
    assert default_folder({"XDG_CACHE_HOME": "/c"}) == Path("/c/pml/compiled")
    assert default_folder({}) == Path.home() / ".cache" / "pml" / "compiled"
