import json
import shutil
from pathlib import Path

import pytest

from pml.diagnosis.engine import look_at_compiled, look_at_guest_files, look_at_wasmtime
from sandbox_host.engine.runtime import GUEST_FOLDER
from sandbox_host.engine.version import installed_version


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GUEST_FOLDER, tmp_path / "guest"))


def test_the_installed_wasmtime_is_one_without_known_escapes() -> None:
    found = look_at_wasmtime(installed_version())
    assert found.level == "ok"
    assert "GHSA-vqjp-4c8c-hfgg and GHSA-m9f7-9w4p-gv38" in found.fact


@pytest.mark.parametrize(
    ("version", "words"), [("50.0.0", "GHSA-m9f7-9w4p-gv38"), ("51.0.0", "before version 51")]
)
def test_another_wasmtime_is_an_error_with_the_command_that_repairs_it(
    version: str, words: str
) -> None:
    found = look_at_wasmtime(version)
    assert found.level == "error"
    assert words in found.fact
    assert "pip install 'wasmtime" in str(found.fix)


def test_the_guest_is_the_one_that_was_built(copy: Path) -> None:
    found = list(look_at_guest_files(copy))
    assert [one.level for one in found] == ["ok", "ok"]
    digest = json.loads((copy / "manifest.json").read_text())["files"]["quickjs.wasm"]["sha256"]
    assert digest[:12] in found[0].fact


def test_one_changed_byte_of_the_guest_is_an_error(copy: Path) -> None:
    wasm = copy / "quickjs.wasm"
    content = bytearray(wasm.read_bytes())
    content[len(content) // 2] ^= 1
    wasm.write_bytes(content)
    changed, whole = look_at_guest_files(copy)
    assert (changed.level, whole.level) == ("error", "ok")
    assert "quickjs.wasm is not the file that was built" in changed.fact
    assert "pip install" in str(changed.fix)


def test_a_guest_that_is_not_there_is_an_error(copy: Path) -> None:
    (copy / "eraser.wasm").unlink()
    assert [one.level for one in look_at_guest_files(copy)] == ["ok", "error"]
    (copy / "manifest.json").write_text("{}")
    [found] = look_at_guest_files(copy)
    assert (found.level, "manifest.json" in found.fact) == ("error", True)


def test_a_manifest_without_the_guest_is_an_error(copy: Path) -> None:
    content = json.loads((copy / "manifest.json").read_text())
    del content["files"]["eraser.wasm"]
    (copy / "manifest.json").write_text(json.dumps(content))
    assert [one.level for one in look_at_guest_files(copy)] == ["ok", "error"]


def test_a_folder_of_compiled_guests_that_others_enter_is_a_warning(tmp_path: Path) -> None:
    folder = tmp_path / "compiled guests"
    assert look_at_compiled(folder).level == "ok"
    folder.mkdir(mode=0o700)
    assert look_at_compiled(folder).level == "ok"
    folder.chmod(0o770)
    found = look_at_compiled(folder)
    assert (found.level, found.fix) == ("warning", f"chmod 700 '{folder}'")
