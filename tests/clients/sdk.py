"""The SDK's own client over stdio in both protocol eras, with a human whose answers are written down."""

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
"""What a mode of the client agrees on with a server of both eras."""

Answer = tuple[str, dict[str, Any] | None]
"""`accept`, `decline` or `cancel`, and what the form holds."""


class Human:
    """Answers what is asked, in order; keeps the questions."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.questions: list[Any] = []

    async def __call__(self, context: Any, params: Any) -> mcp_types.ElicitResult:
        self.questions.append(params)
        action, content = self._answers.pop(0)
        return mcp_types.ElicitResult(action=action, content=content)


@dataclasses.dataclass
class Connection:
    """A client that is connected."""

    client: Client
    progress: list[tuple[float, float | None, str | None]] = dataclasses.field(
        default_factory=list
    )

    async def tools(self) -> dict[str, mcp_types.Tool]:
        """Give the server's tools, by name."""
        return {tool.name: tool for tool in (await self.client.list_tools()).tools}

    async def call(
        self, name: str, arguments: dict[str, Any] | None = None
    ) -> mcp_types.CallToolResult:
        """Call a tool, keeping the progress that is told meanwhile."""

        async def told(done: float, total: float | None, message: str | None) -> None:
            self.progress.append((done, total, message))

        return await self.client.call_tool(name, arguments or {}, progress_callback=told)


@asynccontextmanager
async def connected(
    server: dict[str, Any], workspace: Path, mode: str, human: Human | None = None
) -> AsyncIterator[Connection]:
    """Start a block of `mcpServers` and connect; without a human the client cannot ask."""
    parameters = StdioServerParameters(
        command=server["command"], args=server.get("args", []), env=server.get("env"),
        cwd=workspace,
    )  # fmt: skip
    async with Client(
        stdio_client(parameters), mode=mode, elicitation_callback=human, read_timeout_seconds=120
    ) as client:
        yield Connection(client)
