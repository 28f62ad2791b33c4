"""The MCP server: the SDK speaks the protocol, this answers `tools/list` and `tools/call`.

Both are answered as plain JSON before the SDK would turn them into typed objects and back: a
server's own content passes unchanged, and a call costs a third less. What the SDK would add for
the stateless era is added here. `requestState` is sealed by the SDK's own boundary, and counts for
as long as a run waits.
"""

import contextlib
import dataclasses
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import anyio
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from pml.errors import PmlError
from pml.execution.workflows import LIFETIME_SECONDS
from pml.gateway import calls
from pml.gateway.asking import Context, is_modern
from pml.gateway.bench import Bench, Benches
from pml.gateway.calls import Call, Result
from pml.gateway.definitions import ABORT, CONTINUE, DISCOVER, EXECUTE, definitions, instructions
from pml.gateway.exposing import definition
from pml.gateway.offering import Offer
from pml.gateway.transport import Told, opened_wire
from pml.model import Outcome

NAME = "pml"
_SERVER_INFO = "io.modelcontextprotocol/serverInfo"

_TOOLS: Mapping[str, Callable[[Call], Awaitable[Result]]] = {
    EXECUTE: calls.run_program,
    DISCOVER: calls.find_tools,
    CONTINUE: calls.continue_run,
    ABORT: calls.abort_run,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    version: str
    key: bytes
    """Of the user: seals what a client carries for us."""

    expose: tuple[str, ...] = ()
    """Patterns, beside those of the configuration."""

    only: bool = False
    """Offer only what is exposed."""


class Front:
    """Answers a client."""

    def __init__(self, benches: Benches, options: Options, told: Told) -> None:
        """Take benches from whoever makes them; `told` hears what the human should know."""
        self._benches = benches
        self._options = options
        self._offer = Offer(options.expose, told)
        self.bus = InMemorySubscriptionBus()
        self.stamp: Mapping[str, Any] = {}

    async def __call__(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Answer the two methods that are ours; the rest is the SDK's."""
        if ctx.method == "tools/call":
            return self._shaped(ctx, await self._call(ctx))
        if ctx.method == "tools/list":
            listed = {"tools": await self._list()}
            return self._shaped(ctx, {"ttlMs": 0, "cacheScope": "private", **listed})
        return await call_next(ctx)

    async def _list(self) -> list[dict[str, Any]]:
        try:
            async with self._benches.using() as bench:
                own = [] if self._options.only else definitions(bench.config.approvals)
                found = await self._offer.listed(bench)
                told = [definition(name, tool) for name, tool in found.tools.items()]
                return own + [bench.redactor.value(one) for one in told]
        except PmlError:  # an unusable configuration is told at every call
            return [] if self._options.only else definitions("human")

    async def _call(self, context: Context) -> Result:
        name, arguments = _named(context.params)
        try:
            async with self._benches.using() as bench:
                await self._tell_changes(context, bench)
                call = Call(context, bench, arguments)
                if name in self._own:
                    return await _TOOLS[name](call)
                return await calls.call_exposed(
                    call, await self._offer.tool(bench, name, self._own)
                )
        except PmlError as error:
            return calls.failed(error)

    @property
    def _own(self) -> tuple[str, ...]:
        return () if self._options.only else tuple(_TOOLS)

    async def _tell_changes(self, context: Context, bench: Bench) -> None:
        """Tell a client whose list of tools is no longer the one it was given."""
        if not self._offer.has_changed(bench):
            return
        await self.bus.publish(ToolsListChanged())
        if not is_modern(context):
            await context.session.send_tool_list_changed()

    def _shaped(self, context: Context, result: Result) -> Result:
        """Add what the stateless era demands of every result."""
        if not is_modern(context):
            return {key: result[key] for key in result if key not in ("ttlMs", "cacheScope")}
        meta = {**(result.get("_meta") or {}), _SERVER_INFO: dict(self.stamp)}
        return {"resultType": "complete", **result, "_meta": meta}


async def serve(benches: Benches, options: Options, told: Told, streams: tuple[int, int]) -> None:
    """Serve the client on these descriptors until it hangs up or a signal ends us."""
    front = Front(benches, options, told)
    server = _server(options, front, await _instructions(benches))
    front.stamp = server.server_info_stamp
    changed = NotificationOptions(tools_changed=True)
    async with opened_wire(*streams, told) as (incoming, outgoing), _until_signal():
        await server.run(incoming, outgoing, server.create_initialization_options(changed))


async def _instructions(benches: Benches) -> str:
    try:
        async with benches.using() as bench:
            decide = bench.rights.decide
            names = bench.catalog.names
            seen = [name for name in names if decide(f"{name}:*").outcome is not Outcome.DENY]
            return instructions(seen, bench.notes)
    except PmlError as error:
        return instructions((), [f"{error.message}" + (f" ({error.hint})" if error.hint else "")])


def _server(options: Options, front: Front, words: str) -> Server[Any]:
    server: Server[Any] = Server(
        NAME,
        version=options.version,
        title="PML",
        instructions=words,
        on_list_tools=_unused,
        on_call_tool=_unused,
        on_subscriptions_listen=ListenHandler(front.bus),
    )
    security = RequestStateSecurity(keys=[options.key], ttl=LIFETIME_SECONDS)
    server.middleware[:] = [RequestStateBoundary(security, default_audience=NAME), front]
    return server


async def _unused(*_: Any) -> Any:
    """Registered so that the SDK announces tools; `Front` answers before it is called."""
    raise AssertionError


@contextlib.asynccontextmanager
async def _until_signal() -> AsyncIterator[None]:
    """End the work inside, quietly, when the process is asked to end."""
    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        yield
        tasks.cancel_scope.cancel()


def _named(params: Mapping[str, Any] | None) -> tuple[str, Mapping[str, Any]]:
    given = params or {}
    name, arguments = given.get("name"), given.get("arguments")
    if not isinstance(name, str) or not isinstance(arguments, Mapping | None):
        raise MCPError(code=INVALID_PARAMS, message="`name` is a string, `arguments` an object")
    return name, arguments or {}
