"""`python -m benches.discovery_listings`: keeps what the servers of `discovery_servers.toml` list.

Installs each, starts it in the OS sandbox as `pml` does, asks for its tools through our own
backend, and keeps the definitions under `benches/results`: they are other people's text, and stay
out of the repository. A server that fails is named with the reason. What is there is not done
again.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from benches.discovery_servers import Server, install, servers
from pml.assembly import Setup, opened_servers
from pml.config import load_config
from pml.confinement import probe
from pml.errors import PmlError
from pml.model import Listing, Tool

KEPT = Path(__file__).parent / "results" / "listings"

_START_SECONDS = 120  # two cores, cold files


class NotListedError(Exception):
    """A measurement over a part of the tools would say nothing of all."""

    def __init__(self, missing: list[str]) -> None:
        """Name them."""
        names = ", ".join(missing)
        super().__init__(f"not listed: {names}; run `python -m benches.discovery_listings`")


class _Nobody:
    def started(self, server: str, record: Any) -> None: ...
    def ready(self, server: str) -> None: ...
    def logged(self, server: str, level: str, text: str) -> None: ...
    def stopped(self, server: str, reason: str) -> None: ...


def kept() -> dict[str, list[Tool]]:
    """Give all tools by server, the built-ins first. Raises `NotListedError`."""
    wanted = servers()
    missing = [server.name for server in wanted if not _path(server.name, server.digest).exists()]
    if missing:
        raise NotListedError(missing)
    found = anyio.run(_builtins)
    for server in wanted:
        said = json.loads(_path(server.name, server.digest).read_text(encoding="utf-8"))
        found[server.name] = [Tool(server.name, one["name"], one) for one in said]
    return found


def _path(name: str, digest: str) -> Path:
    return KEPT / f"{name}-{digest}.json"


async def _builtins() -> dict[str, list[Tool]]:
    listings, problems = await _listings({})
    for problem in problems.values():
        raise problem
    return {name: list(one.tools) for name, one in listings.items()}


async def _listings(
    blocks: Mapping[str, Any],
) -> tuple[dict[str, Listing], dict[str, PmlError]]:
    """Ask the servers of a workspace made for them; without any, the built-ins."""
    with tempfile.TemporaryDirectory() as temporary:
        setup = _setup(temporary, blocks)
        async with opened_servers(setup, _Nobody()) as opened:
            return await opened.servers.list_all(list(blocks) or None)


def _setup(temporary: str, blocks: Mapping[str, Any]) -> Setup:
    folder = Path(temporary).resolve()
    workspace, state = folder / "workspace", folder / "state"
    workspace.mkdir()
    config = {"mcpServers": blocks, "limits": {"startTimeoutSeconds": _START_SECONDS}}
    (workspace / ".pml.json").write_text(json.dumps(config), encoding="utf-8")
    environ = {**os.environ, "PML_STATE": str(state)}
    loaded = load_config(workspace, environ, Path.home())
    support = probe(environ)
    return Setup(workspace, loaded, support, environ, Path.home(), state / "workspace")


def _keep(server: Server) -> str:
    """List a server, and keep it; give how it went."""
    path = _path(server.name, server.digest)
    if path.exists():
        return "is there"
    try:
        install(server)
        block = server.block()
    except (OSError, subprocess.SubprocessError) as error:
        return f"NOT INSTALLED: {error}\n{getattr(error, 'stderr', '')}"
    listings, problems = anyio.run(_listings, {server.name: block})
    if problems:
        return f"NOT LISTED: {problems[server.name]}"
    tools = [dict(tool.definition) for tool in listings[server.name].tools]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tools, ensure_ascii=False, indent=1), encoding="utf-8")
    return f"{len(tools)} tools"


def main() -> None:
    """List all, one after another; fail if one is missing."""
    missing = []
    for server in servers():
        words = _keep(server)
        print(f"{server.name}: {words}", flush=True)
        if words.startswith("NOT"):
            missing.append(server.name)
    if missing:
        sys.exit(f"missing: {', '.join(missing)}")


if __name__ == "__main__":
    main()
