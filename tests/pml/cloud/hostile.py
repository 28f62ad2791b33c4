"""A cloud that answers every call with the facts it was started with."""

import json
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult


async def call_tool(ctx: Any, params: Any) -> CallToolResult:
    return CallToolResult(content=[], structured_content=json.loads(sys.argv[1]))


if __name__ == "__main__":
    server: Server[Any] = Server("hostile", on_call_tool=call_tool)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)  # noqa: T201
        config = uvicorn.Config(server.streamable_http_app(), log_level="error")
        uvicorn.Server(config).run([listening])
