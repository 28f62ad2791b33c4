"""One call of a local MCP server through our connection, beside other clients of the same server.

Without an OS sandbox around the server, as the others have none: its cost per call is nil, and
that of starting is measured elsewhere.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from benches.harness import Figure, Plan, Samples, Target, expect, timed_async
from pml.backends.stdio import StdioBackend
from pml.confinement import Grants, Level, Places, Program, confine, probe

KIND = "client"
CALLS, WIDTH = 10_000, 50
_TARGET = Target(against={"minimal_client": 1.3, "mcp_sdk": 0.5})
FIGURES = (
    Figure("server_call", "call of a local server, one at a time", "us", _TARGET),
    Figure("server_calls", "10,000 calls, 50 in flight, each answer checked", "s"),
)
COMMAND = (sys.executable, str(Path(__file__).with_name("echo_server.py")))

Call = Callable[[str], Awaitable[str]]


async def measured(plan: Plan, call: Call) -> Samples:
    """Measure a client by one function: a text to the text that came back."""

    async def once() -> None:
        expect(await call("x"), "x")

    alone = await timed_async(plan.count(3000), 200, once)
    together = await timed_async(plan.count(3, 1), 0, lambda: _flood(call, plan.count(CALLS)))
    return {"server_call": alone, "server_calls": together}


async def _flood(call: Call, count: int) -> None:
    """Make all calls, none lost and none mixed up."""
    numbers = iter(range(count))
    right = 0

    async def work() -> None:
        nonlocal right
        for number in numbers:
            expect(await call(str(number)), str(number))
            right += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(WIDTH):
            tasks.start_soon(work)
    expect(right, count)


class _Nobody:
    def started(self, server: str, record: Any) -> None: ...
    def ready(self, server: str) -> None: ...
    def logged(self, server: str, level: str, text: str) -> None: ...
    def stopped(self, server: str, reason: str) -> None: ...


async def pml(plan: Plan) -> Samples:
    """Through `StdioBackend`."""
    folder = Path.cwd()
    confined = confine(
        Program(COMMAND[0], COMMAND[1:]),
        Grants(spawn=True),
        Places(folder, folder, folder, Path.home()),
        support=probe(os.environ),
        environ=os.environ,
        level=Level.OFF,
        floor=Level.OFF,
        allow_off=True,
    )
    async with anyio.create_task_group() as tasks:
        backend = StdioBackend(
            "echo", lambda: confined, workspace=folder, tasks=tasks, observer=_Nobody()
        )

        async def call(text: str) -> str:
            result = await backend.call_tool("echo", {"text": text}, timeout_seconds=60)
            return str(result["content"][0]["text"])

        samples = await measured(plan, call)
        await backend.aclose()
    return samples
