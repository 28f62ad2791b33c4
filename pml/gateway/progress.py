"""Progress of a call, told to a client that asked for it."""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import anyio
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params

from pml.backends.servers import Servers
from pml.gateway.asking import Context
from pml.model import Need, Progress
from pml.ports import OnProgress, Provisions, ToolCaller
from sandbox_host.errors import printable

Mask = Callable[[str], str]
"""Takes secrets out of a text."""

_WAITING = 64  # words of a server that the client has not read; more are dropped
_MESSAGE_CHARACTERS = 500
_ALMOST = 0.99  # of a call: what it lacked is there, and it is not made yet


def wants_progress(context: Context) -> bool:
    """Say whether the client gave a token for it."""
    return progress_token_from_params(context.params) is not None


class CountingCalls:
    """Carries calls out, and tells the client how many are done."""

    def __init__(self, tools: ToolCaller, context: Context) -> None:
        """Tell beside this request."""
        self._tools = tools
        self._context = context
        self.done = 0
        """So many calls."""

    def check(self, tool_id: str) -> None:
        """Ask those who carry calls out."""
        self._tools.check(tool_id)

    def caution(self, tool_id: str) -> str | None:
        """Ask those who carry calls out."""
        return self._tools.caution(tool_id)

    async def call(self, tool_id: str, arguments: Mapping[str, Any]) -> Any:
        """Call, then tell."""
        value = await self._tools.call(tool_id, arguments)
        await self._tell(tool_id)
        return value

    async def call_raw(self, tool_id: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call, then tell."""
        result = await self._tools.call_raw(tool_id, arguments)
        await self._tell(tool_id)
        return result

    async def _tell(self, tool: str) -> None:
        self.done += 1
        await self._context.session.report_progress(
            self.done, message=printable(tool, _MESSAGE_CHARACTERS)
        )


class TellingProvisions:
    """Brings what a call lacks, and tells the client how far that is."""

    def __init__(
        self, provisions: Provisions, calls: CountingCalls, context: Context, mask: Mask
    ) -> None:
        """Tell beside this request, between the calls that are counted."""
        self._provisions = provisions
        self._calls = calls
        self._context = context
        self._mask = mask

    async def need(self, tool_id: str, *, starting: bool = True) -> Need | None:
        """Ask those who know."""
        return await self._provisions.need(tool_id, starting=starting)

    async def provide(
        self, tool_id: str, token: str, on_progress: OnProgress | None = None
    ) -> None:
        """Bring it, and tell; `on_progress` hears nothing, the client does."""
        del on_progress
        async with forwarded(self._context, self._mask) as tell:

            def told(progress: Progress) -> None:
                share = progress.done / progress.total if progress.total else 0.0
                part = min(max(share, 0.0), _ALMOST)
                tell(Progress(self._calls.done + part, None, progress.message))

            await self._provisions.provide(tool_id, token, told)


class ForwardingCalls:
    """Carries one call out, and hands the server's own words on."""

    def __init__(self, servers: Servers, on_progress: OnProgress) -> None:
        """Hand words on to this."""
        self._servers = servers
        self._on_progress = on_progress

    def check(self, tool_id: str) -> None:
        """Ask the servers."""
        self._servers.check(tool_id)

    def caution(self, tool_id: str) -> str | None:
        """Ask the servers."""
        return self._servers.caution(tool_id)

    async def call(self, tool_id: str, arguments: Mapping[str, Any]) -> Any:
        """Call a tool."""
        return await self._servers.call(tool_id, arguments, on_progress=self._on_progress)

    async def call_raw(self, tool_id: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a tool."""
        return await self._servers.call_raw(tool_id, arguments, on_progress=self._on_progress)


@contextlib.asynccontextmanager
async def forwarded(context: Context, mask: Mask) -> AsyncIterator[OnProgress]:
    """Give where a server's words go, masked; the last of them is sent before this is left."""
    send, receive = anyio.create_memory_object_stream[Progress](_WAITING)

    def on_progress(progress: Progress) -> None:
        with contextlib.suppress(anyio.WouldBlock):
            send.send_nowait(progress)

    async def tell() -> None:
        async for one in receive:
            words = None
            if one.message is not None:
                words = printable(mask(one.message), _MESSAGE_CHARACTERS)
            await context.session.report_progress(one.done, one.total, words)

    failure: Exception | None = None
    with send, receive:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(tell)
            try:
                yield on_progress
            except Exception as error:  # noqa: BLE001 - raised below: a task group would wrap it
                failure = error
            finally:
                send.close()  # `tell` ends once it has told the rest
    if failure is not None:
        raise failure
