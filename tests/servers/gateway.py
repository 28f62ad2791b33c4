"""A gateway for the tests of leaving: starts every server of a workspace, then waits for stdin.

Prints `ready` once each server has answered; the bad server of the tests forks a daemon.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from pml.assembly import Setup, opened_servers
from pml.config import load_config
from pml.confinement import probe
from pml.places import workspace_state


class Nobody:
    def started(self, server: str, record: Mapping[str, Any]) -> None: ...
    def ready(self, server: str) -> None: ...
    def logged(self, server: str, level: str, text: str) -> None: ...
    def stopped(self, server: str, reason: str) -> None: ...


async def main() -> None:
    workspace = Path(sys.argv[1])
    config = load_config(workspace, os.environ, Path.home())
    state = workspace_state(workspace.parent / "state", workspace)
    setup = Setup(workspace, config, probe(os.environ), os.environ, Path.home(), state)
    async with opened_servers(setup, Nobody()) as opened:
        servers = opened.servers
        _, problems = await servers.list_all()
        assert not problems, problems
        await servers.call("bad:good", {"file": str(workspace / "heartbeat")})
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)


anyio.run(main)
