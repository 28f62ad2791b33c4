"""A small MCP server of both protocol eras that asks the human: proves the clients themselves.

`ask` puts one question with three answers; `steps` tells its progress; `add` gives structured
content. With the word `legacy` it knows only the handshake of 2025.
"""

import sys
from typing import Any

import anyio
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

QUESTION = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "title": "Run it?", "enum": ["yes", "always", "no"]}
    },
    "required": ["verdict"],
}
ASKING = mcp_types.ClientCapabilities(elicitation=mcp_types.ElicitationCapability())
NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
NOTHING: dict[str, Any] = {"type": "object"}


async def list_tools(ctx: Any, params: Any) -> mcp_types.ListToolsResult:
    schemas = {"ask": NOTHING, "steps": NOTHING, "add": NUMBERS}
    meta = {"anthropic/alwaysLoad": True}
    return mcp_types.ListToolsResult(
        tools=[
            mcp_types.Tool(name=name, input_schema=schema, _meta=meta)
            for name, schema in schemas.items()
        ]
    )


def told(**facts: Any) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(text=str(facts))],
        structured_content=facts,
        is_error="error" in facts,
    )


async def ask(ctx: Any, params: mcp_types.CallToolRequestParams) -> Any:
    words = "Allow `counter:two`?"
    # A client of 2026 that did not offer to ask may never come back: the Inspector waits forever.
    if not ctx.session.check_client_capability(ASKING):
        return told(error="the client cannot ask", era=ctx.protocol_version)
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer: Any = (params.input_responses or {}).get("question")
        if answer is None:
            form = mcp_types.ElicitRequestFormParams(message=words, requested_schema=QUESTION)
            return mcp_types.InputRequiredResult(
                input_requests={"question": mcp_types.ElicitRequest(params=form)},
                request_state="asked",
            )
    else:
        answer = await ctx.session.elicit_form(words, QUESTION, related_request_id=ctx.request_id)
    return told(action=answer.action, content=answer.content, era=ctx.protocol_version)


async def call_tool(ctx: Any, params: mcp_types.CallToolRequestParams) -> Any:
    arguments = params.arguments or {}
    if params.name == "ask":
        return await ask(ctx, params)
    if params.name == "steps":
        for done in (1, 2):
            await ctx.session.report_progress(done, 2, f"step {done}")
        return told(steps=2)
    if params.name == "add":
        return told(sum=arguments["a"] + arguments["b"], era=ctx.protocol_version)
    return told(error=f"no tool `{params.name}`")


async def main() -> None:
    server = Server("asking", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reading, writing):
        options = server.create_initialization_options()
        if "legacy" in sys.argv:
            await serve_loop(server, reading, writing, lifespan_state={}, init_options=options)
        else:
            await server.run(reading, writing, options)


if __name__ == "__main__":
    anyio.run(main)
