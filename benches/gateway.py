"""`pml stdio` beside the server behind it: what a call costs more, and how soon it answers.

One client of our own speaks plain JSON-RPC to both, by turns in one run; the server has no OS
sandbox on either side, whose cost per call is nil.
"""

import datetime
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from benches.harness import Figure, Plan, Samples, Target, expect, settle
from pml.trust import trust_workspace

KIND = "gateway"
FIGURES = (
    Figure("gateway_direct", "exposed tool, over a direct call", "ms", Target(p50=0.6)),
    Figure("gateway_execute", "program of 3 calls, over 3 direct calls", "ms", Target(p50=3)),
    Figure("gateway_start", "spawn to `initialize` answered", "ms", Target(p50=800)),
    Figure("gateway_list", "`tools/list` of 200 exposed tools", "ms", Target(p50=20)),
)
_ECHO = (sys.executable, str(Path(__file__).with_name("echo_server.py")))
_PROGRAM = """const out = [];
for (const text of ['a', 'b', 'c']) out.push(await mcp.echo.echo({text}));
return out.join('')"""
HELLO = {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}  # fmt: skip


class Connection:
    """One request after another to a process."""

    def __init__(self, process: anyio.abc.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise AssertionError
        self._stdin, self._stdout = process.stdin, process.stdout
        self._number = 0
        self._rest = b""

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        await self._stdin.send(json.dumps(message).encode() + b"\n")
        while True:
            line, found, rest = self._rest.partition(b"\n")
            if not found:
                self._rest += await self._stdout.receive()
                continue
            self._rest = rest
            answer = json.loads(line)
            if answer.get("id") == self._number:
                return answer["result"]

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self.request("tools/call", {"name": tool, "arguments": arguments})


def _project(temporary: str) -> dict[str, str]:
    """Make a workspace with the echo server, and one that lists 200 tools."""
    folder = Path(temporary).resolve()
    many = str(Path(__file__).with_name("many_server.py"))
    off = {"mode": "off"}
    config = {
        "mcpServers": {
            "echo": {"command": _ECHO[0], "args": [_ECHO[1]], "sandbox": off},
            "many": {"command": sys.executable, "args": [many], "sandbox": off},
        },
        "permissions": {"allow": ["echo", "many"]},
        "expose": ["echo", "many"],
    }
    project = folder / "project"
    project.mkdir()
    (project / ".pml.json").write_text(json.dumps(config), encoding="utf-8")
    environ = {**os.environ, "PML_STATE": str(folder / "state"), "PML_WORKSPACE": str(project)}
    trust_workspace(project, environ, Path.home(), datetime.datetime.now(datetime.UTC))
    return environ


async def _started(environ: Mapping[str, str]) -> anyio.abc.Process:
    command = [sys.executable, "-m", "pml", "stdio"]
    return await anyio.open_process(command, env=environ, stderr=None)


async def pml(plan: Plan) -> Samples:
    """Through the real entry point."""
    with tempfile.TemporaryDirectory() as folder:
        environ = _project(folder)
        starts = []
        for _ in range(plan.count(10, 3)):
            began = time.perf_counter()
            async with await _started(environ) as process:
                await Connection(process).request("initialize", HELLO)
                starts.append(time.perf_counter() - began)
                process.kill()
        async with (
            await anyio.open_process(_ECHO) as server,
            await _started(environ) as process,
        ):
            direct, ours = Connection(server), Connection(process)
            await direct.request("initialize", HELLO)
            await ours.request("initialize", HELLO)
            samples = await _by_turns(direct, ours, plan)
            process.kill()
            server.kill()
    return {**samples, "gateway_start": starts}


async def _by_turns(direct: Connection, ours: Connection, plan: Plan) -> Samples:
    listed = await ours.request("tools/list", {})
    expect(sum("__" in tool["name"] for tool in listed["tools"]), 201)
    found: Samples = {"gateway_direct": [], "gateway_execute": [], "gateway_list": []}
    for turn in range(plan.count(1000) + 50):
        if turn == 50:  # what came before was warming up
            settle()
            found = {name: [] for name in found}
        began = time.perf_counter()
        expect((await direct.call("echo", text="a"))["content"][0]["text"], "a")
        first = time.perf_counter()
        expect((await ours.call("echo__echo", text="a"))["content"][0]["text"], "a")
        second = time.perf_counter()
        found["gateway_direct"].append((second - first) - (first - began))
        result = await ours.call("execute", code=_PROGRAM)
        third = time.perf_counter()
        expect(result["structuredContent"]["result"], "abc")
        found["gateway_execute"].append((third - second) - 3 * (first - began))
    for _ in range(plan.count(100)):
        began = time.perf_counter()
        await ours.request("tools/list", {})
        found["gateway_list"].append(time.perf_counter() - began)
    return found
