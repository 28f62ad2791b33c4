"""The cloud of a workspace, as backends: which namespaces it offers, and which keys it may have.

What a cloud offers is known from its routing table, which is kept: so a start does not wait for a
cloud that was there before, and tools of one that is away are known, and say so when they are
called. What this machine has itself never goes there.
"""

import contextlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence

import anyio

from pml.assembly.setup import Setup
from pml.backends.cloud import Cloud, CloudAccess, CloudBackend, cloud_backends
from pml.backends.cloud.connection import OwnKeys
from pml.backends.http.fetching import HttpFetch
from pml.config import CloudConfig
from pml.errors import PmlError
from pml.ports import Observer
from pml.routing import Routing, RoutingTable
from pml.routing.cache import RoutingCache
from pml.routing.reading import MOST_BYTES
from pml.routing.syncing import Answer, Synced, synced

_NAME = "cloud"
_EVERY = "*"  # of a namespace's tools


@contextlib.asynccontextmanager
async def opened_cloud(
    setup: Setup, taken: Collection[str], observer: Observer
) -> AsyncIterator[list[CloudBackend]]:
    """Give a backend for each namespace that the cloud offers and nobody here has."""
    config = setup.config.cloud
    if config is None:
        yield []
        return
    try:
        cloud = Cloud(CloudAccess(config.url, config.api_key), _own_keys(config))
    except PmlError as error:
        observer.logged(_NAME, "warning", error.message)
        yield []
        return
    async with cloud, anyio.create_task_group() as tasks:
        cache = _cache(setup)
        kept = cache.load(config.url.rstrip("/"))
        if kept is None:
            found = await _synced(config, cache, observer)
            table = found.table
        else:
            table = kept.table
            tasks.start_soon(_synced, config, cache, observer)
        yield cloud_backends(cloud, offered(table.keeping(taken)))
        tasks.cancel_scope.cancel()


def cloud_namespaces(setup: Setup) -> frozenset[str]:
    """Name what the cloud offered when it was last asked; nobody is asked now."""
    config = setup.config.cloud
    kept = _cache(setup).load(config.url.rstrip("/")) if config is not None else None
    taken = {server.name for server in setup.servers}
    return frozenset(offered(kept.table.keeping(taken))) if kept is not None else frozenset()


def _cache(setup: Setup) -> RoutingCache:
    return RoutingCache(setup.state.parent.parent)


def offered(table: RoutingTable) -> list[str]:
    """Name the namespaces of which a table names single tools for the cloud. Pure."""
    single = {tool for tool in table.server if ":" in tool and _EVERY not in tool}
    return sorted({tool.partition(":")[0] for tool in single if table.of(tool) is Routing.SERVER})


def _own_keys(config: CloudConfig) -> OwnKeys:
    """Give the keys that the user named in `cloud.keys`; no others, whatever a cloud asks for."""

    def having(names: Sequence[str]) -> Mapping[str, str]:
        return {name: config.own_keys[name] for name in names if name in config.own_keys}

    return having


async def _synced(config: CloudConfig, cache: RoutingCache, observer: Observer) -> Synced:
    """Ask the cloud for its table; what it does not say is told, and stops nothing."""
    async with HttpFetch() as http:

        async def fetch(url: str, etag: str | None) -> Answer:
            headers = {"Accept": "application/json"}
            if etag is not None:
                headers["If-None-Match"] = etag
            if config.api_key is not None:
                headers["X-Api-Key"] = config.api_key
            answer = await http.get(url, headers, most_bytes=MOST_BYTES)
            return Answer(answer.status, answer.body, answer.header("etag") or None)

        found = await synced(config.url, fetch, cache)
    if found.problem is not None:
        observer.logged(_NAME, "warning", found.problem)
    return found
