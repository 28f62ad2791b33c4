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
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from benches.harness import Figure, Plan, Samples, Target, expect, settle
from pml.trust import trust_workspace

KIND = "gateway"
FIGURES = (
    Figure(
        "gateway_direct",
        "exposed tool, over a direct call",
        "ms",
        Target(p50=0.6, against={"fastmcp_proxy": 0.5}),
    ),
    Figure("gateway_execute", "program of 3 calls, over 3 direct calls", "ms", Target(p50=3)),
    Figure("gateway_start", "spawn to `initialize` answered", "ms", Target(p50=800)),
    Figure("gateway_growth", "memory after 2,000 programs, 50 at once", "MB", Target(most=5)),
    Figure("gateway_list", "`tools/list` of 200 exposed tools", "ms", Target(p50=20)),
)
ECHO = (sys.executable, str(Path(__file__).with_name("echo_server.py")))
_PROGRAM = """const out = [];
for (const text of ['a', 'b', 'c']) out.push(await mcp.echo.echo({text}));
return out.join('')"""
HELLO = {
    "protocolVersion": "2025-11-25", "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}  # fmt: skip


class Connection:
    """Requests to a process, one after another or many at once."""

    def __init__(self, process: anyio.abc.Process) -> None:
        if process.stdin is None or process.stdout is None:
            raise AssertionError
        self._stdin, self._stdout = process.stdin, process.stdout
        self._number = 0
        self._rest = b""

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        return (await self._requests(method, [params]))[0]

    async def call_together(self, tool: str, calls: Sequence[Mapping[str, Any]]) -> list[Any]:
        given = [{"name": tool, "arguments": arguments} for arguments in calls]
        return await self._requests("tools/call", given)

    async def _requests(self, method: str, several: Sequence[Mapping[str, Any]]) -> list[Any]:
        first, answers = self._number + 1, {}
        lines = []
        for params in several:
            self._number += 1
            message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
            lines.append(json.dumps(message).encode() + b"\n")
        await self._stdin.send(b"".join(lines))
        while len(answers) < len(several):
            answer = json.loads(await self._line())
            if answer.get("id", 0) >= first:
                answers[answer["id"]] = answer["result"]
        return [answers[number] for number in range(first, self._number + 1)]

    async def _line(self) -> bytes:
        while b"\n" not in self._rest:
            self._rest += await self._stdout.receive()
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    async def hello(self) -> None:
        await self.request("initialize", HELLO)

    async def call(self, tool: str, **arguments: Any) -> Any:
        return await self.request("tools/call", {"name": tool, "arguments": arguments})


def _project(temporary: str) -> dict[str, str]:
    """Make a workspace with the echo server, and one that lists 200 tools."""
    folder = Path(temporary).resolve()
    many = str(Path(__file__).with_name("many_server.py"))
    off = {"mode": "off"}
    config = {
        "mcpServers": {
            "echo": {"command": ECHO[0], "args": [ECHO[1]], "sandbox": off},
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
                await Connection(process).hello()
                starts.append(time.perf_counter() - began)
                process.kill()
        async with (
            await anyio.open_process(ECHO) as server,
            await _started(environ) as process,
        ):
            direct, ours = Connection(server), Connection(process)
            await direct.hello()
            await ours.hello()
            samples = await _by_turns(direct, ours, plan)
            samples["gateway_growth"] = [await _growth(ours, process.pid, plan)]
            process.kill()
            server.kill()
    return {**samples, "gateway_start": starts}


async def over_direct(direct: Connection, other: Connection, tool: str, plan: Plan) -> list[float]:
    """Give what a call costs more through another way, call by call."""
    found: list[float] = []
    for turn in range(plan.count(1000) + 50):
        if turn == 50:  # what came before was warming up
            settle()
            found.clear()
        began = time.perf_counter()
        expect((await direct.call("echo", text="a"))["content"][0]["text"], "a")
        first = time.perf_counter()
        expect((await other.call(tool, text="a"))["content"][0]["text"], "a")
        found.append((time.perf_counter() - first) - (first - began))
    return found


async def _by_turns(direct: Connection, ours: Connection, plan: Plan) -> Samples:
    listed = await ours.request("tools/list", {})
    expect(sum("__" in tool["name"] for tool in listed["tools"]), 201)
    found: Samples = {"gateway_direct": await over_direct(direct, ours, "echo__echo", plan)}
    found["gateway_execute"] = []
    for _ in range(plan.count(1000)):
        began = time.perf_counter()
        for text in "abc":
            expect((await direct.call("echo", text=text))["content"][0]["text"], text)
        first = time.perf_counter()
        result = await ours.call("execute", code=_PROGRAM)
        found["gateway_execute"].append((time.perf_counter() - first) - (first - began))
        expect(result["structuredContent"]["result"], "abc")
    found["gateway_list"] = []
    for _ in range(plan.count(100)):
        began = time.perf_counter()
        await ours.request("tools/list", {})
        found["gateway_list"].append(time.perf_counter() - began)
    return found


async def _growth(ours: Connection, pid: int, plan: Plan) -> float:
    """Give by how much more memory is held after many programs, in bytes."""
    for _ in range(plan.count(20, 5)):  # until as many as ever run at once have run
        await _crowd(ours)
    before = _held(pid)
    for _ in range(plan.count(40)):
        await _crowd(ours)
    return _held(pid) - before


async def _crowd(ours: Connection) -> None:
    """Run 50 programs at once, each with calls of its own; every answer must be its own."""
    code = "return (await Promise.all([1, 2].map(() => mcp.echo.echo({text: args})))).join()"
    programs = {f"p{number}": {"code": code, "args": f"p{number}"} for number in range(50)}
    results = await ours.call_together("execute", list(programs.values()))
    expect([one["structuredContent"]["result"] for one in results], [f"{n},{n}" for n in programs])


def _held(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024.0
