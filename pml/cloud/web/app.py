"""All routes, and what lives as long as a worker."""

import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TextIO

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from pml.backends.std import StdBackend
from pml.cloud.settings import Settings
from pml.cloud.store import opened_store
from pml.cloud.store.databases import MOST_CONNECTIONS
from pml.cloud.store.keys import METRICS
from pml.cloud.tools.directory import Directory
from pml.cloud.web import access, answers
from pml.cloud.web.access import Rates
from pml.cloud.web.face import Face
from pml.cloud.web.front import Front
from pml.cloud.web.logs import Journal, JournalHandler
from pml.cloud.web.metrics import MEDIA_TYPE, Metrics
from pml.cloud.web.registry import RegistryRoutes
from pml.cloud.web.remembering import Remembered
from pml.cloud.web.services import Services
from pml.loader.publishing import BUILTIN
from pml.routing.syncing import ROUTING_PATH

_NOWHERE = Path("/nonexistent")  # the built-in sees no files: it needs no place


class CloudApp:
    """The ASGI application of one worker; what it needs is opened by its lifespan."""

    def __init__(self, settings: Settings, log: TextIO, metrics_folder: str | None = None) -> None:
        """Open nothing yet."""
        self._settings = settings
        self._journal = Journal(log)
        self._metrics_folder = metrics_folder
        self._front: ASGIApp | None = None
        self._shell = Starlette(lifespan=self._lifespan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        inner = self._front if scope["type"] == "http" else None
        await (inner or self._shell)(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        handler = JournalHandler(self._journal)
        logging.getLogger().addHandler(handler)
        try:
            with opened_store(self._settings.database) as store:
                services = Services(
                    self._settings,
                    store,
                    anyio.CapacityLimiter(MOST_CONNECTIONS),
                    self._journal,
                    Metrics(self._metrics_folder),
                    Rates(self._settings.calls_per_second, self._settings.calls_at_once),
                    Remembered(),
                    Remembered(),
                )
                builtin = StdBackend(BUILTIN, _NOWHERE, _NOWHERE)
                listed = (await builtin.list_tools()).tools
                directory = Directory(store.registry, listed, services.threads)
                face = Face(services, directory, builtin)
                async with face.running():
                    routes = _routed(services, face, directory)
                    self._front = Front(routes, services, self._settings.request_seconds)
                    self._journal.write("started")
                    yield
                    self._front = None
        finally:
            self._journal.write("stopped")
            logging.getLogger().removeHandler(handler)


def _routed(services: Services, face: Face, directory: Directory) -> Router:
    """Give the routes alone: what they raise is the front's to answer."""
    registry, own = RegistryRoutes(services, directory), _OwnRoutes(services)
    return Router(
        routes=[
            Route("/mcp", registry.catalogue, methods=["GET"]),
            Route("/mcp", face, methods=["POST"]),
            Route("/mcp/{fqdn}", registry.entry, methods=["GET"]),
            Route("/mcp/{fqdn}", registry.publish, methods=["PUT"]),
            Route(ROUTING_PATH, registry.routing, methods=["GET"]),
            Route("/health", own.health, methods=["GET"]),
            Route("/metrics", own.metrics, methods=["GET"]),
        ],
        default=_nowhere,
        redirect_slashes=False,
    )


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    words = "there is /mcp, /mcp/{fqdn}, /api/v1/routing, /health and /metrics"
    await answers.problem(404, "not_found", words)(scope, receive, send)


class _OwnRoutes:
    """What operators ask."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def health(self, _: Request) -> Response:
        """Say whether the database answers; if not, the front says 503."""
        registry = self._services.store.registry
        await anyio.to_thread.run_sync(registry.generation, limiter=self._services.threads)
        return answers.document({"status": "ok"}, headers={"Cache-Control": "no-store"})

    async def metrics(self, request: Request) -> Response:
        """Give the counts, for a key that may see them."""
        key = await access.recognised(request, self._services.store, self._services.threads)
        if key is None:
            return access.unauthorized()
        if not key.may(METRICS):
            return access.forbidden(METRICS)
        return Response(self._services.metrics.text(), media_type=MEDIA_TYPE)
