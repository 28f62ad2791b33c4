"""Servers configured as npx and uvx, from the real registries: asked about, installed, started."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from .conftest import trusted
from .terminal import Terminal
from .test_cli import pml

MEMORY = "@modelcontextprotocol/server-memory"
VERSION = "2026.8.31"


def configured(workspace: Path, **servers: dict[str, Any]) -> Path:
    config = {"mcpServers": servers, "permissions": {"allow": list(servers)}}
    (workspace / ".pml.json").write_text(json.dumps(config), encoding="utf-8")
    return trusted(workspace)


def memory(workspace: Path, package: str = f"{MEMORY}@{VERSION}") -> Path:
    block = {
        "command": "npx", "args": ["-y", package],
        "env": {"MEMORY_FILE_PATH": "${workspace}/memory.jsonl"},
        "sandbox": {"fs_write": ["${workspace}"]},
    }  # fmt: skip
    return configured(workspace, memory=block)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages that the tests of this file have installed, with the key that seals them."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def known(workspace: Path, store: Path) -> Path:
    """A user who has installed the package before, for another workspace."""
    state = workspace.parent / "state"
    if not (store / "packages").is_dir():
        memory(workspace)
        assert pml(workspace, "servers", "install", "--yes").returncode == 0
        shutil.copytree(state / "packages", store / "packages", symlinks=True)
        shutil.copy(state / "key", store / "key")
        shutil.rmtree(state)
    shutil.copytree(store, state, symlinks=True)
    return memory(workspace)


def call(workspace: Path) -> Any:
    return pml(workspace, "call", "memory:read_graph")


def test_until_the_human_says_yes_the_call_waits_and_listing_names_the_command(
    workspace: Path,
) -> None:
    done = pml(memory(workspace), "run", "--json", "-e", "await mcp.memory.read_graph({})")
    report = json.loads(done.stdout)
    assert done.returncode == 3
    assert report["approvals"][0]["description"] == f"Install memory@{VERSION}?"
    listed = pml(workspace, "tools")
    assert "hint: pml servers install memory" in listed.stderr
    assert not (workspace.parent / "state" / "packages").exists()


def test_the_human_is_asked_and_a_yes_installs(known: Path) -> None:
    terminal = Terminal(known, "servers", "install", "memory")
    assert terminal.read_until("[y/N]")
    assert f"needs the package {MEMORY}, version {VERSION}, from npm" in terminal.received
    assert f"Install memory@{VERSION}? [y/N]" in terminal.received
    terminal.answer("y\n")
    code, words = terminal.end()
    assert code == 0, words
    assert f"installed memory: {MEMORY}@{VERSION} sha256-" in words
    assert json.loads(call(known).stdout) == {"entities": [], "relations": []}
    deps = json.loads((known / ".pml" / "deps.json").read_text(encoding="utf-8"))
    assert deps["installed"]["memory"]["version"] == VERSION
    audit = next((known.parent / "state").rglob("audit.jsonl")).read_text(encoding="utf-8")
    assert "package_installed" in audit


def test_anything_but_yes_installs_nothing(known: Path) -> None:
    terminal = Terminal(known, "servers", "install")
    assert terminal.read_until("[y/N]")
    terminal.answer("\n")
    code, words = terminal.end()
    assert code == 1
    assert "memory was not installed" in words
    assert call(known).returncode == 1
    assert not (known / ".pml" / "deps.json").exists()


def test_without_a_terminal_nobody_can_say_yes(known: Path) -> None:
    done = pml(known, "servers", "install")
    assert done.returncode == 1
    assert "needs a terminal" in done.stderr


def test_yes_beforehand_is_not_for_a_name_that_looks_like_another(workspace: Path) -> None:
    """An attack: a configuration with a slip in it, installed by a script."""
    memory(workspace, "@modelcontextprotocol/server-memroy@1.0.0")
    done = pml(workspace, "servers", "install", "--yes")
    assert done.returncode == 1
    assert f"almost that of `{MEMORY}`" in done.stderr
    assert not list((workspace.parent / "state").glob("packages/npm/*"))


def test_a_flipped_byte_stops_the_server_with_both_hashes_and_nothing_runs(known: Path) -> None:
    assert pml(known, "servers", "install", "--yes").returncode == 0
    assert call(known).returncode == 0
    tree = next((known.parent / "state" / "packages" / "npm").glob("*/tree"))
    file = tree / "node_modules" / MEMORY / "dist" / "index.js"
    good = file.read_bytes()
    evil = f"import('fs').then((fs) => fs.writeFileSync('{known}/ran', ''));"
    file.write_bytes(good.replace(b"\n", f"\n{evil}".encode(), 1))
    failed = call(known)
    assert failed.returncode == 1
    assert f"Integrity check failed for memory@{VERSION}" in failed.stderr
    assert "Expected sha256-" in failed.stderr
    assert ", got sha256-" in failed.stderr
    assert not (known / "ran").exists()
    file.write_bytes(good)
    assert call(known).returncode == 0


def test_a_private_server_of_the_configuration_is_installed_the_same_way(known: Path) -> None:
    install = {"command": "npx", "args": [f"{MEMORY}@{VERSION}"]}
    config = {
        "privateMcps": {"memory": {"type": "stdio", "install": install}},
        "permissions": {"allow": ["memory"]},
    }
    (known / ".pml.json").write_text(json.dumps(config), encoding="utf-8")
    trusted(known)
    assert "not installed" in call(known).stderr
    assert pml(known, "servers", "install", "memory", "--yes").returncode == 0
    assert json.loads(call(known).stdout) == {"entities": [], "relations": []}


def test_a_changed_version_asks_again(known: Path) -> None:
    assert pml(known, "servers", "install", "--yes").returncode == 0
    memory(known, f"{MEMORY}@2025.9.25")
    failed = call(known)
    assert failed.returncode == 1
    assert "not installed" in failed.stderr


def test_a_server_of_pypi_that_is_not_pinned_is_pinned_by_installing(workspace: Path) -> None:
    configured(workspace, time={"command": "uvx", "args": ["mcp-server-time"]})
    done = pml(workspace, "servers", "install", "--yes")
    assert done.returncode == 0, done.stderr
    asked = pml(workspace, "call", "time:get_current_time", "--args", '{"timezone": "UTC"}')
    assert json.loads(asked.stdout)["timezone"] == "UTC"
    deps = json.loads((workspace / ".pml" / "deps.json").read_text(encoding="utf-8"))
    version = deps["installed"]["time"]["version"]
    assert deps["installed"]["time"]["installCommand"] == f"uvx mcp-server-time@{version}"
    assert "time is installed" in pml(workspace, "servers", "install").stdout
