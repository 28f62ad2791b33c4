"""Servers from a registry through the real `pml stdio`: a real cloud, a real package of npm."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from pml.confinement import probe
from pml.loader.installer import Installer, Machine, Package
from pml.loader.installer.packages import Kind
from pml.trust.key import made_key

from .conftest import Workspace, accepting, connected

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from terminal import Terminal  # type: ignore[import-not-found]

PACKAGE, VERSION = "@modelcontextprotocol/server-memory", "2026.8.31"
EMPTY = {"entities": [], "relations": []}
CALL = "return await mcp.memory.read_graph({})"
KEEP = "return await mcp.notes.keep({})"
CAUGHT = f"try {{ {CALL} }} catch (error) {{ return [error.code, error.message] }}"


@dataclasses.dataclass(frozen=True)
class Store:
    """The package, installed once for all tests, with the key that seals it."""

    folder: Path
    integrity: str


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("store")
    environ = dict(os.environ)
    machine = Machine(environ, Path.home(), probe(environ), folder / "packages")
    installer = Installer(machine, made_key(folder))
    package = Package(Kind.NPM, PACKAGE, VERSION)
    return Store(folder, anyio.run(installer.install, package, "npm").integrity)


@dataclasses.dataclass(frozen=True)
class Cloud:
    folder: Path
    url: str
    process: "subprocess.Popen[str]"
    names: dict[str, str] = dataclasses.field(default_factory=dict)

    def requests(self, name: str) -> int:
        """Count how often it was asked for a name."""
        return (self.folder / "log").read_text(encoding="utf-8").count(f"/mcp/{name}")

    def publish(self, content: str | dict[str, Any]) -> str:
        file = self.folder / ("code.ts" if isinstance(content, str) else "server.json")
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        command = [sys.executable, "-m", "pml", "cloud", "publish", file]
        done = subprocess.run(
            [*command, "--database", self.folder / "cloud.db"],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout.strip()


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory, store: Store) -> Iterator[Cloud]:
    """A registry that tests share, with a server and a capability that needs one."""
    folder = tmp_path_factory.mktemp("cloud")
    command = [sys.executable, "-m", "pml", "cloud", "serve", "--port", "0"]
    with (folder / "log").open("w") as log, subprocess.Popen(
        [*command, "--database", folder / "cloud.db"], stdout=subprocess.PIPE, stderr=log, text=True
    ) as process:  # fmt: skip
        assert process.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
        assert found is not None
        made = Cloud(folder, found[0], process)
        made.names["memory"] = made.publish(described("memory", store.integrity))
        made.names["notes"] = made.publish(capability("notes.keep", store.integrity))
        yield made
        process.terminate()


@pytest.fixture
def known(workspace: Workspace, store: Store) -> Workspace:
    """A user who has the package already, and has said yes to nothing here."""
    shutil.copytree(store.folder, workspace.state, symlinks=True)
    return workspace


def described(server: str, integrity: str, org: str = "pml", **install: Any) -> dict[str, Any]:
    """What a registry says of a server."""
    return {
        "fqdn": f"{org}.mcp.{server}.server",
        "type": "stdio",
        "integrity": integrity,
        "install": {"command": "npx", "args": ["-y", f"{PACKAGE}@{VERSION}"], **install},
        "tools": [f"{server}:read_graph"],
    }


def capability(name: str, integrity: str, *args: str) -> str:
    """Code that needs the server."""
    needed = {
        "name": "memory", "type": "stdio", "version": VERSION, "integrity": integrity,
        "install": " ".join(["npx", "-y", f"{PACKAGE}@{VERSION}", *args]),
    }  # fmt: skip
    meta = {"fqdn": f"acme.tools.{name}", "mcpDeps": [needed]}
    return f"// __meta__: {json.dumps(meta)}\nreturn (await mcp.memory.read_graph({{}})).entities"


def pml(workspace: Workspace, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "pml", *arguments],
        cwd=workspace.path, env=workspace.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip


def lockfile(workspace: Workspace) -> dict[str, Any]:
    path = workspace.path / ".pml" / "mcp.lock"
    return json.loads(path.read_text())["entries"] if path.exists() else {}


def installed(workspace: Workspace) -> dict[str, Any]:
    path = workspace.path / ".pml" / "deps.json"
    return json.loads(path.read_text())["installed"] if path.exists() else {}


async def test_a_server_named_in_code_is_looked_up_asked_about_installed_and_run(
    known: Workspace, store: Store, cloud: Cloud
) -> None:
    name = cloud.names["memory"]
    known.configure(registries=[cloud.url], permissions={"allow": ["memory:*"]})
    async with connected(known, answer=accepting("yes")) as client:
        assert (await client.facts("execute", code=CALL))["result"] == EMPTY
        assert (await client.facts("execute", code=CALL))["result"] == EMPTY
    (asked,) = client.asked
    for words in (f"Install memory@{VERSION}?", name, cloud.url, store.integrity, PACKAGE):
        assert words in asked["message"]
    entry = lockfile(known)[name]
    assert entry["type"] == "stdio"
    assert entry["package"] == f"npm:{PACKAGE}@{VERSION}"
    assert entry["integrity"] == store.integrity == installed(known)["memory"]["integrity"]
    known.configure(registries=["http://127.0.0.1:1"], permissions={"allow": ["memory:*"]})
    async with connected(known) as client:  # another process, and nobody to ask any more
        assert (await client.facts("execute", code=CALL))["result"] == EMPTY


async def test_a_no_locks_and_installs_nothing(known: Workspace, cloud: Cloud) -> None:
    known.configure(registries=[cloud.url], permissions={"allow": ["memory:*"]})
    async with connected(known, answer=accepting("no")) as client:
        facts = await client.facts("execute", code=CAUGHT)
    assert facts["result"][0] == "install_refused"
    assert (lockfile(known), installed(known)) == ({}, {})


@pytest.mark.parametrize(
    "rules", [{"deny": ["memory"]}, {"allow": ["counter"]}], ids=["denied", "no rule"]
)
async def test_what_no_rule_lets_be_called_is_not_even_looked_up(
    known: Workspace, cloud: Cloud, rules: dict[str, list[str]]
) -> None:
    before = cloud.requests("pml.mcp.memory")
    known.configure(registries=[cloud.url], permissions=rules)
    async with connected(known, answer=accepting("yes")) as client:
        facts = await client.facts("execute", code=CAUGHT)
    assert facts["result"][0] in ("call_denied", "server_unknown")
    assert client.asked == []
    assert cloud.requests("pml.mcp.memory") == before


async def test_a_package_that_is_not_what_was_promised_is_not_used(
    known: Workspace, store: Store, cloud: Cloud
) -> None:
    # Attack: a registry's name leads to a package that somebody has taken over.
    promised = f"sha256-{'ab' * 32}"
    cloud.publish(described("taken", promised))
    known.configure(registries=[cloud.url], permissions={"allow": ["taken:*"]})
    async with connected(known, answer=accepting("yes")) as client:
        facts = await client.facts("execute", code=CAUGHT.replace("memory", "taken"))
    code, message = facts["result"]
    assert code == "integrity_failed"
    assert f"Integrity check failed for taken@{VERSION}" in message
    assert f"Expected {promised}, got {store.integrity}" in message
    assert (lockfile(known), installed(known)) == ({}, {})


async def test_the_word_of_a_terminal_counts_after_a_restart(
    known: Workspace, cloud: Cloud
) -> None:
    known.configure(registries=[cloud.url], permissions={"ask": ["memory:*"]})
    async with connected(known, modern=True) as client:
        facts = await client.facts("execute", code=CALL)
    assert facts["status"] == "approval_required"
    (asked,) = facts["approvals"]
    assert (asked["approvalType"], asked["version"]) == ("dependency", VERSION)
    assert lockfile(known) == {}
    terminal = Terminal(known.path, "approve", facts["workflowId"])
    assert terminal.read_until("install it and make this call?")
    terminal.answer("y\n")
    code, words = terminal.end()
    assert code == 0, words
    async with connected(known, modern=True) as client:
        facts = await client.facts("continue_workflow", workflowId=facts["workflowId"])
    assert facts["result"] == EMPTY


async def test_what_a_capability_needs_is_asked_about_and_shared(
    known: Workspace, cloud: Cloud
) -> None:
    before = cloud.requests("pml.mcp.memory")
    known.configure(registries=[cloud.url], permissions={"allow": ["notes:*", "memory:*"]})
    added = pml(known, "add", "acme.tools.notes.keep")
    assert f"memory@{VERSION} must be installed" in added.stderr
    async with connected(known, answer=accepting("yes")) as client:
        assert (await client.facts("execute", code=KEEP))["result"] == []
        assert (await client.facts("execute", code=CALL))["result"] == EMPTY
    (asked,) = client.asked
    assert f"Install memory@{VERSION}?" in asked["message"]
    assert cloud.names["notes"] in asked["message"]
    assert cloud.requests("pml.mcp.memory") == before
    async with connected(known) as client:
        assert (await client.facts("execute", code=KEEP))["result"] == []


async def test_a_yes_to_a_package_is_no_yes_to_keys_for_it(
    known: Workspace, store: Store, cloud: Cloud
) -> None:
    # Attack: what was approved is described anew, and now wants a key of the user's.
    cloud.publish(described("memory", store.integrity, "acme", envRequired=["MY_TOKEN"]))
    known.configure(registries=[cloud.url], permissions={"allow": ["memory:*"]})
    (known.path / ".env").write_text("MY_TOKEN=tok-4711-0815-secret\n")
    pml(known, "add", "pml.mcp.memory.server")
    assert pml(known, "servers", "install", "--yes").returncode == 0
    pml(known, "remove", "pml.mcp.memory.server")
    assert pml(known, "add", "acme.mcp.memory.server").returncode == 0
    async with connected(known, answer=accepting("no")) as client:
        facts = await client.facts("execute", code=CAUGHT)
    assert facts["result"][0] == "install_refused"
    assert "given your MY_TOKEN" in client.asked[0]["message"]


async def test_a_key_that_is_missing_is_named_and_found_without_a_restart(
    known: Workspace, store: Store, cloud: Cloud
) -> None:
    cloud.publish(described("keyed", store.integrity, envRequired=["MEMORY_FILE_PATH"]))
    known.configure(registries=[cloud.url], permissions={"allow": ["keyed:*"]})
    assert "keyed requires MEMORY_FILE_PATH" in pml(known, "add", "pml.mcp.keyed.server").stderr
    assert pml(known, "servers", "install", "keyed", "--yes").returncode == 0
    (state,) = (known.state / "workspaces").iterdir()
    file = state / "servers" / "keyed" / "home" / "graph.jsonl"
    ada = {"name": "ada", "entityType": "person", "observations": []}
    code = f"return await mcp.keyed.create_entities({json.dumps({'entities': [ada]})})"
    async with connected(known, modern=True) as client:
        facts = await client.facts("execute", code=code)
        assert facts["status"] == "approval_required"
        assert facts["approvals"][0]["missingKeys"] == ["MEMORY_FILE_PATH"]
        (known.path / ".env").write_text(f"MEMORY_FILE_PATH={file}\n")
        done = await client.facts("continue_workflow", workflowId=facts["workflowId"])
    assert done["status"] == "success"
    assert "ada" in file.read_text()


async def test_a_configured_server_goes_before_with_a_note(known: Workspace, cloud: Cloud) -> None:
    known.configure(registries=[cloud.url], permissions={"allow": ["memory:*"]})
    assert pml(known, "add", "pml.mcp.memory.server").returncode == 0
    known.servers["memory"] = known.servers["counter"]
    known.configure(registries=[cloud.url], permissions={"allow": ["memory:*"]})
    async with connected(known) as client:
        facts = await client.facts("execute", code="return await mcp.memory.one({})")
    assert facts["status"] == "success"
    assert "memory: what has this name here is used instead" in client.stderr
    assert known.effects == ["one"]


def test_add_list_install_call_and_remove(known: Workspace, cloud: Cloud) -> None:
    name = cloud.names["memory"]
    known.configure(registries=[cloud.url], permissions={"allow": ["memory:*"]})
    added = pml(known, "add", "pml.mcp.memory.server")
    assert added.stdout == (
        f"locked {name}\n  package  npm:{PACKAGE}@{VERSION}\n  memory:read_graph  allow\n"
    )
    assert "pml servers install memory" in added.stderr
    assert f"{name}  stdio  client  npm:{PACKAGE}@{VERSION}" in pml(known, "list").stdout
    assert installed(known) == {}
    assert "`memory` is not installed" in pml(known, "call", "memory:read_graph").stderr
    done = pml(known, "servers", "install", "--yes")
    assert done.returncode == 0, done.stderr
    assert json.loads(pml(known, "call", "memory:read_graph").stdout) == EMPTY
    assert pml(known, "remove", "pml.mcp.memory.server").returncode == 0
    assert "no server `memory`" in pml(known, "call", "memory:read_graph").stderr


def test_two_capabilities_that_need_different_servers_get_neither(
    known: Workspace, store: Store, cloud: Cloud
) -> None:
    cloud.publish(capability("notes.find", store.integrity, "--other"))
    known.configure(registries=[cloud.url], permissions={"allow": ["notes:*", "memory:*"]})
    for action in ("keep", "find"):
        pml(known, "add", f"acme.tools.notes.{action}")
    refused = pml(known, "call", "memory:read_graph")
    assert refused.returncode == 1
    assert "the server `memory` is another for each of" in refused.stderr


async def test_a_capability_named_in_code_is_asked_about_locked_and_run(
    known: Workspace, cloud: Cloud
) -> None:
    meta = json.dumps({"fqdn": "pml.std.greeting.hello"})
    name = cloud.publish(f"// __meta__: {meta}\nreturn `hello ${{args.to}}`")
    known.configure(registries=[cloud.url], permissions={"allow": ["greeting:*"]})
    code = "return await mcp.greeting.hello({to: 'ada'})"
    async with connected(known, answer=accepting("yes")) as client:
        assert (await client.facts("execute", code=code))["result"] == "hello ada"
        assert (await client.facts("execute", code=code))["result"] == "hello ada"
    (asked,) = client.asked
    assert f"Add {name} from {cloud.url}?" in asked["message"]
    assert lockfile(known)[name]["integrity"] in asked["message"]


async def test_a_private_server_is_under_the_same_rules_and_questions(known: Workspace) -> None:
    install = {name: known.servers["counter"][name] for name in ("command", "args")}
    sandbox = known.servers["counter"]["sandbox"]
    private = {"type": "stdio", "install": install, "sandbox": sandbox, "tools": ["mine:one"]}
    rules = {"ask": ["mine:one"], "deny": ["mine:two"]}
    known.configure(privateMcps={"mine": private}, permissions=rules)
    denied = "try { await mcp.mine.two({}) } catch (error) { return error.code }"
    async with connected(known, answer=accepting("yes")) as client:
        assert (await client.facts("execute", code=denied))["result"] == "call_denied"
        assert client.asked == []
        facts = await client.facts("execute", code="return await mcp.mine.one({})")
    assert facts["status"] == "success"
    assert "mine:one in" in client.asked[0]["message"]
    assert known.effects == ["one"]
