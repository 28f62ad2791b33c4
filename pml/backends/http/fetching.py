"""How registries are spoken to: `Fetch` and `Put` of `pml.loader`, with the bounds of servers.

HTTPS, or plain HTTP to this machine; a name is judged by the address that it resolves to, and that
address is dialled. No redirect is followed, nothing compressed is taken, nothing is kept.
"""

import contextlib
import ssl
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

import anyio

from pml.backends.errors import RemoteRefusedError, ServerProtocolError
from pml.backends.http.addresses import Endpoint, endpoint_of
from pml.backends.http.dialing import Resolver, resolved
from pml.backends.http.wire import ExchangeError, Reply, Wire
from pml.loader.errors import RegistryOfflineError, RegistryRefusedError
from pml.loader.fetch import Response

ANSWER_SECONDS = 4.0
"""Until an answer begins: whoever is offline learns it within five seconds."""

BODY_SECONDS = 30.0
"""Until it has been read: one that trickles must not hold a run for ever."""

SEND_SECONDS = 60.0
"""Until the answer to what is sent begins: a mebibyte takes half of it over a bad line."""

_Asked = contextlib.AbstractAsyncContextManager[Reply]

_Origin = tuple[str, str, int]


class HttpFetch:
    """Asks over HTTP; use it as an async context manager."""

    def __init__(
        self, *, resolver: Resolver | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        """Connect to nobody yet."""
        self._resolver = resolver or resolved
        self._tls = tls
        self._wires: dict[_Origin, Wire] = {}

    async def __aenter__(self) -> Self:
        """Nothing is opened before the first request."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close every connection."""
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection; more than once does nothing."""
        wires, self._wires = self._wires, {}
        with anyio.CancelScope(shield=True):
            for wire in wires.values():
                await wire.aclose()

    async def get(self, url: str, headers: Mapping[str, str], *, most_bytes: int) -> Response:
        """Ask once. Raises `RegistryOfflineError`, `RegistryRefusedError`."""
        with _translated(_shown(url)):
            there = endpoint_of(_shown(url), url)
            asked = self._wire(there).get(there, tuple(headers.items()))
            return await _answer(asked, ANSWER_SECONDS, most_bytes)

    async def put(
        self, url: str, headers: Mapping[str, str], content: bytes, *, most_bytes: int
    ) -> Response:
        """Send once. Raises `RegistryOfflineError`, `RegistryRefusedError`."""
        with _translated(_shown(url)):
            there = endpoint_of(_shown(url), url)
            head = tuple(headers.items())
            asked = self._wire(there).put(there, head, content, ANSWER_SECONDS)
            return await _answer(asked, SEND_SECONDS, most_bytes)

    def _wire(self, there: Endpoint) -> Wire:
        wire = self._wires.get(there.origin)
        if wire is None:
            wire = Wire(there, (), resolver=self._resolver, tls=self._tls)
            self._wires[there.origin] = wire
        return wire


class _LateError(ExchangeError):
    """It took too long."""

    def __init__(self, seconds: float) -> None:
        """Name the bound."""
        super().__init__(f"no answer within {seconds:g} s")


async def _answer(asked: _Asked, seconds: float, most_bytes: int) -> Response:
    """Give the answer if it begins in time and has been read in time."""
    async with contextlib.AsyncExitStack() as stack:
        reply: Reply | None = None
        with anyio.move_on_after(seconds):
            reply = await stack.enter_async_context(asked)
        if reply is None:
            raise _LateError(seconds)
        with anyio.move_on_after(BODY_SECONDS):
            body = await reply.body(most_bytes)
            return Response(reply.status, reply.headers, body)
    raise _LateError(BODY_SECONDS)


@contextlib.contextmanager
def _translated(registry: str) -> Iterator[None]:
    """Turn the errors of servers into those of registries."""
    try:
        yield
    except (RemoteRefusedError, ServerProtocolError) as error:
        raise RegistryRefusedError(registry, error.what, error.hint) from None
    except ExchangeError as error:
        raise RegistryOfflineError(registry, error.reason) from None


def _shown(url: str) -> str:
    """Give the address without what was asked for."""
    return url.rpartition("/mcp/")[0] or url
