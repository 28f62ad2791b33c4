"""The official Python SDK's typed client (PyPI `mcp`)."""

import importlib.metadata
from typing import Any

from benches import server_call
from benches.harness import Plan, Samples

KIND = "client"
TITLE = "mcp SDK, Client.call_tool"
LACKS: dict[str, str] = {}


def version() -> str | None:
    """Give the installed version."""
    try:
        return importlib.metadata.version("mcp")
    except importlib.metadata.PackageNotFoundError:
        return None


async def _calls(plan: Plan) -> Samples:
    from mcp import Client, StdioServerParameters  # noqa: PLC0415 - may be absent

    command, *args = server_call.COMMAND
    parameters = StdioServerParameters(command=command, args=args)
    async with Client(parameters, mode="legacy") as client:

        async def call(text: str) -> str:
            result = await client.call_tool("echo", {"text": text})
            block: Any = result.content[0]
            return str(block.text)

        return await server_call.measured(plan, call)


MEASURES = {"server_call": _calls}
