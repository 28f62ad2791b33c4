"""Whether `discover` finds the right tool, over real servers and the queries of the bench.

The bench asks all queries over 35 servers; here are those that the tests install anyway.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pml.assembly import Setup, opened_servers
from pml.config import load_config
from pml.confinement import probe
from pml.discovery import ToolIndex, Wanted, find

QUERIES = Path(__file__).resolve().parents[3] / "benches" / "discovery_queries.tsv"
WRITES = {"fs_write": ["${workspace}"]}


class Nobody:
    def started(self, server: str, record: Mapping[str, Any]) -> None: ...
    def ready(self, server: str) -> None: ...
    def logged(self, server: str, level: str, text: str) -> None: ...
    def stopped(self, server: str, reason: str) -> None: ...


@pytest.fixture
def anyio_backend() -> str:
    """Only asyncio: its processes are what `pml` runs on."""
    return "asyncio"


def servers(installed: Any) -> dict[str, dict[str, Any]]:
    """Give the servers under the names that the queries have for them."""
    npm = "@modelcontextprotocol/server-{}".format
    commands = {
        "everything": (*installed.node(npm("everything")),),
        "memory": (*installed.node(npm("memory")),),
        "files": (*installed.node(npm("filesystem")), "${workspace}"),
        "commands": (*installed.node("mcp-server-commands", "build/index.js"),),
        "notion": (*installed.node("@notionhq/notion-mcp-server", "bin/cli.mjs"),),
        "time": (installed.python("mcp-server-time"),),
        "git": (installed.python("mcp-server-git"),),
        "sqlite": (
            installed.python("mcp-server-sqlite", "sdk1"), "--db-path", "${workspace}/a.db"
        ),
    }  # fmt: skip
    return {
        name: {"command": command, "args": args, "sandbox": {**WRITES, "spawn": True}}
        for name, (command, *args) in commands.items()
    }


@pytest.fixture
async def index(installed: Any, tmp_path: Path) -> ToolIndex:
    """The tools of all of them, and of the built-ins."""
    workspace, state = tmp_path / "workspace", tmp_path / "state"
    workspace.mkdir()
    text = json.dumps({"mcpServers": servers(installed)})
    (workspace / ".pml.json").write_text(text, encoding="utf-8")
    config = load_config(workspace, os.environ, Path.home())
    support = probe(os.environ)
    setup = Setup(workspace, config, support, os.environ, Path.home(), state / "here")
    async with opened_servers(setup, Nobody()) as opened:
        listings, problems = await opened.servers.list_all()
    assert problems == {}
    made = ToolIndex()
    for server, listing in listings.items():
        made.update(server, listing.tools)
    return made


def queries(known: set[str]) -> list[tuple[str, set[str]]]:
    """Give the queries that some tool answers, with all that do."""
    lines = QUERIES.read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(query, set(ids.split())) for query, ids in pairs if known.intersection(ids.split())]


async def test_nine_of_ten_queries_have_their_tool_among_the_first_three(index: ToolIndex) -> None:
    asked = queries({tool.id for tool in index.tools()})
    missed = [
        (query, found) for query, accepted in asked
        if accepted.isdisjoint(
            found := [hit.tool.id for hit in find(index, Wanted(query, limit=3)).hits]
        )
    ]  # fmt: skip
    assert len(asked) >= 30
    assert len(missed) <= len(asked) / 10, missed
