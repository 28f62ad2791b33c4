"""`pml lock` through the real entry point, with a real registry on loopback and a real terminal."""

import dataclasses
import datetime
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from pml.assembly.locking import Locking, locking_of, opened_loader
from pml.fqdn import Fqdn, integrity_of
from pml.loader.lockfile import LockEntry, Lockfile
from pml.routing import Routing
from pml.trust import trust_workspace

from ..servers.terminal import Terminal  # noqa: TID252

AT = "2026-01-07T12:00:00Z"
SHOUT = Fqdn.parse("acme.tools.text.shout")
CODE = """// __meta__: {"fqdn": "acme.tools.text.shout", "description": "Shouts"}
export function shout(args: {text: string}) { return {text: args.text.toUpperCase()} }
"""


@dataclasses.dataclass(frozen=True)
class Project:
    path: Path

    @property
    def file(self) -> Path:
        return self.path / ".pml" / "mcp.lock"

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
        state = str(self.path.parent / "state")
        return kept | {"HOME": str(self.path.parent), "PML_STATE": state, "NO_COLOR": "1"}

    def configure(self, **keys: object) -> None:
        (self.path / ".pml.json").write_text(json.dumps(keys))

    def trust(self) -> None:
        now = datetime.datetime.now(datetime.UTC)
        trust_workspace(self.path, self.environ, self.path.parent, now)

    def locking(self) -> Locking:
        return locking_of(self.path, self.environ, self.path.parent, writes=True)

    def lock(self, name: str, content: bytes = b"code") -> None:
        entry = LockEntry(integrity_of(content), AT, "deno", Routing.CLIENT)
        self.locking().store.update(lambda now: now.add(Fqdn.parse(name), entry))

    def terminal(self, *arguments: str) -> Terminal:
        return Terminal(self.path, *arguments)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project((tmp_path / "work").resolve())
    (made.path / ".git").mkdir(parents=True)
    monkeypatch.chdir(made.path)
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    return made


class Cloud:
    """A `pml cloud` of its own, and publishing to it."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self.url = url

    def publish(self, code: str) -> str:
        file = self._folder / "shout.ts"
        file.write_text(code)
        command = [
            sys.executable,
            "-m",
            "pml",
            "cloud",
            "publish",
            file,
            "--database",
            self.database,
        ]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    @property
    def database(self) -> str:
        return str(self._folder / "cloud.db")


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    folder = tmp_path / "cloud"
    folder.mkdir()
    command = [sys.executable, "-m", "pml", "cloud", "serve", "--port", "0"]
    with subprocess.Popen(
        [*command, "--database", folder / "cloud.db"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert found is not None
        yield Cloud(folder, found[0])
        process.terminate()


def fetched(project: Project) -> None:
    """Fetch and lock what is current, as the first use does."""

    async def fetch() -> None:
        locking = project.locking()
        async with opened_loader(locking) as loader:
            kept = (await loader.update(SHOUT)).kept
        said = kept.metadata
        entry = LockEntry(said.integrity, AT, said.type, said.routing, url=kept.registry)
        locking.store.update(lambda now: now.add(said.fqdn, entry))

    anyio.run(fetch)


# --- check -----------------------------------------------------------------------------------------


def test_without_a_lockfile_nothing_is_locked_and_nothing_is_made(pml, project):
    ended = pml("lock")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"{project.file}: nothing is locked\n"
    assert not project.file.parent.exists()
    assert not (project.path.parent / "state").exists()


def test_what_is_locked_is_listed_and_good(pml, project):
    project.lock("acme.tools.text.shout")
    ended = pml("lock", "check")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        f"{project.file}: 1 entry\n"
        f"  acme.tools.text.shout.{integrity_of(b'code')[7:11]}  deno  client  not kept here\n"
    )


def test_check_as_data_has_every_entry_with_its_state(pml, project):
    project.lock("acme.tools.text.shout")
    facts = json.loads(pml("lock", "check", "--json").out)
    assert facts["trusted"] is True
    assert facts["problems"] == []
    (entry,) = facts["entries"]
    assert entry["integrity"] == integrity_of(b"code")
    assert entry["state"] == "absent"


def test_a_lockfile_that_somebody_edited_waits_for_the_human(pml, project):
    project.lock("acme.tools.text.shout")
    project.file.write_text(project.file.read_text().replace('"client"', '"server"'))
    ended = pml("lock", "check")
    assert ended.code == 3
    assert "was changed by somebody else" in ended.err
    assert "hint: look at it with `pml lock diff`, then run `pml trust`" in ended.err


def test_a_damaged_lockfile_is_an_error_with_its_place(pml, project):
    project.lock("acme.tools.text.shout")
    project.file.write_bytes(project.file.read_bytes()[:50])
    for command in ("check", "diff"):
        ended = pml("lock", command)
        assert ended.code == 1
        assert f"error: {project.file}:4:" in ended.err


def test_one_flipped_byte_in_kept_code_is_found_with_both_hashes(pml, project, cloud):
    project.configure(registries=[cloud.url])
    project.trust()
    cloud.publish(CODE)
    fetched(project)
    assert "kept" in pml("lock").out
    (blob,) = (project.path.parent / "state" / "registry" / "code").iterdir()
    blob.write_bytes(blob.read_bytes().replace(b"toUpperCase", b"toLowerCase"))
    ended = pml("lock", "check")
    assert ended.code == 1
    assert "DAMAGED" in ended.out
    assert integrity_of(CODE.encode()) in ended.err
    assert integrity_of(blob.read_bytes()) in ended.err


# --- frozen ----------------------------------------------------------------------------------------


def test_frozen_takes_a_clones_lockfile_as_it_is_and_writes_nothing(pml, project):
    project.file.parent.mkdir()
    entry = LockEntry(integrity_of(b"code"), AT, "deno", Routing.CLIENT)
    project.file.write_bytes(Lockfile().add(SHOUT, entry).content())
    assert pml("lock", "check").code == 3
    ended = pml("lock", "check", "--frozen")
    assert (ended.code, ended.err) == (0, "")
    assert not (project.path.parent / "state").exists()


def test_frozen_without_a_lockfile_fails(pml, project):
    ended = pml("lock", "check", "--frozen", "--json")
    assert ended.code == 1
    assert json.loads(ended.out)["problems"][0]["code"] == "lockfile_frozen"


def test_frozen_fails_for_a_lockfile_that_would_be_cleaned(pml, project):
    project.lock("acme.tools.text.shout")
    project.configure(permissions={"ask": ["other:*"]})
    ended = pml("lock", "check", "--frozen")
    assert ended.code == 1
    assert "no rule speaks of acme.tools.text.shout any more" in ended.err


# --- diff ------------------------------------------------------------------------------------------


def test_diff_shows_what_somebody_changed(pml, project):
    project.lock("acme.tools.text.shout")
    good = json.loads(project.file.read_text())
    entry = LockEntry(integrity_of(b"evil"), AT, "deno", Routing.CLIENT)
    project.file.write_bytes(Lockfile().add(SHOUT, entry).content())
    ended = pml("lock", "diff")
    assert ended.code == 3
    assert ended.out == (
        "not as it was last written or trusted here:\n"
        "  acme.tools.text.shout: changed\n"
        "    integrity\n"
        f"      - {integrity_of(b'code')}\n"
        f"      + {integrity_of(b'evil')}\n"
    )
    facts = json.loads(pml("lock", "diff", "--json").out)
    assert facts["edited"][0]["changes"][0]["new"] == integrity_of(b"evil")
    project.file.write_text(json.dumps(good))
    assert "what it locks is as it was" in pml("lock", "diff").out


def test_diff_says_when_nothing_differs(pml, project):
    project.lock("acme.tools.text.shout")
    ended = pml("lock", "diff")
    assert (ended.code, ended.out) == (0, "nothing differs\n")


def test_an_edit_does_not_reach_the_terminal_as_it_is(pml, project):
    """Attack: a tool whose name would clear the screen, in an edited lockfile."""
    project.lock("acme.tools.text.shout")
    entry = LockEntry(
        integrity_of(b"code"), AT, "deno", Routing.CLIENT,
        definitions={"\x1b[2J\u202e": integrity_of(b"d")},
    )  # fmt: skip
    project.file.write_bytes(Lockfile().add(SHOUT, entry).content())
    ended = pml("lock", "diff")
    assert "\\u{1b}[2J\\u{202e}" in ended.out
    assert "\x1b" not in ended.out


# --- update ----------------------------------------------------------------------------------------


def test_update_needs_a_terminal(pml, project):
    ended = pml("lock", "update")
    assert ended.code == 3
    assert "needs a terminal" in ended.err


def test_a_newer_version_is_shown_and_locked_only_after_a_yes(pml, project, cloud):
    project.configure(registries=[cloud.url])
    project.trust()
    old = cloud.publish(CODE)
    fetched(project)
    new = cloud.publish(CODE.replace("toUpperCase", "toLowerCase"))
    shown = pml("lock", "diff")
    assert shown.code == 3
    assert "another version is current at the registry:" in shown.out
    assert integrity_of(CODE.encode()) in shown.out

    for answer, expected in (("\n", old), ("y\n", new)):
        terminal = project.terminal("lock", "update")
        assert terminal.read_until("lock this version? [y/N] ")
        terminal.answer(answer)
        code, _ = terminal.end()
        assert code == 0
        assert list(json.loads(project.file.read_text())["entries"]) == [expected]
    assert pml("lock", "diff").out == "nothing differs\n"


def test_a_merged_lockfile_is_taken_after_it_was_shown(pml, project):
    project.lock("acme.tools.text.shout")
    entry = LockEntry(integrity_of(b"theirs"), AT, "deno", Routing.CLIENT)
    project.file.write_bytes(Lockfile().add(SHOUT, entry).content())
    for answer, code in (("n\n", 1), ("yes\n", 0)):
        terminal = project.terminal("lock", "update")
        assert terminal.read_until("take this lockfile as it is? [y/N] ")
        assert integrity_of(b"theirs") in terminal.received
        terminal.answer(answer)
        assert terminal.end()[0] == code
        assert pml("lock", "check").code == (0 if code == 0 else 3)


def test_what_no_rule_speaks_of_is_removed_after_a_yes(project):
    project.configure(permissions={"ask": ["other:*"]})
    project.trust()
    project.lock("acme.tools.text.shout")
    terminal = project.terminal("lock", "update")
    assert terminal.read_until("remove it? [y/N] ")
    terminal.answer("y\n")
    code, said = terminal.end()
    assert code == 0
    assert "1 entry changed" in said
    assert json.loads(project.file.read_text())["entries"] == {}


@pytest.mark.parametrize(
    ("trusted", "stated"), [("text:*", "other:*"), ("other:*", "text:*"), ("other:*", None)]
)
def test_rewriting_the_rules_unlocks_nothing(project, trusted, stated):
    """Attack: take the rule away, have the entry cleaned, put the rule back: it would be new."""
    project.configure(permissions={"allow": [trusted]})
    project.trust()
    project.lock("acme.tools.text.shout")
    project.configure(permissions={"ask": [stated]} if stated else {})
    locking = project.locking()
    assert "acme.tools.text.shout" in locking.store.load(locking.rules).entries


def test_a_registry_that_is_away_is_a_warning(pml, project):
    project.configure(registries=["http://127.0.0.1:1"])
    project.trust()
    entry = LockEntry(integrity_of(b"code"), AT, "deno", Routing.CLIENT, url="http://127.0.0.1:1")
    project.locking().store.update(lambda now: now.add(SHOUT, entry))
    ended = pml("lock", "diff")
    assert ended.code == 0
    assert (
        "warning: acme.tools.text.shout: the registry http://127.0.0.1:1 cannot be reached"
        in ended.err
    )
    assert pml("lock", "diff", "--offline").err == ""
