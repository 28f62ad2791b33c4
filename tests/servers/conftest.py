"""A workspace with a `.pml.json` of real servers, each granted what it needs and no more."""

import datetime
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pml.keys import Keys, environ_with
from pml.trust import trust_workspace

Configure = Callable[..., Path]


def block(command: tuple[str, ...] | str, *args: str, **more: Any) -> dict[str, Any]:
    """Give one server's part of `mcpServers`."""
    words = (command,) if isinstance(command, str) else command
    return {"command": words[0], "args": [*words[1:], *args], **more}


def core_set(installed: Any) -> dict[str, dict[str, Any]]:
    """Every server of the core set: three eras, two SDKs, large schemas."""
    npm = "@modelcontextprotocol/server-{}".format
    writes = {"fs_write": ["${workspace}"]}
    memory = {"MEMORY_FILE_PATH": "${workspace}/memory.jsonl"}
    return {
        "everything": block(installed.node(npm("everything"))),
        "filesystem": block(
            installed.node(npm("filesystem")), "${workspace}", sandbox=writes
        ),
        "memory": block(installed.node(npm("memory")), env=memory, sandbox=writes),
        "time": block(installed.python("mcp-server-time")),
        "git": block(
            installed.python("mcp-server-git"), "--repository", "${workspace}/repo",
            sandbox={**writes, "spawn": True},
        ),
        "sqlite": block(
            installed.python("mcp-server-sqlite", "sdk1"), "--db-path", "${workspace}/data.db",
            sandbox=writes,
        ),
        "commands": block(
            installed.node("mcp-server-commands", "build/index.js"), sandbox={"spawn": True}
        ),
        "notion": block(installed.node("@notionhq/notion-mcp-server", "bin/cli.mjs")),
    }  # fmt: skip


@pytest.fixture
def anyio_backend() -> str:
    """Only asyncio: its processes are what `pml` runs on."""
    return "asyncio"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with a file and a repository with one commit."""
    folder = tmp_path / "workspace"
    repository = folder / "repo"
    repository.mkdir(parents=True)
    (folder / "hello.txt").write_text("hello", encoding="utf-8")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", "-C", str(repository), *words], check=True)
    return folder.resolve()


def trusted(workspace: Path, state: Path | None = None) -> Path:
    """Say the human's yes to a workspace's configuration as it is."""
    environ = {**os.environ, "PML_STATE": str(state or workspace.parent / "state")}
    keys = Keys(environ, workspace)
    now = datetime.datetime.now(datetime.UTC)
    trust_workspace(workspace, environ_with(keys), Path.home(), now, keys)
    return workspace


@pytest.fixture
def configure(workspace: Path, installed: Any) -> Configure:
    """Write `.pml.json` with some of the core set; give the workspace."""

    def write(*names: str, **more: Any) -> Path:
        servers = {name: one for name, one in core_set(installed).items() if name in names}
        text = json.dumps({"mcpServers": servers, **more}, indent=2)
        (workspace / ".pml.json").write_text(text, encoding="utf-8")
        return trusted(workspace)

    return write
