"""A server from npm: from nothing to its first answer, and each start after that; beside `npx -y`.

Both with an empty npm cache at first, for the same pinned package, which is the kindest case for
`npx`: without a version it asks the registry at every start. Ours is hashed, verified at each
start and confined as it would be for a user; what is timed is what a gateway does after the yes.
"""

import datetime
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benches.harness import Figure, Plan, Samples, Target, expect
from pml.assembly import Setup, opened_servers, prepare, redactor_of
from pml.assembly.packages import install, packaged_servers, question_for
from pml.model import Progress
from pml.trust import trust_workspace
from pml.workspace import resolve_workspace

KIND = "install"
FIGURES = (
    Figure("install_cold", "server-memory: cold install to first answer", "s",
           Target(against={"npx": 1.3})),
    Figure("install_start", "installed server-memory: start to first answer", "ms",
           Target(against={"npx": 0.5})),
)  # fmt: skip
PACKAGE = "@modelcontextprotocol/server-memory@2026.8.31"
EMPTY = {"entities": [], "relations": []}
_SETTLED_SECONDS = (
    2.5  # a package that was just written is hashed whole: no later start is like it
)


class _Nobody:
    def started(self, server: str, record: Mapping[str, Any]) -> None: ...
    def ready(self, server: str) -> None: ...
    def logged(self, server: str, level: str, text: str) -> None: ...
    def stopped(self, server: str, reason: str) -> None: ...


def _setup(temporary: str) -> Setup:
    folder = Path(temporary).resolve()
    project = folder / "project"
    project.mkdir()
    server = {
        "command": "npx", "args": ["-y", PACKAGE],
        "env": {"MEMORY_FILE_PATH": str(project / "memory.jsonl")},
        "sandbox": {"fsWrite": ["${workspace}"]},
    }  # fmt: skip
    (project / ".pml.json").write_text(json.dumps({"mcpServers": {"memory": server}}))
    environ = {**os.environ, "PML_STATE": str(folder / "state"), "PML_WORKSPACE": str(project)}
    trust_workspace(project, environ, Path.home(), datetime.datetime.now(datetime.UTC))
    return prepare(resolve_workspace(environ=environ, cwd=project), environ, Path.home()).setup


async def _answer(setup: Setup) -> float:
    """Start the server, ask it, stop it; give the time until the answer."""
    began = time.perf_counter()
    async with opened_servers(setup, _Nobody()) as opened:
        expect(await opened.servers.call("memory:read_graph", {}), EMPTY)
        return time.perf_counter() - began


async def pml(plan: Plan) -> Samples:
    """Through the installer and the backend, in a new state folder."""
    with tempfile.TemporaryDirectory() as folder:
        setup = _setup(folder)
        began = time.perf_counter()
        [server] = packaged_servers(setup, "memory")
        question = await question_for(setup, server, _ignore)
        await install(setup, question, redactor_of(setup), _ignore)
        await _answer(setup)
        cold = time.perf_counter() - began
        time.sleep(_SETTLED_SECONDS)  # noqa: ASYNC251 - nothing else runs
        await _answer(setup)  # which keeps the stamp
        starts = [await _answer(setup) for _ in range(plan.count(10, 3))]
    return {"install_cold": [cold], "install_start": starts}


def _ignore(progress: Progress) -> None: ...
