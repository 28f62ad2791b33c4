"""Around every request: a bound on its time, a line in the log, a count.

Nothing that was asked is written down but the path, escaped and cut.
"""

import time
from typing import Protocol

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pml.cloud.web.answers import problem
from pml.cloud.web.logs import Journal
from pml.cloud.web.metrics import Metrics
from pml.errors import PmlError
from sandbox_host.errors import printable

_PATH_CHARACTERS = 200
_ROUTES = {"/mcp": "mcp", "/health": "health", "/metrics": "metrics"}


class Counting(Protocol):
    """What the front writes to."""

    @property
    def journal(self) -> Journal:
        """Where lines go."""

    @property
    def metrics(self) -> Metrics:
        """Where counts go."""


class Front:
    """An ASGI application around another."""

    def __init__(self, inner: ASGIApp, services: Counting, request_seconds: float) -> None:
        """Wrap it."""
        self._inner = inner
        self._services = services
        self._request_seconds = request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request in time; whatever happens, somebody is told."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        started, sending = time.perf_counter(), _Sending(send)
        try:
            with anyio.move_on_after(self._request_seconds) as bound:
                await self._answered(scope, receive, sending)
            if bound.cancelled_caught and not sending.status:
                late = problem(504, "timeout", f"not done within {self._request_seconds:g} s")
                await late(scope, receive, sending)
        finally:
            self._tell(scope, sending.status, time.perf_counter() - started)

    async def _answered(self, scope: Scope, receive: Receive, send: "_Sending") -> None:
        try:
            await self._inner(scope, receive, send)
        except PmlError as error:  # the database is away, in the middle of a request
            # its words may name hosts and files: they are for the operator
            self._services.journal.write("failed", code=error.code, message=error.message)
            if not send.status:
                words = "this cloud cannot answer now"
                await problem(503, error.code, words)(scope, receive, send)
        except Exception as error:  # noqa: BLE001 - a bug of ours
            self._services.journal.bug(error)
            if not send.status:
                await problem(500, "internal", "this is a bug of pml")(scope, receive, send)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = _ROUTES.get(scope["path"], "entry")
        self._services.metrics.requests.labels(f"{scope['method']} {route}", str(status)).inc()
        self._services.metrics.seconds.labels(f"{scope['method']} {route}").observe(seconds)
        self._services.journal.write(
            "request",
            method=scope["method"],
            path=printable(scope["path"], _PATH_CHARACTERS),
            status=status,
            milliseconds=round(seconds * 1000, 2),
            key=scope.get("pml_key"),
        )


class _Sending:
    """Passes on what is sent, and remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)
