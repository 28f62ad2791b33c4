"""The official SDK's server, both eras on `/mcp`; `/modern` refuses the 2025 handshake."""

import asyncio
import json
import socket
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

FORM = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}
REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}

bus = InMemorySubscriptionBus()
cancelled: list[str] = []
names = ["echo", "slow", "ask", "cancelled", "change", "log", "big", "roots"]


def tool(name: str) -> Any:
    return types.Tool(name=name, input_schema=SCHEMA)


async def list_tools(ctx: Any, params: Any) -> Any:
    """Two pages."""
    tools = [*map(tool, names), types.Tool(name="région", input_schema=REGION)]
    if params.cursor == "second":
        return types.ListToolsResult(tools=tools[5:])
    return types.ListToolsResult(tools=tools[:5], next_cursor="second")


def text(words: object) -> Any:
    return types.CallToolResult(content=[types.TextContent(text=str(words))])


async def ask(ctx: Any, params: Any) -> Any:
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        answer = (params.input_responses or {}).get("sure")
        if answer is None:
            question = types.ElicitRequestFormParams(message="Sure?", requested_schema=FORM)
            return types.InputRequiredResult(
                input_requests={"sure": types.ElicitRequest(params=question)}, request_state="s"
            )
    else:
        answer = await ctx.session.elicit_form("Sure?", FORM, related_request_id=ctx.request_id)
    return text(answer.content)


async def slow(ctx: Any, params: Any) -> Any:
    try:
        await ctx.session.report_progress(1, 2, "half")
        await anyio.sleep(30)
    except anyio.get_cancelled_exc_class():
        cancelled.append(params.arguments["text"])
        raise


async def change(ctx: Any, params: Any) -> Any:
    names.append("added" + str(len(names)))
    await bus.publish(ToolsListChanged())
    await ctx.session.send_tool_list_changed()
    return text("changed")


async def was_cancelled(ctx: Any, params: Any) -> Any:
    with anyio.move_on_after(5):
        while params.arguments["text"] not in cancelled:
            await anyio.sleep(0.01)
    return text(params.arguments["text"] in cancelled)


async def log(ctx: Any, params: Any) -> Any:
    await ctx.session.send_log_message("warning", "careful", related_request_id=ctx.request_id)
    return text("logged")


async def roots(ctx: Any, params: Any) -> Any:
    return text((await ctx.session.list_roots()).roots[0].uri)


async def big(ctx: Any, params: Any) -> Any:
    return text("b" * int(params.arguments["text"]))


async def echo(ctx: Any, params: Any) -> Any:
    return text(params.arguments)


HANDLERS = {
    "ask": ask,
    "slow": slow,
    "change": change,
    "cancelled": was_cancelled,
    "log": log,
    "roots": roots,
    "big": big,
}


async def call_tool(ctx: Any, params: Any) -> Any:
    return await HANDLERS.get(params.name, echo)(ctx, params)


def modern_only(app: Any) -> Any:
    """Refuse `initialize`, as a server that knows only 2026-07-28 does."""

    async def serve(scope: Any, receive: Any, send: Any) -> Any:
        if scope["type"] != "http":
            return await app(scope, receive, send)
        messages: list[Any] = []
        body = b""
        while not messages or messages[-1].get("more_body"):
            messages.append(await receive())
            body += messages[-1].get("body", b"")
        if b'"initialize"' in body:
            error = {
                "code": -32022,
                "message": "only 2026-07-28",
                "data": {"supported": ["2026-07-28"]},
            }
            answer = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
            head = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 400, "headers": head})
            return await send({"type": "http.response.body", "body": answer})

        async def again() -> Any:
            return messages.pop(0) if messages else await receive()

        return await app({**scope, "path": "/mcp", "raw_path": b"/mcp"}, again, send)

    return serve


def build() -> Any:
    server = Server(
        "fixture",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=ListenHandler(bus),
    )
    app = server.streamable_http_app(host="127.0.0.1")
    modern = modern_only(app)

    async def routed(scope: Any, receive: Any, send: Any) -> None:
        path = scope.get("path", "")
        await (modern if path.startswith("/modern") else app)(scope, receive, send)

    return routed


def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - for whoever started us
    config = uvicorn.Config(build(), log_level="error", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
