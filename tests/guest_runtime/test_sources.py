"""The pins, and that they say the same everywhere."""

import tomllib
from pathlib import Path

import pytest

from guest_runtime.build import FOLDER
from guest_runtime.errors import SourcesError
from guest_runtime.sources import load_sources


def test_the_real_pins_load() -> None:
    sources = load_sources(FOLDER / "sources.toml")
    assert sources.quickjs.package == "quickjs-ng"
    assert sources.eraser.package == "@swc/wasm-typescript"
    assert all(patch.why for patch in sources.patches)


def test_the_tools_are_the_same_in_pyproject_and_constraints() -> None:
    tools = load_sources(FOLDER / "sources.toml").tools
    project = tomllib.loads((FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["optional-dependencies"]["guest"] == [f"ziglang=={tools['ziglang']}"]
    constraints = (FOLDER.parent / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert f"wasmtime=={tools['wasmtime']}" in constraints


@pytest.mark.parametrize(
    ("find", "replace", "place"),
    [
        ('sha256 = "43d2', 'sha256 = "XYZ', "quickjs.sha256"),
        ('version = "1.16.2"', "version = 1", "eraser.version"),
        ('ziglang = "0.17.0"', "", "tools.ziglang"),
        ('license_files = ["LICENSE"]', "", "eraser.license_files"),
    ],
)
def test_a_wrong_pin_is_named(tmp_path: Path, find: str, replace: str, place: str) -> None:
    text = (FOLDER / "sources.toml").read_text(encoding="utf-8")
    assert text.count(find) == 1
    path = tmp_path / "sources.toml"
    path.write_text(text.replace(find, replace), encoding="utf-8")
    with pytest.raises(SourcesError, match=place):
        load_sources(path)
