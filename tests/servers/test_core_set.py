"""Every server of the core set starts, lists and answers, at the best level of this machine."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pml.assembly import Setup, opened_servers
from pml.backends.errors import ServerRefusedError
from pml.config import load_config
from pml.confinement import probe
from pml.places import workspace_state
from sandbox_host import ToolError

from .conftest import Configure


class Silent:
    def __init__(self) -> None:
        self.levels: dict[str, str] = {}

    def started(self, server: str, record: Mapping[str, Any]) -> None:
        self.levels[server] = record["level"]

    def ready(self, server: str) -> None: ...
    def logged(self, server: str, level: str, text: str) -> None: ...
    def stopped(self, server: str, reason: str) -> None: ...


def setup_of(workspace: Path, state: Path, environ: Mapping[str, str] = os.environ) -> Setup:
    home = Path.home()
    config = load_config(workspace, environ, home)
    support = probe(environ)
    return Setup(workspace, config, support, environ, home, workspace_state(state, workspace))


# server, number of tools at least, era, tool, arguments, what the value must contain
CALLS: list[tuple[str, int, str, str, dict[str, Any], str]] = [
    ("everything", 10, "2025-11-25", "echo", {"message": "hi"}, "hi"),
    ("filesystem", 14, "2025-11-25", "read_text_file", {"path": "hello.txt"}, "hello"),
    ("memory", 9, "2025-11-25", "create_entities",
     {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}, "Ada"),
    ("time", 2, "2025-11-25", "get_current_time", {"timezone": "Europe/Paris"}, "Europe/Paris"),
    ("git", 10, "2025-11-25", "git_log", {"repo_path": "repo"}, "first"),
    ("sqlite", 6, "2025-11-25", "list_tables", {}, "[]"),
    ("commands", 1, "2024-11-05", "run_command", {"command": "echo from-the-shell"},
     "from-the-shell"),
    ("notion", 20, "2025-11-25", "", {}, ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("server", "tools", "era", "tool", "arguments", "wanted"), CALLS, ids=[c[0] for c in CALLS]
)
async def test_it_starts_lists_and_answers(
    server: str, tools: int, era: str, tool: str, arguments: dict[str, Any], wanted: str,
    configure: Configure, tmp_path: Path,
) -> None:  # fmt: skip
    workspace = configure(server)
    for key in ("path", "repo_path"):
        if key in arguments:
            arguments = {**arguments, key: str(workspace / arguments[key])}
    silent = Silent()
    setup = setup_of(workspace, tmp_path / "state")
    async with opened_servers(setup, silent) as opened_all:
        servers = opened_all.servers
        listings, problems = await servers.list_all()
        assert problems == {}
        assert len(listings[server].tools) >= tools
        assert listings[server].skipped == ()
        if tool:
            assert wanted in str(await servers.call(f"{server}:{tool}", arguments))
        else:  # what it would reach is not here: its refusal must come back as one
            first = listings[server].tools[0]
            with pytest.raises((ToolError, ServerRefusedError)):
                await servers.call(first.id, {})
        status = servers.status()[0]
        assert (status.protocol, status.level) == (era, setup.support.best)
    assert silent.levels == {server: setup.support.best}
    assert not any((setup.state / "servers" / server / "tmp").iterdir())
