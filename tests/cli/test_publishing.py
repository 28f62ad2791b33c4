"""`pml publish` through the real entry point, with a real `pml cloud` on loopback."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pml.fqdn import integrity_of

from .clouds import Cloud, started
from .workspaces import Workspace, made

SHOUT = """// __meta__: {"fqdn": "acme.tools.voice.shout", "description": "Shouts"}
export function shout(args: {text: string}) { return {loud: args.text.toUpperCase()} }
"""
LOUDER = SHOUT.replace("toUpperCase()", "toUpperCase() + '!'")
SERVER = {
    "fqdn": "acme.mcp.news.server",
    "type": "http",
    "proxyTo": "https://news.example/mcp",
    "tools": ["news:search"],
}
KEY = "sk_test_0123456789abcdefghij"


def version(code: str, base: str = "acme.tools.voice.shout") -> str:
    return f"{base}.{integrity_of(code.encode())[7:11]}"


def named(base: str) -> str:
    return SHOUT.replace("acme.tools.voice.shout", base)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """A cloud that tests share: each publishes names of its own."""
    with started(tmp_path_factory.mktemp("cloud")) as one:
        yield one


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    return made(tmp_path / "author", monkeypatch)


def events(pml: Any) -> list[tuple[str, dict[str, Any]]]:
    lines = [json.loads(line) for line in pml("audit", "show", "--json").out.splitlines()]
    return [(line["event"], line["facts"]) for line in lines if line["event"] != "opened"]


def test_what_one_workspace_publishes_another_adds_and_runs(
    pml: Any, work: Workspace, cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.use_cloud(cloud.url, cloud.key("publish:acme"))
    work.write("src/shout.ts", SHOUT)
    work.write("news.json", json.dumps(SERVER))
    ended = pml("publish", "src/shout.ts", "news.json")
    assert (ended.code, ended.err) == (0, "")
    first, second = ended.out.splitlines()
    assert first == f"{version(SHOUT)}  published"
    assert second.startswith("acme.mcp.news.server.")
    user = made(tmp_path / "user", monkeypatch)
    user.configure(registries=[cloud.url], permissions={"allow": ["voice:*"]})
    assert pml("add", "acme.tools.voice.shout").out.startswith(f"locked {version(SHOUT)}\n")
    assert json.loads(pml("run", "-e", "return await mcp.voice.shout({text: 'hi'})").out) == {
        "loud": "HI"
    }


def test_what_was_published_before_is_unchanged_or_current_again(
    pml: Any, work: Workspace, cloud: Cloud
) -> None:
    work.use_cloud(cloud.url, cloud.key("publish:acme"))
    old, new = named("acme.tools.again.shout"), named("acme.tools.again.shout") + "// newer\n"
    file = work.write("shout.ts", old)
    name = "acme.tools.again.shout"
    assert pml("publish", "shout.ts").out == f"{version(old, name)}  published\n"
    assert pml("publish", "shout.ts").out == f"{version(old, name)}  unchanged\n"
    file.write_text(new)
    assert pml("publish", "shout.ts").out == f"{version(new, name)}  published\n"
    file.write_text(old)
    assert pml("publish", "shout.ts").out == f"{version(old, name)}  current again\n"
    assert json.loads(pml("publish", "shout.ts", "--json").out) == {
        "file": "shout.ts", "fqdn": version(old, name), "integrity": integrity_of(old.encode()),
        "outcome": "unchanged", "registry": cloud.url,
    }  # fmt: skip


def test_a_publication_is_in_the_audit_before_and_after_and_its_key_is_not(
    pml: Any, work: Workspace, cloud: Cloud
) -> None:
    key = cloud.key("publish:acme")
    work.use_cloud(cloud.url, key)
    code = named("acme.tools.audited.shout")
    work.write("shout.ts", code)
    pml("publish", "shout.ts")
    facts = {
        "fqdn": version(code, "acme.tools.audited.shout"),
        "integrity": integrity_of(code.encode()), "file": "shout.ts", "registry": cloud.url,
    }  # fmt: skip
    assert events(pml) == [
        ("publishing", facts),
        ("published", {**facts, "outcome": "published"}),
    ]
    kept = [file.read_bytes() for file in (work.home / "state").rglob("*") if file.is_file()]
    assert not any(key.encode() in one for one in kept)


@pytest.mark.parametrize("scope", ["publish:other", "call"])
def test_a_key_without_the_right_is_told_which_one_is_needed(
    pml: Any, work: Workspace, cloud: Cloud, scope: str
) -> None:
    work.use_cloud(cloud.url, cloud.key(scope))
    work.write("shout.ts", named("acme.tools.scope.shout"))
    ended = pml("publish", "shout.ts")
    assert (ended.code, ended.out) == (1, "")
    assert "names of `acme` take the scope publish:acme" in ended.err
    assert "hint: use a name of your own organisation" in ended.err
    assert "--may publish:acme" in ended.err
    assert [event for event, _ in events(pml)] == ["publishing", "publishing_failed"]


def test_a_key_that_nobody_knows_is_told(pml: Any, work: Workspace, cloud: Cloud) -> None:
    work.use_cloud(cloud.url, KEY)
    work.write("shout.ts", SHOUT)
    ended = pml("publish", "shout.ts")
    assert (ended.code, "it does not know your key" in ended.err) == (1, True)
    assert KEY not in ended.err


def test_what_the_registry_refuses_is_told_in_its_words(
    pml: Any, work: Workspace, cloud: Cloud
) -> None:
    work.use_cloud(cloud.url, cloud.key("publish:*"))
    routed = '"routing": "server", "description"'
    for org in ("first", "second"):
        code = named(f"{org}.tools.taken.shout").replace('"description"', routed)
        work.write(f"{org}.ts", code)
    assert pml("publish", "first.ts").code == 0
    ended = pml("publish", "second.ts")
    assert ended.code == 1
    assert "the namespace `taken` belongs to `first.tools`" in ended.err


def test_all_files_are_checked_before_the_first_is_sent(
    pml: Any, work: Workspace, cloud: Cloud
) -> None:
    work.use_cloud(cloud.url, cloud.key("publish:acme"), registries=[cloud.url])
    work.write("good.ts", named("acme.tools.whole.shout"))
    work.write("bad.ts", "export const nothing = 1")
    ended = pml("publish", "good.ts", "bad.ts")
    assert (ended.code, ended.out) == (1, "")
    assert "bad.ts cannot be published: it does not begin with what it is" in ended.err
    assert "not in registry" in pml("add", "acme.tools.whole.shout").err
    assert events(pml) == []


def test_what_cannot_be_sent_as_it_is_is_told(pml: Any, work: Workspace, cloud: Cloud) -> None:
    work.use_cloud(cloud.url, cloud.key("publish:acme"))
    work.write("one.ts", SHOUT)
    work.write("two.ts", LOUDER)
    work.write("large.ts", SHOUT + " " * (1 << 20))
    work.write("shout.py", SHOUT)
    work.write("unnamed.ts", "// __meta__: {}\nreturn 1\n")
    os.mkfifo(work.path / "pipe.ts")
    (work.path / "folder.ts").mkdir()
    for arguments, code, words in (
        (("one.ts", "two.ts"), 1, "one.ts and two.ts have the same name"),
        (("large.ts",), 1, "larger than 1 MiB"),
        (("shout.py",), 1, "neither code (.ts, .js) nor the metadata"),
        (("unnamed.ts",), 1, "no name in the registry"),
        (("one.ts", "two.ts", "--name", "a.b.c.d"), 2, "--name is the name of one file"),
        (("one.ts", "--name", "acme.tools.voice.other"), 1, "says that it is"),
        (("none.ts",), 1, "cannot read none.ts"),
        (("pipe.ts",), 1, "cannot read pipe.ts: it is no file"),
        (("folder.ts",), 1, "cannot read folder.ts: it is no file"),
    ):
        ended = pml("publish", *arguments)
        assert (ended.code, words in ended.err) == (code, True), ended.err
    assert events(pml) == []


def test_a_name_can_be_given_to_a_file_that_has_none(
    pml: Any, work: Workspace, cloud: Cloud
) -> None:
    work.use_cloud(cloud.url, cloud.key("publish:acme"))
    code = "// __meta__: {}\nreturn 1\n"
    work.write("unnamed.js", code)
    ended = pml("publish", "unnamed.js", "--name", "acme.tools.given.name")
    assert ended.out == f"{version(code, 'acme.tools.given.name')}  published\n"


def test_what_lies_outside_the_workspace_or_looks_secret_is_not_sent(
    pml: Any, work: Workspace, cloud: Cloud
) -> None:
    """A link planted in the workspace would publish a file of the user's."""
    work.use_cloud(cloud.url, cloud.key("publish:acme"))
    (work.home / "mine.ts").write_text(SHOUT)
    (work.path / "link.ts").symlink_to(work.home / "mine.ts")
    (work.path / "env.ts").symlink_to(work.path / ".env")
    work.write("credentials.json", json.dumps(SERVER))
    for file, words in (
        ("../mine.ts", "../mine.ts was not sent: it lies outside the workspace"),
        ("link.ts", "link.ts was not sent: it lies outside the workspace"),
        ("env.ts", "env.ts was not sent: it looks like environment variables"),
        ("credentials.json", "credentials.json was not sent: it looks like credentials"),
    ):
        ended = pml("publish", file)
        assert (ended.code, words in ended.err) == (1, True), ended.err
    assert events(pml) == []


@pytest.mark.parametrize("form", ["plain", "base64"])
@pytest.mark.parametrize("place", [".env", "environment", "server", "cloud"])
def test_code_that_holds_a_key_of_the_workspace_is_not_sent(
    pml: Any, work: Workspace, cloud: Cloud, place: str, form: str
) -> None:
    key, secret = cloud.key("publish:acme"), KEY
    servers = {}
    if place == "environment":
        work.patch.setenv("NEWS_KEY", secret)
    if place == "server":
        servers = {"news": {"command": "true", "env": {"NEWS_KEY": secret}}}
    work.use_cloud(cloud.url, key, mcpServers=servers)
    if place == ".env":
        with (work.path / ".env").open("a") as file:
            file.write(f"NEWS_KEY={secret}\n")
    if place == "cloud":
        secret = key
    held = base64.b64encode(secret.encode()).decode() if form == "base64" else secret
    meta = '// __meta__: {"fqdn": "acme.tools.held.key", "envRequired": ["NEWS_KEY"]}'
    work.write("held.ts", f"{meta}\nconst key = '{held}'\nreturn key\n")
    ended = pml("publish", "held.ts")
    assert (ended.code, ended.out) == (1, "")
    name = "PML_API_KEY" if place == "cloud" else "NEWS_KEY"
    assert f"held.ts was not sent: it holds the value of {name}" in ended.err
    assert held not in ended.err
    assert events(pml) == []


def test_without_a_cloud_or_a_key_it_is_told_what_is_missing(
    pml: Any, work: Workspace, cloud: Cloud
) -> None:
    work.write("shout.ts", SHOUT)
    ended = pml("publish", "shout.ts")
    assert (ended.code, "names a `cloud`" in ended.err) == (1, True)
    work.configure(registries=[cloud.url])
    ended = pml("publish", "shout.ts")
    assert (ended.code, "names a `cloud`" in ended.err) == (1, True)
    work.use_cloud(cloud.url, None)
    ended = pml("publish", "shout.ts")
    assert (ended.code, "Cloud mode requires PML_API_KEY" in ended.err) == (1, True)
    assert events(pml) == []


def test_a_cloud_that_nobody_trusted_is_sent_nothing(
    pml: Any, work: Workspace, cloud: Cloud
) -> None:
    """A file that came with a clone, or that a program changed, must not choose who gets a key."""
    work.write(".env", f"PML_API_KEY={KEY}\n").chmod(0o600)
    work.write("shout.ts", SHOUT)
    text = json.dumps({"cloud": {"url": cloud.url, "apiKey": "${PML_API_KEY}"}})
    work.write(".pml.json", text)
    assert pml("publish", "shout.ts").code == 3
    work.use_cloud("https://cloud.example", KEY)
    work.write(".pml.json", text)
    ended = pml("publish", "shout.ts")
    assert (ended.code, "hint: pml trust" in ended.err) == (1, True)
    ended = pml("publish", "shout.ts", "--to", cloud.url)
    assert (ended.code, "neither the trusted `cloud`" in ended.err) == (1, True)
    assert events(pml) == []


def test_a_cloud_that_is_away_is_told(pml: Any, work: Workspace, tmp_path: Path) -> None:
    (tmp_path / "cloud").mkdir()
    with started(tmp_path / "cloud") as gone:
        work.use_cloud(gone.url, gone.key("publish:acme"))
    work.write("shout.ts", SHOUT)
    ended = pml("publish", "shout.ts")
    assert (ended.code, ended.out) == (1, "")
    assert f"the registry {gone.url} cannot be reached" in ended.err
