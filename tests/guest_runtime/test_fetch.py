"""Archives that are not the pinned ones are refused before anything looks inside."""

import base64
import dataclasses
import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from guest_runtime import fetch
from guest_runtime.errors import ArchiveError, CommandFailedError, HashMismatchError
from guest_runtime.sources import Archive


def make_archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


CONTENT = make_archive({"package/LICENSE": b"free"})
PINNED = Archive("left-pad", "1.0", hashlib.sha256(CONTENT).hexdigest(), "MIT", ("LICENSE",))


class Registry:
    """A client that serves one content and counts how often it was asked."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.asked = 0

    def __call__(self, archive: Archive, folder: Path) -> None:
        self.asked += 1
        (folder / "fetched.tgz").write_bytes(self.content)


def test_the_pinned_archive_is_kept_and_fetched_once(tmp_path: Path) -> None:
    registry = Registry(CONTENT)
    first = fetch.obtain(PINNED, tmp_path, registry)
    second = fetch.obtain(PINNED, tmp_path, registry)
    assert first == second
    assert registry.asked == 1
    assert (fetch.unpack(first, tmp_path / "out") / "LICENSE").read_bytes() == b"free"


def test_a_wrong_hash_is_refused_with_both_hashes_and_nothing_is_kept(tmp_path: Path) -> None:
    evil = make_archive({"package/LICENSE": b"evil"})
    with pytest.raises(HashMismatchError) as caught:
        fetch.obtain(PINNED, tmp_path, Registry(evil))
    message = str(caught.value)
    assert "left-pad 1.0" in message
    assert PINNED.sha256 in message
    assert hashlib.sha256(evil).hexdigest() in message
    assert "sources.toml" in message
    assert list(tmp_path.iterdir()) == []


def test_a_kept_archive_that_rotted_is_fetched_again(tmp_path: Path) -> None:
    kept = fetch.obtain(PINNED, tmp_path, Registry(CONTENT))
    kept.write_bytes(b"rotten")
    registry = Registry(CONTENT)
    fetch.obtain(PINNED, tmp_path, registry)
    assert registry.asked == 1
    assert kept.read_bytes() == CONTENT


def test_a_client_that_brings_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError):
        fetch.obtain(PINNED, tmp_path, lambda archive, folder: None)


def test_an_archive_that_climbs_out_is_refused(tmp_path: Path) -> None:
    # Attack: a member named ../ would be written beside the target folder.
    archive = tmp_path / "climbing.tgz"
    archive.write_bytes(make_archive({"../escaped": b"x"}))
    with pytest.raises(tarfile.OutsideDestinationError):
        fetch.unpack(archive, tmp_path / "out")
    assert not (tmp_path / "escaped").exists()


@pytest.fixture
def probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Archive:
    """A package for the real pip, from a folder; its metadata step writes `ran`."""
    project = '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n'
    content = make_archive(
        {
            "pml_probe-1.0/pyproject.toml": project.encode(),
            "pml_probe-1.0/evil.py": f"open({str(tmp_path / 'ran')!r}, 'w').close()".encode(),
        }
    )
    (tmp_path / "packages").mkdir()
    (tmp_path / "packages" / "pml_probe-1.0.tar.gz").write_bytes(content)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "packages"))
    sha256 = hashlib.sha256(content).hexdigest()
    return dataclasses.replace(PINNED, package="pml-probe", sha256=sha256)


def test_pip_refuses_a_wrong_hash_before_it_runs_the_package(
    probe: Archive, tmp_path: Path
) -> None:
    # Attack: `pip download` runs the metadata step, code of the package; a swapped one must not.
    (tmp_path / "folder").mkdir()
    with pytest.raises(HashMismatchError, match=probe.sha256):
        fetch.pip_download(dataclasses.replace(probe, sha256=PINNED.sha256), tmp_path / "folder")
    assert not (tmp_path / "ran").exists()


def test_the_package_of_the_test_above_would_run_with_the_right_hash(
    probe: Archive, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(CommandFailedError):  # it is no real backend, but its code ran
        fetch.pip_download(probe, tmp_path / "folder")
    assert (tmp_path / "ran").exists()


def test_the_eraser_is_found_by_its_magic(tmp_path: Path) -> None:
    module = b"\0asm\x01\0\0\0rest"
    script = (
        f"const other = 'AGFz'; const bytes = Buffer.from('{base64.b64encode(module).decode()}')"
    )
    (tmp_path / "wasm.js").write_text(script, encoding="utf-8")
    assert fetch.extract_eraser(tmp_path) == module


def test_a_package_without_an_embedded_module_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "wasm.js").write_text("module.exports = {}", encoding="utf-8")
    with pytest.raises(ArchiveError):
        fetch.extract_eraser(tmp_path)


def test_the_licence_of_a_c_file_is_its_first_comment(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("/* MIT */\nint a; /* more */", encoding="utf-8")
    assert fetch.license_text(tmp_path, "a.c") == "/* MIT */"
