"""Asks a cloud for its table, and goes on without one: a cloud that is away stops nothing local.

The network is behind a port; what it raises, sends or leaves out ends in the kept table of the
same cloud, else in the embedded one, with a reason for the log.
"""

import dataclasses
from typing import Literal, Protocol

import anyio

from pml.errors import PmlError
from pml.routing.cache import Kept, RoutingCache
from pml.routing.errors import RoutingTableError
from pml.routing.reading import parse_table
from pml.routing.resolver import EMBEDDED, RoutingTable
from sandbox_host.errors import printable

ROUTING_PATH = "/api/v1/routing"
"""At the cloud."""

SYNC_SECONDS = 5.0
"""A start does not wait longer for a cloud."""

_MOST_ETAG_CHARACTERS = 200
_DONE, _UNCHANGED = 200, 304


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    body: bytes = b""
    etag: str | None = None


class Fetch(Protocol):
    """Who speaks HTTP."""

    async def __call__(self, url: str, etag: str | None) -> Answer:
        """Get an address, with `If-None-Match` if there is a tag; raises `PmlError`."""


@dataclasses.dataclass(frozen=True, slots=True)
class Synced:
    """A table that may be used, and where it is from."""

    table: RoutingTable
    source: Literal["cloud", "cache", "embedded"]
    problem: str | None = None
    """Why it is not the cloud's own word of now."""


async def synced(cloud_url: str, fetch: Fetch, cache: RoutingCache) -> Synced:
    """Give the table of a cloud; never raises for what a cloud does."""
    cloud_url = cloud_url.rstrip("/")
    kept = cache.load(cloud_url)
    try:
        with anyio.fail_after(SYNC_SECONDS):
            answer = await fetch(f"{cloud_url}{ROUTING_PATH}", kept.etag if kept else None)
        if answer.status == _UNCHANGED and kept is not None:
            return Synced(kept.table, "cloud")
        table = _table(answer)
    except TimeoutError:
        return _without(kept, f"{cloud_url} did not answer within {SYNC_SECONDS:g} seconds")
    except PmlError as error:
        return _without(kept, error.message)
    cache.save(cloud_url, answer.body, _usable(answer.etag))
    return Synced(table, "cloud")


def _table(answer: Answer) -> RoutingTable:
    if answer.status != _DONE:
        reason = f"the cloud answered {answer.status}"
        raise RoutingTableError(reason)
    return parse_table(answer.body)


def _without(kept: Kept | None, problem: str) -> Synced:
    said = printable(problem)
    return (
        Synced(EMBEDDED, "embedded", said) if kept is None else Synced(kept.table, "cache", said)
    )


def _usable(etag: str | None) -> str | None:
    """Give a tag that may be sent back in a header."""
    if etag is None or len(etag) > _MOST_ETAG_CHARACTERS:
        return None
    return etag if etag.isascii() and etag.isprintable() else None
