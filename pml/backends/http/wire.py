"""HTTP with one endpoint: a request out, a status and a bounded body or event stream back.

Over `httpcore2`, the lower half of `httpx2`, and not over its client: redirects, cookies, proxies,
`.netrc`, environment variables and decompression are all the client's, so here they do not exist.
What is added: redirects within the origin (307 and 308, which keep the method, at most
`MOST_REDIRECTS`), and bounds on what is read. Knows nothing of JSON or MCP.
"""

import contextlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping

import httpcore2

from pml.backends.errors import RemoteRefusedError, ServerProtocolError
from pml.backends.http.addresses import Endpoint
from pml.backends.http.dialing import Dialer, Resolver
from pml.backends.http.events import Event, EventReader, EventTooLargeError
from pml.backends.http.headers import Headers
from sandbox_host.errors import printable

MOST_ANSWER_BYTES = 16 << 20
"""Of one answer, body or event: what a call may cost in memory; servers cut off far below."""

MOST_REDIRECTS = 3
"""A trailing slash and a canonical path are two."""

_KEEPALIVE_SECONDS = 4.0  # below the 5 s after which common servers close an idle connection
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_KEEPING_METHOD = frozenset({307, 308})
_REASON_CHARACTERS = 300


class ExchangeError(Exception):
    """There is no usable answer; whoever asked knows what that means for the server's life."""

    def __init__(self, reason: str, *, status: int | None = None, sent: bool = True) -> None:
        """Keep the reason, the HTTP status if there was one, and whether anything was sent."""
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.sent = sent


class NotConnectedError(ExchangeError):
    """Nobody was reached, so certainly nothing was sent."""

    def __init__(self, words: str) -> None:
        """Complete the words."""
        super().__init__(f"cannot connect: {words}", sent=False)


class ConnectionBrokenError(ExchangeError):
    """The connection ended before the answer did."""

    def __init__(self, words: str) -> None:
        """Complete the words."""
        super().__init__(f"the connection broke: {words}")


class Reply:
    """An answer whose body has not been read."""

    def __init__(self, server: str, response: httpcore2.Response) -> None:
        """Look at the head alone."""
        self._server = server
        self._response = response
        self.status = response.status
        self._headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }

    def header(self, name: str) -> str:
        """Give a header's value; empty if there is none."""
        return self._headers.get(name, "")

    @property
    def media_type(self) -> str:
        """The content type without its parameters."""
        return self.header("content-type").partition(";")[0].strip().lower()

    @property
    def headers(self) -> Mapping[str, str]:
        """All headers, by their names in lower case."""
        return self._headers

    async def body(self, most_bytes: int = MOST_ANSWER_BYTES) -> bytes:
        """Read the body, or refuse it as soon as it is too large."""
        self._refuse_unreadable()
        length = self.header("content-length")
        if length.isdecimal() and int(length[:20]) > most_bytes:
            raise _too_large(self._server, most_bytes)
        body = bytearray()
        async with contextlib.aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                body += chunk
                if len(body) > most_bytes:
                    raise _too_large(self._server, most_bytes)
        return bytes(body)

    async def events(self) -> AsyncGenerator[Event]:
        """Read the body as events, each bounded; close it with `contextlib.aclosing`."""
        self._refuse_unreadable()
        reader = EventReader(MOST_ANSWER_BYTES)
        async with contextlib.aclosing(self._chunks()) as chunks:
            async for chunk in chunks:
                try:
                    events = list(reader.feed(chunk))
                except EventTooLargeError:
                    raise _too_large(self._server, MOST_ANSWER_BYTES) from None
                for event in events:
                    yield event

    def _refuse_unreadable(self) -> None:
        # We accept none, and a few compressed bytes could become any number of plain ones.
        if self.header("content-encoding").strip().lower() not in {"", "identity"}:
            raise ServerProtocolError(self._server, "its answer is compressed, which we refused")

    async def _chunks(self) -> AsyncGenerator[bytes]:
        with _translated():
            async with contextlib.aclosing(self._response.aiter_stream()) as chunks:
                async for chunk in chunks:
                    yield chunk


class Wire:
    """The connections to one endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        headers: Headers,
        *,
        resolver: Resolver,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Keep whom to speak to; connects when asked. `headers` go with every request."""
        self.server = endpoint.server
        self._endpoint = endpoint
        self._headers = headers
        secure = endpoint.scheme == "https"
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or (_system_trust() if secure else None),
            # As many as there are calls, which are bounded above us: with a bound here, the answer
            # to a server's question could wait for the very call that waits for it.
            max_connections=None,
            keepalive_expiry=_KEEPALIVE_SECONDS,
            network_backend=Dialer(endpoint, resolver),
        )

    @property
    def header_names(self) -> tuple[str, ...]:
        """The names of the configured headers; their values are nobody's business."""
        return tuple(name for name, _ in self._headers)

    @contextlib.asynccontextmanager
    async def exchange(
        self, method: str, headers: Headers, content: bytes | None = None
    ) -> AsyncIterator[Reply]:
        """Send a request; raises `ExchangeError`, `RemoteRefusedError`, `ServerProtocolError`."""
        endpoint = self._endpoint
        for _ in range(MOST_REDIRECTS + 1):
            async with self._sent(endpoint, method, headers, content) as reply:
                if reply.status not in _REDIRECTS:
                    yield reply
                    return
                there = endpoint.redirected(reply.header("location"))
            if reply.status not in _KEEPING_METHOD:
                raise RemoteRefusedError(
                    self.server,
                    f"it redirects with {reply.status}, which loses the call",
                    hint="configure the address that it redirects to",
                )
            endpoint = there
        raise RemoteRefusedError(self.server, f"it redirects more than {MOST_REDIRECTS} times")

    @contextlib.asynccontextmanager
    async def get(self, there: Endpoint, headers: Headers) -> AsyncIterator[Reply]:
        """Ask for something at the same origin; a redirect is an answer like any other."""
        if there.origin != self._endpoint.origin:
            raise RemoteRefusedError(self.server, "another origin than the configured one")
        async with self._sent(there, "GET", headers, None) as reply:
            yield reply

    @contextlib.asynccontextmanager
    async def put(
        self, there: Endpoint, headers: Headers, content: bytes, connect_seconds: float
    ) -> AsyncIterator[Reply]:
        """Send something to the same origin; a redirect is an answer like any other."""
        if there.origin != self._endpoint.origin:
            raise RemoteRefusedError(self.server, "another origin than the configured one")
        async with self._sent(there, "PUT", headers, content, connect_seconds) as reply:
            yield reply

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()

    @contextlib.asynccontextmanager
    async def _sent(
        self,
        endpoint: Endpoint,
        method: str,
        headers: Headers,
        content: bytes | None,
        connect_seconds: float | None = None,
    ) -> AsyncIterator[Reply]:
        request = httpcore2.Request(
            method,
            httpcore2.URL(
                scheme=endpoint.scheme.encode(),
                host=endpoint.host.encode(),
                port=endpoint.port,
                target=endpoint.target.encode(),
            ),
            headers=[
                ("Host", endpoint.authority),
                ("Accept-Encoding", "identity"),
                *headers,
                *self._headers,
                *([] if content is None else [("Content-Length", str(len(content)))]),
            ],
            content=content,
            extensions={"timeout": {"connect": connect_seconds}},
        )
        with _translated():
            response = await self._pool.handle_async_request(request)
        try:
            yield Reply(self.server, response)
        finally:
            await response.aclose()


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Turn the library's exceptions into ours."""
    try:
        yield
    except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
        raise NotConnectedError(_words(error)) from error
    except (
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.TimeoutException,
    ) as error:
        raise ConnectionBrokenError(_words(error)) from error


def _system_trust() -> ssl.SSLContext:
    """Trust whom the operating system trusts, whatever the environment says."""
    import httpx2  # noqa: PLC0415 - 0.1 s, only for this

    return httpx2.create_ssl_context(verify=True, trust_env=False)


def _words(error: Exception) -> str:
    return printable(str(error) or type(error).__name__, _REASON_CHARACTERS)


def _too_large(server: str, most_bytes: int) -> ServerProtocolError:
    whole = most_bytes >> 20
    bound = f"{whole} MiB" if whole else f"{most_bytes >> 10} KiB"
    return ServerProtocolError(server, f"its answer is larger than {bound}")
