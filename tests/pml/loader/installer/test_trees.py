"""Hashes and stamps of real folders."""

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.loader.installer import TreeUnsafeError, trees
from pml.loader.installer.trees import entries, is_settled, stamp, tree_hash


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "lib").mkdir(parents=True)
    (root / "index.js").write_text("run()")
    (root / "lib" / "a.js").write_text("a")
    (root / "link.js").symlink_to("lib/a.js")
    return root


def hash_of(root: Path) -> str:
    return tree_hash(root, entries(root))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte": lambda root: (root / "lib" / "a.js").write_text("b"),
    "a new file": lambda root: (root / "new").write_text(""),
    "a lost file": lambda root: (root / "lib" / "a.js").unlink(),
    "a new folder": lambda root: (root / "empty").mkdir(),
    "another name": lambda root: (root / "index.js").rename(root / "index2.js"),
    "made executable": lambda root: (root / "index.js").chmod(0o755),
    "another target": lambda root: _relink(root / "link.js", "index.js"),
    "a file instead of a link": lambda root: _replace(root / "link.js", "a"),
}


def _relink(path: Path, target: str) -> None:
    path.unlink()
    path.symlink_to(target)


def _replace(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_change_gives_another_hash_and_another_stamp(
    tree: Path, change: Callable[[Path], object]
) -> None:
    before, stamped = hash_of(tree), stamp(entries(tree))
    change(tree)
    assert hash_of(tree) != before
    assert stamp(entries(tree)) != stamped


def test_the_hash_is_the_same_wherever_and_whenever_a_tree_lies(tree: Path) -> None:
    before = hash_of(tree)
    os.utime(tree / "index.js", (1, 1))
    moved = tree.rename(tree.with_name("elsewhere"))
    assert hash_of(moved) == before
    assert before.startswith("sha256-")
    assert len(before) == len("sha256-") + 64


def test_a_byte_that_was_changed_and_its_time_put_back_gives_another_stamp(tree: Path) -> None:
    """An attack: content of the same size, in the same file, with the old modification time."""
    file = tree / "index.js"
    facts = file.stat()
    before = stamp(entries(tree))
    with file.open("r+b") as opened:
        opened.write(b"RUN()")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
        facts.st_size, facts.st_mtime_ns, facts.st_ino
    )  # fmt: skip
    assert stamp(entries(tree)) != before


def test_a_tree_that_was_changed_just_now_is_not_settled(tree: Path) -> None:
    found = entries(tree)
    newest = max(entry.facts.st_ctime_ns for entry in found)
    assert not is_settled(found, time.time_ns())
    assert not is_settled(found, newest + 1_900_000_000)
    assert is_settled(found, newest + 2_100_000_000)


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "lib/../../x", "..", "lib/../.."])
def test_a_link_that_leads_out_is_refused(tree: Path, target: str) -> None:
    (tree / "evil").symlink_to(target)
    with pytest.raises(TreeUnsafeError, match="leads out"):
        entries(tree)


def test_only_a_named_link_may_lead_out_and_counts_with_its_target(tree: Path) -> None:
    def with_link(target: str) -> str:
        (tree / "python").unlink(missing_ok=True)
        (tree / "python").symlink_to(target)
        return tree_hash(tree, entries(tree, leading_out={"python"}))

    assert with_link("/usr/bin/python3") != with_link("/tmp/evil")


def test_what_is_neither_file_nor_folder_is_refused(tree: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tree / "s"))
        with pytest.raises(TreeUnsafeError, match="neither"):
            entries(tree)
    (tree / "s").unlink()
    os.mkfifo(tree / "f")
    with pytest.raises(TreeUnsafeError, match="neither"):
        entries(tree)


def test_a_program_that_would_run_as_another_user_is_refused(tree: Path) -> None:
    (tree / "index.js").chmod(0o4755)
    with pytest.raises(TreeUnsafeError, match="another user"):
        entries(tree)


def test_a_tree_of_too_many_files_is_refused(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MOST_ENTRIES", len(entries(tree)))
    entries(tree)
    (tree / "one more").touch()
    with pytest.raises(TreeUnsafeError, match="too many"):
        entries(tree)


def test_a_tree_that_is_too_large_is_refused(tree: Path) -> None:
    with (tree / "sparse").open("wb") as file:
        file.truncate(trees.MOST_BYTES + 1)
    with pytest.raises(TreeUnsafeError, match="too many"):
        entries(tree)


PATHS = st.text(st.sampled_from("ab/\n."), min_size=1, max_size=6)


@given(st.dictionaries(PATHS, st.binary(max_size=4), max_size=4), st.data())
def test_two_trees_have_one_hash_only_if_they_are_the_same(
    files: dict[str, bytes], data: st.DataObject
) -> None:
    other = data.draw(st.one_of(st.just(files), st.dictionaries(PATHS, st.binary(max_size=4))))
    assert (_made(files) == _made(other)) == (_hash_made(files) == _hash_made(other))


def _made(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name.replace("/", "\\"): content for name, content in files.items()
            if name not in (".", "..")}  # fmt: skip


def _hash_made(files: dict[str, bytes]) -> str:
    import tempfile  # noqa: PLC0415 - hypothesis wants no fixture of a function

    with tempfile.TemporaryDirectory() as folder:
        for name, content in _made(files).items():
            (Path(folder) / name).write_bytes(content)
        return hash_of(Path(folder))
