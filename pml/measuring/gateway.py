"""The real `pml stdio`, as a client starts it, and spoken to over its pipes.

With the connection that also speaks to servers directly, so that both sides of a comparison pay
for the same client. It is started with `--frozen`: nothing new is pinned, locked or installed.
"""

import contextlib
import dataclasses
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from pml import __version__
from pml.backends.errors import ServerEndedError
from pml.backends.jsonrpc import METHOD_NOT_FOUND, Connection, Refusal
from pml.backends.pipe import Pipe

_NAME = "pml stdio"
_ENDING_SECONDS = 5.0  # for it and its servers, which take two at the most
_HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "pml bench", "version": __version__},
}


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where `pml stdio` is started."""

    environ: Mapping[str, str]
    cwd: Path


class Gateway:
    """A running `pml stdio` that has shaken hands."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        """Wait so long for each answer."""
        self._connection = connection
        self._seconds = seconds

    async def tools(self) -> list[Any]:
        """Give what the client is told of."""
        listed = await self._connection.request("tools/list", {}, timeout_seconds=self._seconds)
        return list(listed["tools"])

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Call a tool; give the result as it came."""
        params = {"name": tool, "arguments": arguments}
        return await self._connection.request("tools/call", params, timeout_seconds=self._seconds)


@contextlib.asynccontextmanager
async def opened_gateway(
    place: Place, exposed: Sequence[str] = (), *, seconds: float = 60.0
) -> AsyncIterator[Gateway]:
    """Start it, shake hands; end it and its servers on the way out."""
    options = [word for pattern in exposed for word in ("--expose", pattern)]
    # -P: a folder `pml` in the workspace must not be what is started
    command = [sys.executable, "-P", "-m", "pml", "stdio", "--frozen", *options]
    theirs, ours = os.pipe()
    pipe = Pipe(ours)
    try:
        process = await anyio.open_process(
            command, stdin=theirs, stderr=subprocess.DEVNULL, env=place.environ, cwd=place.cwd,
            start_new_session=True,
        )  # fmt: skip
    except BaseException:
        pipe.close()
        raise
    finally:
        os.close(theirs)
    try:
        async with _connected(process, pipe) as connection:
            gateway = Gateway(connection, seconds)
            await connection.request("initialize", _HELLO, timeout_seconds=seconds)
            connection.notify("notifications/initialized")
            yield gateway
    finally:
        await _end(process, pipe)


@contextlib.asynccontextmanager
async def _connected(process: anyio.abc.Process, pipe: Pipe) -> AsyncIterator[Connection]:
    if process.stdout is None:
        raise AssertionError
    connection = Connection(
        _NAME, process.stdout, pipe, answer=_refuse, notified=_ignore, junk=lambda _: None
    )
    async with connection, anyio.create_task_group() as tasks:
        tasks.start_soon(_watch_end, connection)
        yield connection
        tasks.cancel_scope.cancel()


async def _watch_end(connection: Connection) -> None:
    await connection.ended.wait()
    connection.fail(ServerEndedError(_NAME, "it closed its output"))


async def _end(process: anyio.abc.Process, pipe: Pipe) -> None:
    """Hang up, as a client does; kill what does not go."""
    pipe.close()
    with anyio.CancelScope(shield=True):
        with anyio.move_on_after(_ENDING_SECONDS):
            await process.wait()
        if process.returncode is None:
            process.kill()
        await process.aclose()


async def _refuse(method: str, _: Mapping[str, Any]) -> Mapping[str, Any]:
    raise Refusal(METHOD_NOT_FOUND, f"{method} is not answered here")


def _ignore(_: str, __: Mapping[str, Any]) -> None:
    """Nothing is done about what it notes."""
