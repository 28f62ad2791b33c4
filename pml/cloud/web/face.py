"""`POST /mcp`: MCP over Streamable HTTP, in both eras; the SDK speaks, this answers.

Every request stands alone, so any worker answers any request. Needs a key that may `call`.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from pml import __version__
from pml.backends.std import StdBackend
from pml.cloud.store.keys import CALL
from pml.cloud.tools.caller import (
    CLIENT_HEADER,
    KEYS_HEADER,
    PACKAGE,
    Caller,
    KeysUnreadableError,
    read_keys,
)
from pml.cloud.tools.calling import Calls
from pml.cloud.tools.directory import Directory
from pml.cloud.tools.errors import ClientToolsError
from pml.cloud.tools.executing import Execution
from pml.cloud.tools.results import Result, of_error
from pml.cloud.tools.searching import search
from pml.cloud.web import access, answers
from pml.cloud.web.definitions import EXECUTE, INSTRUCTIONS, SEARCH, definitions
from pml.cloud.web.services import Services
from pml.errors import PmlError
from pml.redaction import Redactor
from pml.routing import Routing
from pml.routing.resolver import CLIENT_NAMESPACES

NAME = "pml-cloud"
_CALLER = "pml_caller"
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
_PREFIX = "mcp."

Context = ServerRequestContext[Any, Request]


class Face:
    """An ASGI application, and the middleware of the SDK's server."""

    def __init__(self, services: Services, directory: Directory, builtin: StdBackend) -> None:
        """Open nothing yet."""
        self._services = services
        self._directory = directory
        self._calls = Calls(
            services.store.registry, builtin, services.threads, services.settings.upstreams
        )
        self._execution = Execution(self._calls, directory)
        self._server: Server[Any] = Server(
            NAME,
            version=__version__,
            title="PML cloud",
            instructions=INSTRUCTIONS,
            on_list_tools=_unused,
            on_call_tool=_unused,
        )
        self._server.middleware[:] = [self.answer]
        self._manager = StreamableHTTPSessionManager(
            self._server,
            json_response=True,
            stateless=True,
            max_request_body_size=services.settings.body_bytes,
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Be ready for requests inside."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a key that may call pass to the protocol."""
        request = Request(scope, receive)
        key = await access.recognised(request, self._services.store, self._services.threads)
        if key is None:
            await access.unauthorized()(scope, receive, send)
            return
        scope["pml_key"] = key.id
        delay = self._services.rates.delay(key.id)
        if not key.may(CALL):
            await access.forbidden(CALL)(scope, receive, send)
        elif delay > 0:
            await access.too_many(delay)(scope, receive, send)
        else:
            await self._passed(scope, receive, send, key.id)

    async def _passed(self, scope: Scope, receive: Receive, send: Send, key: str) -> None:
        headers = Request(scope).headers
        try:
            keys = read_keys(headers.get(KEYS_HEADER, ""))
        except KeysUnreadableError as error:
            await answers.problem(400, error.code, error.message)(scope, receive, send)
            return
        is_package = headers.get(CLIENT_HEADER, "").strip().lower() == PACKAGE
        scope[_CALLER] = Caller(key, is_package, keys)
        await self._manager.handle_request(scope, receive, send)

    async def answer(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer the two methods that are ours; the rest is the SDK's."""
        if ctx.method == "tools/list":
            listed = {"ttlMs": 0, "cacheScope": "private", "tools": definitions()}
            return self._shaped(ctx, listed)
        if ctx.method != "tools/call":
            return await call_next(ctx)
        name, arguments = _named(ctx.params)
        if ctx.request is None:
            raise AssertionError
        caller: Caller = ctx.request.scope[_CALLER]
        try:
            result = await self._called(name, arguments, caller)
        except PmlError as error:
            result = Redactor(dict(caller.keys)).value(of_error(error))
        except Exception as error:  # noqa: BLE001
            self._services.journal.bug(error)
            raise MCPError(code=INTERNAL_ERROR, message="internal error") from None
        self._count(name, result)
        return self._shaped(ctx, result)

    async def _called(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> Result:
        if name == SEARCH:
            return search(await self._directory.now(), arguments)
        if name == EXECUTE:
            return await self._execution.execute(arguments, caller)
        tool = _tool_id(name)
        contents = await self._directory.now()
        is_known = tool.partition(":")[0] in CLIENT_NAMESPACES or contents.index.by_name(tool)
        if is_known and contents.table.of(tool) is Routing.CLIENT:
            raise ClientToolsError([tool])
        return dict(await self._calls.call(tool, arguments, caller))

    def _count(self, name: str, result: Result) -> None:
        metrics = self._services.metrics
        if name == EXECUTE:
            metrics.runs.labels(result["structuredContent"]["status"]).inc()
        else:
            kind = name if name == SEARCH else "tool"
            metrics.calls.labels(kind, "error" if result.get("isError") else "ok").inc()

    def _shaped(self, context: Context, result: Result) -> Result:
        """Add what the stateless era demands of every result."""
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return {key: result[key] for key in result if key not in ("ttlMs", "cacheScope")}
        stamp = dict(self._server.server_info_stamp)
        meta = {**(result.get("_meta") or {}), _SERVER_INFO: stamp}
        return {"resultType": "complete", **result, "_meta": meta}


async def _unused(*_: Any) -> Any:
    """Registered so that the SDK announces tools; `Face` answers before it is called."""
    raise AssertionError


def _named(params: Mapping[str, Any] | None) -> tuple[str, Mapping[str, Any]]:
    given = params or {}
    name, arguments = given.get("name"), given.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, Mapping | None):
        raise MCPError(code=INVALID_PARAMS, message="`name` is a string, `arguments` an object")
    return name, arguments or {}


def _tool_id(name: str) -> str:
    """Give `server:tool` for any form of a tool's name."""
    if name.startswith(_PREFIX):
        server, _, tool = name.removeprefix(_PREFIX).partition(".")
        return f"{server}:{tool}"
    return name if ":" in name else name.replace("__", ":", 1)
