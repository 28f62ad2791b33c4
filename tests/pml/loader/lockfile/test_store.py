"""The file in a workspace that others may write: ours or an error, and never lost to a race."""

import dataclasses
import hashlib
import os
import stat
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.config import Permissions
from pml.fqdn import integrity_of
from pml.loader.lockfile import (
    Lockfile,
    LockfileError,
    LockfileFrozenError,
    LockfileInvalidError,
    LockfileMovedError,
    LockfileUnreadableError,
    LockfileUntrustedError,
    LockfileUnwritableError,
)
from pml.loader.lockfile import store as store_module
from pml.trust import NothingTrustedError

from .conftest import Memory, Place, entry, name


@dataclasses.dataclass(frozen=True)
class Shared:
    place: Place
    good: bytes


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One workspace for a property test, which must not share a fixture of a single test."""
    root = tmp_path_factory.mktemp("shared")
    (root / "work").mkdir()
    place = Place(root / "work", root / "state", Memory())
    with_one(place, definitions={"x": integrity_of(b"d")}, permissions=("fs:read",))
    return Shared(place, place.file.read_bytes())


A, B = name("a.b.c.d"), name("a.b.e.f")


def with_one(place, key=A, **facts):
    return place.store().update(lambda now: now.add(key, entry(**facts)))


# --- first fetch, later fetches --------------------------------------------------------------------


def test_where_there_is_no_file_nothing_is_locked_and_nothing_is_made(place):
    assert place.store().load() == Lockfile()
    assert list(place.workspace.iterdir()) == []
    assert not place.state.exists()


def test_the_first_fetch_is_written_and_read_by_the_next_process(place):
    made = with_one(place)
    assert place.store().load() == made
    assert made.entry(A) == entry()
    assert f'"a.b.c.d.{integrity_of(b"code")[7:11]}"' in place.file.read_text()


def test_the_file_and_its_folder_are_for_the_user_alone(place):
    with_one(place)
    assert stat.S_IMODE(place.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(place.file.parent.stat().st_mode) == 0o700
    assert [one.name for one in place.file.parent.iterdir()] == ["mcp.lock"]


def test_a_change_that_changes_nothing_writes_nothing(place):
    with_one(place)
    before = place.file.stat().st_mtime_ns, place.file.stat().st_ino
    with_one(place)
    assert (place.file.stat().st_mtime_ns, place.file.stat().st_ino) == before


def test_a_change_that_raises_writes_nothing(place):
    with_one(place)
    before = place.file.read_bytes()
    with pytest.raises(LockfileMovedError):
        place.store().update(lambda now: now.add(B, entry()).add(A, entry(b"other")))
    assert place.file.read_bytes() == before


def test_an_entry_that_could_not_be_read_again_is_not_written(place):
    with pytest.raises(LockfileUnwritableError) as caught:
        with_one(place, package="npm:x; rm -rf ~")
    assert "not a package" in caught.value.message
    assert not place.file.exists()


# --- AC13 ------------------------------------------------------------------------------------------


def test_loading_with_rules_cleans_the_file_and_saves_it(place):
    with_one(place)
    with_one(place, B)
    store = place.store()
    assert set(store.load(Permissions(allow=("c:*",))).entries) == {"a.b.c.d"}
    assert "a.b.e.f" not in place.file.read_text()
    assert set(place.store().load().entries) == {"a.b.c.d"}


def test_loading_with_rules_that_speak_of_everything_writes_nothing(place):
    with_one(place)
    before = place.file.stat().st_ino
    place.store().load(Permissions(ask=("*",)))
    assert place.file.stat().st_ino == before


# --- not ours --------------------------------------------------------------------------------------


def flipped(content: bytes) -> bytes:
    return content.replace(b'"client"', b'"server"')


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: None,
        flipped,
        lambda content: content + b"\n",
        lambda _: b'{"version": 1, "entries": {}}',
    ],
)
def test_a_file_that_somebody_edited_or_removed_is_an_error_and_stays_as_it_is(place, damage):
    with_one(place)
    content = damage(place.file.read_bytes())
    place.file.unlink() if content is None else place.put(content)
    for attempt in (lambda: place.store().load(), lambda: with_one(place, B)):
        with pytest.raises(LockfileUntrustedError) as caught:
            attempt()
        assert caught.value.code == "untrusted_lockfile"
        assert caught.value.expected == place.witness.sha256
        assert "pml trust" in (caught.value.hint or "")
    assert (place.file.read_bytes() if place.file.exists() else None) == content


@given(st.data())
def test_one_flipped_bit_anywhere_is_an_error(shared, data):
    good = shared.good
    content = bytearray(good)
    content[data.draw(st.integers(0, len(good) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    shared.place.put(bytes(content))
    with pytest.raises(LockfileError):
        shared.place.store().load()


def test_an_older_lockfile_that_is_put_back_is_an_error(place):
    """Attack: replay of a lockfile that was good before an update."""
    with_one(place)
    older = place.file.read_bytes()
    with_one(place, B)
    place.put(older)
    with pytest.raises(LockfileUntrustedError):
        place.store().load()


def test_a_clones_lockfile_is_an_error_until_it_is_trusted(place):
    place.put(Lockfile().add(A, entry()).content())
    with pytest.raises(LockfileUntrustedError) as caught:
        place.store().load()
    assert "was not written here" in caught.value.message


def test_an_edit_is_seen_by_a_store_that_has_read_the_file_before(place):
    with_one(place)
    store = place.store()
    store.load()
    facts = place.file.stat()
    with place.file.open("r+b") as file:  # in place, of the same length
        file.write(flipped(place.file.read_bytes()))
    os.utime(place.file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    with pytest.raises(LockfileUntrustedError):
        store.load()


def test_a_damaged_file_is_an_error_and_never_an_empty_lockfile(place):
    with_one(place)
    place.put(place.file.read_bytes()[:40])
    with pytest.raises(LockfileInvalidError):
        place.store().load()
    with pytest.raises(LockfileInvalidError):
        with_one(place, B)
    assert len(place.file.read_bytes()) == 40


@pytest.mark.parametrize("kind", ["link", "folder link", "pipe", "folder", "large"])
def test_what_is_no_plain_file_is_an_error(place, tmp_path, kind, monkeypatch):
    """Attack: a link to another file, a pipe that nobody writes, an endless file."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mcp.lock").write_bytes(Lockfile().content())
    match kind:
        case "folder link":
            place.file.parent.symlink_to(elsewhere)
        case "link":
            place.file.parent.mkdir()
            place.file.symlink_to(elsewhere / "mcp.lock")
        case "pipe":
            place.file.parent.mkdir()
            os.mkfifo(place.file)
        case "folder":
            place.file.mkdir(parents=True)
        case "large":
            monkeypatch.setattr(store_module, "MOST_BYTES", 100)
            place.put(b" " * 101)
    with pytest.raises(LockfileUnreadableError):
        place.store().load()
    with pytest.raises(LockfileError):
        with_one(place)
    assert (elsewhere / "mcp.lock").read_bytes() == Lockfile().content()


def test_a_lockfile_that_would_be_too_large_is_not_written(place, monkeypatch):
    monkeypatch.setattr(store_module, "MOST_BYTES", 100)
    with pytest.raises(LockfileUnwritableError):
        with_one(place)
    assert not place.file.exists()


def test_what_cannot_be_remembered_is_an_error_with_what_to_do(place):
    class Untrusted:
        def last(self):
            return None

        def wrote(self, sha256):
            raise NothingTrustedError(None)

    store = store_module.LockStore(place.workspace, place.state, Untrusted())
    with pytest.raises(LockfileUnwritableError) as caught:
        store.update(lambda now: now.add(A, entry()))
    assert caught.value.hint == "pml trust"


# --- frozen ----------------------------------------------------------------------------------------


def test_a_frozen_lockfile_is_read_and_never_written(place):
    with_one(place)
    before = place.file.read_bytes()
    store = place.store(frozen=True)
    assert store.load(Permissions(allow=("other",))) == Lockfile()
    assert store.update(lambda now: now.add(A, entry())).entry(A) == entry()
    with pytest.raises(LockfileFrozenError) as caught:
        store.update(lambda now: now.add(B, entry()))
    assert caught.value.code == "lockfile_frozen"
    assert place.file.read_bytes() == before


# --- to show ---------------------------------------------------------------------------------------


def test_what_was_last_ours_can_be_shown_beside_what_is_there(place):
    assert place.store().last_good() == Lockfile()
    made = with_one(place)
    place.put(Lockfile().add(B, entry()).content())
    store = place.store()
    assert store.last_good() == made
    found = store.found()
    assert set(found.lockfile.entries) == {"a.b.e.f"}
    assert not store.is_ours(found)


def test_a_file_that_was_trusted_and_read_can_be_shown_after_the_next_edit(place):
    trusted = Lockfile().add(B, entry())
    place.put(trusted.content())
    place.witness.wrote(hashlib.sha256(trusted.content()).hexdigest())
    assert place.store().last_good() is None
    place.store().load()
    place.put(Lockfile().content())
    assert place.store().last_good() == trusted


def test_a_kept_copy_that_was_changed_shows_nothing(place):
    with_one(place)
    (place.state / "mcp.lock").write_bytes(Lockfile().content())
    assert place.store().last_good() is None


def test_a_file_that_the_human_has_seen_is_adopted_and_no_other(place):
    with_one(place)
    store = place.store()
    place.put(Lockfile().add(B, entry()).content())
    seen = store.found()
    assert set(store.adopt(seen, lambda now: now).entries) == {"a.b.e.f"}
    assert set(place.store().load().entries) == {"a.b.e.f"}
    place.put(Lockfile().content())
    with pytest.raises(LockfileUntrustedError):
        store.adopt(seen, lambda now: now)


# --- two gateways ----------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from pml.fqdn import Fqdn, integrity_of
from pml.loader.lockfile import LockEntry, LockStore
from pml.routing import Routing

class OnDisk:
    def __init__(self, path): self.path = path
    def last(self): return self.path.read_text() if self.path.exists() else None
    def wrote(self, sha256): self.path.write_text(sha256)

work, state, who = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
store = LockStore(work, state, OnDisk(state / "witness"))
print("ready", flush=True)
sys.stdin.readline()
for number in range(25):
    entry = LockEntry(integrity_of(str(number).encode()), "2026-01-07T12:00:00Z", "deno", Routing.CLIENT)
    store.update(lambda now: now.add(Fqdn("a", who, "c", f"t{number}"), entry))
    assert f"a.{who}.c.t{number}" in store.load().entries
"""


def test_gateways_that_write_at_once_lose_no_entry(place):
    place.state.mkdir(mode=0o700)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), place.workspace, place.state, who],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for who in ("one", "two", "three")
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    found = place.store().found().lockfile
    assert len(found.entries) == 75
