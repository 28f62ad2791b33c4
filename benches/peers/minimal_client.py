"""The least that can call a local MCP server: a pipe and a dictionary of futures, no checks."""

import asyncio
import json
import subprocess
from typing import Any

from benches import server_call
from benches.harness import Plan, Samples

KIND = "client"
TITLE = "a minimal client, no checks"
LACKS: dict[str, str] = {}


def version() -> str | None:
    """It is here."""
    return "1"


class _Client:
    def __init__(self) -> None:
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._last = 0

    async def start(self) -> None:
        pipe = subprocess.PIPE
        self.process: Any = await asyncio.create_subprocess_exec(
            *server_call.COMMAND, stdin=pipe, stdout=pipe, limit=1 << 24
        )
        self._reading = asyncio.create_task(self._read())
        info = {"name": "minimal", "version": "1"}
        await self.request("initialize", {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info,
        })  # fmt: skip

    async def _read(self) -> None:
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            self._pending.pop(message["id"]).set_result(message["result"])

    def request(self, method: str, params: dict[str, Any]) -> "asyncio.Future[Any]":
        self._last += 1
        future = self._pending[self._last] = asyncio.get_running_loop().create_future()
        message = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        return future

    async def close(self) -> None:
        self.process.stdin.close()
        await self.process.wait()
        await self._reading


async def _calls(plan: Plan) -> Samples:
    client = _Client()
    await client.start()

    async def call(text: str) -> str:
        params = {"name": "echo", "arguments": {"text": text}}
        return str((await client.request("tools/call", params))["content"][0]["text"])

    samples = await server_call.measured(plan, call)
    await client.close()
    return samples


MEASURES = {"server_call": _calls}
