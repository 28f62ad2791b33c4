"""A workspace with a server that can be told to turn, and its servers in this process."""

import contextlib
import copy
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pml.assembly import Opened, Setup, opened_servers, prepare, rights_of
from pml.execution.runner import call_directly
from pml.workspace import Workspace as Folder

from .conftest import Workspace

SERVER = Path(__file__).with_name("turning_server.py")
TOOLS: list[dict[str, Any]] = [
    {
        "name": "read",
        "title": "Read",
        "description": "Reads a note.",
        "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "string", "description": "Which note."}},
            "required": ["id"],
        },
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
        "_meta": {"origin": "notes"},
    },
    {"name": "turn", "inputSchema": {"type": "object"}},
    {"name": "end", "inputSchema": {"type": "object"}},
]


def changed(*path: str, to: Any) -> list[dict[str, Any]]:
    """The tools, with another value somewhere in `read`."""
    tools = copy.deepcopy(TOOLS)
    inner = tools[0]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return tools


class Notes:
    """A workspace whose server can be told to turn."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        workspace.servers = {
            "notes": {
                "command": sys.executable,
                "args": [str(SERVER), "${workspace}"],
                "sandbox": {"fsRead": ["${workspace}"], "fsWrite": ["${workspace}"]},
            }
        }
        self.lists(TOOLS)

    def configure(self, **more: Any) -> None:
        given = {"permissions": {"allow": ["notes"]}, **more}
        self.workspace.configure(**given)

    def lists(self, tools: list[dict[str, Any]], name: str = "tools.json") -> None:
        (self.workspace.path / name).write_text(json.dumps(tools), encoding="utf-8")

    @property
    def pins(self) -> list[Path]:
        return list(self.workspace.state.glob("workspaces/*/pins/*.json"))

    @property
    def audited(self) -> str:
        [path] = self.workspace.state.glob("workspaces/*/audit.jsonl")
        return path.read_text(encoding="utf-8")


@contextlib.asynccontextmanager
async def opened(notes: Notes, *, frozen: bool = False) -> AsyncIterator[tuple[Setup, Opened]]:
    """The servers, in this process: quicker than a whole gateway."""
    folder = Folder(notes.workspace.path, "cwd")
    setup = prepare(folder, notes.workspace.environ, Path.home(), frozen=frozen).setup
    async with opened_servers(setup, _Silent()) as servers:
        yield setup, servers


async def use(notes: Notes) -> None:
    """Call a tool for the first time, before anything changed."""
    async with opened(notes) as (setup, servers):
        result = await call_directly("notes:read", {"id": "a"}, rights_of(setup, servers))
        assert result["structuredContent"] == {"did": "read"}


class _Silent:
    def started(self, server: str, record: Any) -> None: ...

    def ready(self, server: str) -> None: ...

    def logged(self, server: str, level: str, text: str) -> None: ...

    def stopped(self, server: str, reason: str) -> None: ...
