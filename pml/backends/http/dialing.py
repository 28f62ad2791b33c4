"""Connecting: a name is resolved once, its addresses are judged, and one of those is dialled.

Between judging and dialling there is no second look at the name, so a name that changes its
address in the meantime (DNS rebinding) gains nothing. TLS and the `Host` header go by the name.
"""

import os
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence

import anyio
import httpcore2

from pml.backends.errors import RemoteRefusedError
from pml.backends.http.addresses import Endpoint
from sandbox_host.errors import printable

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Gives the addresses of a host, most wanted first; raises `OSError` if there are none."""

_MOST_DIALLED = 4  # addresses of one host that are tried, one after another


async def resolved(host: str, port: int) -> Sequence[str]:
    """The `Resolver` of the operating system."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Dialer(httpcore2.AsyncNetworkBackend):
    """How the pool of connections reaches one endpoint, and nothing else."""

    def __init__(self, endpoint: Endpoint, resolver: Resolver) -> None:
        """Keep whom to ask; nothing is resolved before the first connection."""
        self._endpoint = endpoint
        self._resolver = resolver
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        """Connect to one of the addresses that the host has, if all of them are allowed."""
        if (host, port) != (self._endpoint.host, self._endpoint.port):
            raise RemoteRefusedError(self._endpoint.server, "another host than the configured one")
        last: Exception = OSError("the name has no address")
        for address in (await self._addresses())[:_MOST_DIALLED]:
            try:
                stream = await self._network.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
                return stream if self._endpoint.scheme == "http" else _BeforeTls(stream)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                last = error
        raise httpcore2.ConnectError(_reason(last)) from last

    async def sleep(self, seconds: float) -> None:
        """Part of the interface."""
        await anyio.sleep(seconds)

    async def _addresses(self) -> Sequence[str]:
        endpoint = self._endpoint
        if endpoint.literal is not None:
            return [endpoint.host]
        try:
            addresses = await self._resolver(endpoint.host, endpoint.port)
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(_reason(error)) from error
        for address in addresses:
            if (fault := endpoint.fault_of(address)) is not None:
                raise RemoteRefusedError(
                    endpoint.server,
                    f"`{endpoint.host}` resolves to {printable(address, 100)}, {fault}",
                    hint="to mean that machine, configure its address instead of a name",
                )
        return addresses


class _BeforeTls(httpcore2.AsyncNetworkStream):
    """A connection that nothing but a TLS handshake goes over.

    The library closes it when the handshake fails, but not when it is cancelled.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface
    ) -> httpcore2.AsyncNetworkStream:
        try:
            return await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self.aclose()
            raise

    async def aclose(self) -> None:
        await self._stream.aclose()


def _reason(error: BaseException) -> str:
    """Give the words of the innermost cause: the operating system's, not the libraries'."""
    while (inner := _cause(error)) is not None:
        error = inner
    if isinstance(error, ConnectionError | TimeoutError) and error.errno is not None:
        return os.strerror(error.errno)
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return words or type(error).__name__


def _cause(error: BaseException) -> BaseException | None:
    return error.exceptions[0] if isinstance(error, BaseExceptionGroup) else error.__cause__
