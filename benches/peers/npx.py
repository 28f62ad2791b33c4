"""`npx -y`, as most configurations of MCP clients have it."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import anyio

from benches.gateway import HELLO, Connection
from benches.harness import Plan, Samples, expect
from benches.install import EMPTY, PACKAGE

KIND = "install"
TITLE = "npx -y"
LACKS: dict[str, str] = {}


def version() -> str | None:
    """Ask npm, if it is there."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    done = subprocess.run([npm, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


async def _answer(environ: dict[str, str], folder: str) -> float:
    began = time.perf_counter()
    command = ["npx", "-y", PACKAGE]
    async with await anyio.open_process(command, env=environ, cwd=folder, stderr=None) as process:
        connection = Connection(process)
        await connection.request("initialize", HELLO)
        result = await connection.call("read_graph")
        taken = time.perf_counter() - began
        expect(result["structuredContent"], EMPTY)
        process.terminate()
    return taken


async def _installs(plan: Plan) -> Samples:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environ = {
            **os.environ, "npm_config_cache": str(Path(folder) / "cache"),
            "MEMORY_FILE_PATH": str(Path(folder) / "memory.jsonl"),
        }  # fmt: skip
        cold = await _answer(environ, folder)
        starts = [await _answer(environ, folder) for _ in range(plan.count(10, 3))]
    return {"install_cold": [cold], "install_start": starts}


MEASURES = {"install": _installs}
