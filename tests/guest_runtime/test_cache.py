"""A finished build is found by its inputs, and only when it is intact."""

import json
from pathlib import Path

import pytest

from guest_runtime import cache

FILES = {"quickjs.wasm": b"one", "eraser.wasm": b"two"}


@pytest.fixture
def store(tmp_path: Path) -> cache.Cache:
    return cache.Cache(tmp_path / "cache")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "guest_runtime"
    (made / "js" / "prelude").mkdir(parents=True)
    for name in ("sources.toml", "build.py", "abi.h", "js/shim.c", "js/prelude/10.js"):
        (made / name).write_text(name, encoding="utf-8")
    return made


@pytest.mark.parametrize(
    "name", ["sources.toml", "build.py", "abi.h", "js/shim.c", "js/prelude/10.js", "js/new.c"]
)
def test_the_key_changes_with_every_input(folder: Path, name: str) -> None:
    before = cache.input_hash(folder)
    (folder / name).write_text("changed", encoding="utf-8")
    assert cache.input_hash(folder) != before


def test_the_key_changes_when_an_input_is_renamed(folder: Path) -> None:
    before = cache.input_hash(folder)
    (folder / "js/prelude/10.js").rename(folder / "js/prelude/20.js")
    assert cache.input_hash(folder) != before


def test_the_key_ignores_what_is_not_an_input(folder: Path) -> None:
    before = cache.input_hash(folder)
    (folder / "README.md").write_text("words", encoding="utf-8")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "build.pyc").write_bytes(b"x")
    assert cache.input_hash(folder) == before


def test_what_was_put_is_found_and_installed(store: cache.Cache, tmp_path: Path) -> None:
    assert store.entry("key") is None
    store.put("key", FILES, {"abi": 1})
    entry = store.entry("key")
    assert entry is not None
    cache.install(entry, tmp_path / "out")
    assert cache.is_intact(tmp_path / "out", "key")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "eraser.wasm",
        "manifest.json",
        "quickjs.wasm",
    ]


def test_no_temporary_folder_is_left(store: cache.Cache) -> None:
    store.put("key", FILES, {})
    assert [path.name for path in store.root.iterdir()] == ["key"]


@pytest.mark.parametrize("name", ["quickjs.wasm", "manifest.json"])
def test_a_corrupted_entry_is_absent_and_can_be_put_again(store: cache.Cache, name: str) -> None:
    entry = store.put("key", FILES, {})
    (entry / name).write_bytes(b"rotten")
    assert store.entry("key") is None
    store.put("key", FILES, {})
    assert store.entry("key") is not None
    assert (entry / "quickjs.wasm").read_bytes() == b"one"


def test_an_entry_under_another_key_is_absent(store: cache.Cache) -> None:
    store.put("key", FILES, {}).rename(store.root / "other")
    assert store.entry("other") is None


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": 1, "inputs": "key", "files": [1]}'])
def test_a_manifest_of_another_shape_is_not_intact(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    assert not cache.is_intact(tmp_path, "key")


def test_the_manifest_states_hash_and_size() -> None:
    document = json.loads(cache.manifest("key", {"a": b"abc"}, {"abi": 3}))
    assert document["files"]["a"]["bytes"] == 3
    assert document["files"]["a"]["sha256"].startswith("ba7816bf")
    assert (document["format"], document["inputs"], document["abi"]) == (1, "key", 3)
