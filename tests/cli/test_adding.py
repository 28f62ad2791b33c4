"""`pml add`, `remove` and `list` through the real entry point, with a real `pml cloud` on loopback."""

import dataclasses
import datetime
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pml.fqdn import integrity_of
from pml.trust import trust_workspace

from .clouds import Cloud, started

SHOUT = """// __meta__: {"fqdn": "acme.tools.voice.shout", "description": "Shouts"}
export async function shout(args: {text: string}) {
  return {loud: args.text.toUpperCase(), quiet: await mcp.voice.whisper({text: args.text})}
}
"""
WHISPER = """// __meta__: {"fqdn": "acme.tools.voice.whisper"}
return args.text.toLowerCase()
"""
KEYED = """// __meta__: {"fqdn": "acme.tools.news.search", "envRequired": ["NEWS_KEY"]}
return "found"
"""
PROGRAM = "return await mcp.voice.shout({text: 'Hi'})"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud that tests share, with three capabilities."""
    with started(tmp_path_factory.mktemp("cloud")) as cloud:
        for code in (SHOUT, WHISPER, KEYED):
            cloud.publish(code)
        yield cloud


@dataclasses.dataclass(frozen=True)
class Project:
    path: Path

    def configure(self, **keys: Any) -> None:
        (self.path / ".pml.json").write_text(json.dumps(keys))
        trust_workspace(
            self.path, os.environ, self.path.parent, datetime.datetime.now(datetime.UTC)
        )

    @property
    def blobs(self) -> list[Path]:
        return sorted((self.path.parent / "state" / "registry" / "code").iterdir())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project((tmp_path / "work").resolve())
    (made.path / ".git").mkdir(parents=True)
    monkeypatch.chdir(made.path)
    monkeypatch.setenv("HOME", str(tmp_path.resolve()))
    monkeypatch.setenv("PML_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NO_COLOR", "1")
    return made


def test_what_is_added_is_locked_listed_and_runs(
    pml: Any, project: Project, published: Cloud
) -> None:
    project.configure(registries=[published.url], permissions={"allow": ["voice:*"]})
    ended = pml("add", "acme.tools.voice.shout")
    assert (ended.code, ended.err) == (0, "")
    version = f"acme.tools.voice.shout.{integrity_of(SHOUT.encode())[7:11]}"
    assert ended.out == f"locked {version}\n  voice:shout  allow\n"
    assert pml("add", "acme.tools.voice.whisper").code == 0
    (first, _) = json.loads(pml("list", "--json").out)
    assert (first["name"], first["tools"]) == (version, {"voice:shout": "allow"})
    assert first["integrity"] == integrity_of(SHOUT.encode())
    assert json.loads(pml("run", "-e", PROGRAM).out) == {"loud": "HI", "quiet": "hi"}


def test_a_plan_knows_what_is_a_capability(pml: Any, project: Project, published: Cloud) -> None:
    project.configure(registries=[published.url], permissions={"allow": ["voice:*"]})
    assert pml("plan", "-e", PROGRAM).code == 1
    pml("add", "acme.tools.voice.shout")
    ended = pml("plan", "-e", PROGRAM)
    assert ended.code == 0
    assert "voice:shout  line 1  capability  allow" in ended.out


def test_what_was_added_runs_with_its_registry_gone(
    pml: Any, project: Project, tmp_path: Path
) -> None:
    (tmp_path / "cloud").mkdir()
    with started(tmp_path / "cloud") as cloud:
        cloud.publish(WHISPER)
        project.configure(registries=[cloud.url], permissions={"allow": ["voice:*"]})
        assert pml("add", "acme.tools.voice.whisper").code == 0
    ended = pml("run", "-e", "return await mcp.voice.whisper({text: 'Hi'})")
    assert (ended.code, ended.out) == (0, "hi\n")
    ended = pml("add", "acme.tools.voice.shout")
    assert ended.code == 1
    assert "cannot be reached" in ended.err
    assert "`acme.tools.voice.shout` is not kept on this machine" in ended.err


def test_a_newer_version_is_not_taken_over_by_adding_it(
    pml: Any, project: Project, tmp_path: Path
) -> None:
    (tmp_path / "cloud").mkdir()
    with started(tmp_path / "cloud") as cloud:
        cloud.publish(WHISPER)
        project.configure(registries=[cloud.url], permissions={"allow": ["voice:*"]})
        pml("add", "acme.tools.voice.whisper")
        newer = cloud.publish(WHISPER.replace("toLowerCase", "trim"))
        assert pml("add", "acme.tools.voice.whisper").code == 0  # what is locked, and no other
        ended = pml("add", newer)
    assert ended.code == 3
    assert integrity_of(WHISPER.encode()) in ended.err
    assert "hint: to look at the change and take it: pml lock update" in ended.err
    assert pml("run", "-e", "return await mcp.voice.whisper({text: 'Hi'})").out == "hi\n"


def test_a_flipped_byte_in_what_is_kept_runs_nothing(
    pml: Any, project: Project, published: Cloud
) -> None:
    project.configure(registries=[published.url], permissions={"allow": ["voice:*"]})
    pml("add", "acme.tools.voice.whisper")
    (path,) = project.blobs
    path.write_bytes(path.read_bytes().replace(b"toLower", b"toUpper"))
    ended = pml("run", "-e", "return await mcp.voice.whisper({text: 'Hi'})")
    assert ended.code == 1
    assert integrity_of(WHISPER.encode()) in ended.err
    assert integrity_of(path.read_bytes()) in ended.err


def test_a_missing_key_is_told_and_found_without_adding_again(
    pml: Any, project: Project, published: Cloud
) -> None:
    project.configure(registries=[published.url], permissions={"allow": ["news:*"]})
    ended = pml("add", "acme.tools.news.search")
    assert ended.code == 0
    assert "news requires NEWS_KEY" in ended.err
    program = "return await mcp.news.search({})"
    ended = pml("run", "-e", program)
    assert ended.code == 3
    assert "news requires NEWS_KEY" in ended.err
    assert "hint: pml workflows resume" in ended.err
    (project.path / ".env").write_text("NEWS_KEY=abc123def\n")
    assert pml("run", "-e", program).out == "found\n"


def test_removing_makes_it_unknown_again(pml: Any, project: Project, published: Cloud) -> None:
    project.configure(registries=[published.url], permissions={"allow": ["voice:*"]})
    pml("add", "acme.tools.voice.whisper")
    assert pml("remove", "acme.tools.voice.whisper").code == 0
    assert pml("list", "--json").out == "[]\n"
    ended = pml("run", "-e", PROGRAM)
    assert "no server `voice`" in ended.err
    ended = pml("remove", "acme.tools.voice.whisper")
    assert (ended.code, ended.err) == (
        1, "error: acme.tools.voice.whisper is not locked\nhint: pml list\n",
    )  # fmt: skip


def test_a_configured_server_is_used_instead(pml: Any, project: Project, published: Cloud) -> None:
    server = {"command": sys.executable, "args": ["-c", "pass"]}
    project.configure(
        registries=[published.url],
        permissions={"allow": ["voice:*"]},
        private_mcps={"voice": {"type": "stdio", "install": server}},
    )
    pml("add", "acme.tools.voice.whisper")
    ended = pml("tools", "voice", "--verbose")
    assert "voice: a configured server of this name is used instead of the registry's" in ended.err


def test_a_lockfile_that_is_not_ours_makes_its_capabilities_unusable_by_name(
    pml: Any, project: Project, published: Cloud
) -> None:
    project.configure(registries=[published.url], permissions={"allow": ["voice:*"]})
    pml("add", "acme.tools.voice.whisper")
    lockfile = project.path / ".pml" / "mcp.lock"
    lockfile.write_text(lockfile.read_text().replace('"client"', '"client" '))
    ended = pml("run", "-e", "return await mcp.voice.whisper({text: 'Hi'})")
    assert ended.code == 3
    assert "was changed by somebody else" in ended.err
    assert pml("run", "-e", "return 1 + 1").out == "2\n"


def test_what_no_rule_speaks_of_is_not_locked(
    pml: Any, project: Project, published: Cloud
) -> None:
    """It would be removed from the lockfile at the next start (AC13), without a word."""
    project.configure(registries=[published.url], permissions={"allow": ["news:*"]})
    ended = pml("add", "acme.tools.voice.whisper")
    assert ended.code == 1
    assert "no rule of `allow` or `ask` speaks of `voice:whisper`" in ended.err
    assert json.loads(pml("list", "--json").out) == []
    project.configure(registries=[published.url], permissions={})
    assert pml("add", "acme.tools.voice.whisper").code == 0  # without rules everything asks
    assert len(json.loads(pml("list", "--json").out)) == 1
    assert pml("plan", "-e", "await mcp.voice.whisper({})").code == 3


def test_no_name_at_all_is_told_with_the_form_of_one(pml: Any, project: Project) -> None:
    project.configure(permissions={})
    ended = pml("add", "shout")
    assert ended.code == 1
    assert "`shout` is no name in a registry" in ended.err
    ended = pml("add", "acme.tools.voice.shout")
    assert "`registries` in `.pml.json` names none" in ended.err
