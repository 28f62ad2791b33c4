"""Patches fit exactly once or not at all; the prelude arrives byte for byte."""

import re
from pathlib import Path

import pytest

from guest_runtime import compiling
from guest_runtime.errors import PatchError, ToolError
from guest_runtime.sources import Patch


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "quickjs.c"
    path.write_text("int a = 1;\nint b = 2;\nint c = 2;\n", encoding="utf-8")
    return path


def test_a_patch_replaces_its_anchor(source: Path) -> None:
    patches = [Patch("quickjs.c", "a = 1", "a = 7", "why"), Patch("quickjs.c", "a = 7", "", "why")]
    compiling.apply_patches(source.parent, patches)
    assert source.read_text(encoding="utf-8").startswith("int ;\nint b")


@pytest.mark.parametrize(("find", "count"), [("= 2;", 2), ("= 3;", 0)])
def test_an_anchor_that_is_not_there_once_is_refused(source: Path, find: str, count: int) -> None:
    with pytest.raises(PatchError, match=f"occurs {count} times"):
        compiling.apply_patches(source.parent, [Patch("quickjs.c", find, "x", "why")])


def test_a_patch_of_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PatchError):
        compiling.apply_patches(tmp_path, [Patch("gone.c", "x", "y", "why")])


def test_the_prelude_header_holds_every_script_in_order(tmp_path: Path) -> None:
    texts = {"10-a.js": 'let é = "\\"";\n'.encode(), "20-b.js": b""}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    header = compiling.prelude_header(sorted(tmp_path.glob("*.js")))
    arrays = re.findall(r"pml_prelude_\d\[\] = \{([\d,]+)\}", header)
    assert [bytes(map(int, array.split(","))) for array in arrays] == [
        text + b"\0" for text in texts.values()
    ]
    assert re.findall(r'\{"(.+)", pml_prelude_(\d), (\d+)\}', header) == [
        ("10-a.js", "0", str(len(texts["10-a.js"]))),
        ("20-b.js", "1", "0"),
    ]
    assert "#define PML_PRELUDE_COUNT 2" in header


def test_an_empty_prelude_is_still_valid_c() -> None:
    header = compiling.prelude_header([])
    assert "{0, 0, 0}" in header
    assert "#define PML_PRELUDE_COUNT 0" in header


def test_another_version_of_a_tool_is_refused() -> None:
    with pytest.raises(ToolError, match=r"needs wasmtime 1\.2\.3, found 5"):
        compiling.require_tool("wasmtime", "1.2.3")


def test_a_missing_tool_is_refused() -> None:
    with pytest.raises(ToolError, match="found none"):
        compiling.require_tool("no-such-tool-pml", "1")
