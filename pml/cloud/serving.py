"""A cloud as processes: one socket, and one or several workers that share it.

The tables are made and the address is taken before any worker starts, so that what is wrong is
told once, in words. Workers keep nothing: one that is killed is replaced, and loses only the
requests it had.
"""

import contextlib
import functools
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.supervisors import Multiprocess

from pml.cloud.errors import AddressUnusableError
from pml.cloud.settings import Settings
from pml.cloud.store import opened_store
from pml.cloud.web.app import CloudApp

STOP_SECONDS = 10
"""For requests under way, when a worker is asked to end."""

_METRICS = "PROMETHEUS_MULTIPROC_DIR"  # where the library looks, when it is imported


def serve(settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve until a signal; `ready` hears the address once it is taken."""
    with opened_store(settings.database):
        pass
    with _bound(settings) as listening, _metrics_folder(settings) as folder:
        ready(_address(settings, listening))
        config = uvicorn.Config(
            functools.partial(made_app, settings, folder),
            factory=True,
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=settings.connections,
            timeout_graceful_shutdown=STOP_SECONDS,
            workers=settings.workers,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.certificate_key,
        )
        if settings.workers > 1:
            Multiprocess(config, [listening]).run()
        else:
            with contextlib.suppress(KeyboardInterrupt):  # it stopped, then raised the signal
                uvicorn.Server(config).run([listening])


def made_app(settings: Settings, metrics_folder: str | None) -> CloudApp:
    """Make the application of one worker, in its process."""
    return CloudApp(settings, sys.stderr, metrics_folder)


@contextlib.contextmanager
def _bound(settings: Settings) -> Iterator[socket.socket]:
    """Take the address; port 0 is any that is free."""
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # the protocol by its number: or asyncio takes it for none it knows, and every answer of two
    # parts waits 40 ms for an acknowledgement (Nagle)
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
            listening.listen(2048)
        except OSError as error:
            reason = error.strerror or str(error)
            raise AddressUnusableError(host, port, reason) from None
        listening.set_inheritable(True)
        yield listening


def _address(settings: Settings, listening: socket.socket) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    scheme = "https" if settings.certificate else "http"
    return f"{scheme}://{host}:{listening.getsockname()[1]}"


@contextlib.contextmanager
def _metrics_folder(settings: Settings) -> Iterator[str | None]:
    """Give several workers a folder to count in; their processes are told before they start."""
    if settings.workers == 1:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="pml-cloud-metrics-") as folder:
        os.environ[_METRICS] = folder  # noqa: TID251 - the library's only way in
        yield folder
