"""A real MCP server over Streamable HTTP that tells which credentials it was called with."""

import socket
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool


async def list_tools(ctx: Any, params: Any) -> ListToolsResult:
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    return ListToolsResult(tools=[Tool(name="search", input_schema=schema)])


async def call_tool(ctx: Any, params: Any) -> CallToolResult:
    headers = {
        name: value
        for name, value in ctx.request.headers.items()
        if name in ("authorization", "x-tavily", "x-api-key", "x-pml-keys")
    }
    if params.arguments.get("query") == "fail":
        return CallToolResult(content=[TextContent(text=f"refused {headers}")], is_error=True)
    found = {"found": params.arguments.get("query"), "headers": headers}
    return CallToolResult(content=[], structured_content=found)


if __name__ == "__main__":
    server: Server[Any] = Server("upstream", on_list_tools=list_tools, on_call_tool=call_tool)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)  # noqa: T201
        config = uvicorn.Config(server.streamable_http_app(), log_level="error")
        uvicorn.Server(config).run([listening])
