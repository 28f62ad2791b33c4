"""The two halves together: what a cloud serves is what the loader and the routing take."""

from pathlib import Path
from typing import Any

import pytest

from pml.backends.http.fetching import HttpFetch
from pml.fqdn import Fqdn
from pml.loader.errors import HashMismatchError, NotInRegistryError
from pml.loader.metadata import McpType
from pml.loader.registry import Registries, Registry
from pml.routing import Routing
from pml.routing.cache import RoutingCache
from pml.routing.syncing import Answer, synced

CODE = '// __meta__: {"fqdn": "acme.x.both.shout", "routing": "server"}\nexport const shout = 1;\n'


async def test_code_and_metadata_are_fetched_and_verified(cloud: Any, upstream: str) -> None:
    made = cloud.publish("acme.x.both.shout", CODE).json
    facts = {"type": "http", "proxyTo": upstream, "tools": ["remote:search"]}
    remote = cloud.publish("acme.x.remote.server", facts).json
    async with HttpFetch() as fetch:
        registries = Registries([Registry(cloud.url)], fetch)
        described: Any = await registries.describe(Fqdn.parse("acme.x.both.shout"))
        assert described.code == CODE.encode()
        assert str(described.metadata.fqdn) == made["fqdn"]
        assert described.metadata.integrity == made["integrity"]
        assert described.metadata.routing is Routing.SERVER
        there: Any = await registries.describe(Fqdn.parse(remote["fqdn"]))
        assert there.metadata.type is McpType.HTTP
        assert there.metadata.integrity == remote["integrity"]
        with pytest.raises(HashMismatchError):
            await registries.describe(Fqdn.parse("acme.x.both.shout.0000"))
        with pytest.raises(NotInRegistryError):
            await registries.describe(Fqdn.parse("acme.x.both.nothing"))


async def test_the_clouds_routing_table_is_taken_and_kept(cloud: Any, tmp_path: Path) -> None:
    cloud.publish("acme.x.both.shout", CODE)

    async def fetch(url: str, etag: str | None) -> Answer:
        path = url.removeprefix(cloud.url)
        headers = {"if_none_match": etag} if etag else {}
        answer = cloud.get(path, **headers)
        return Answer(answer.status, answer.body, answer.headers.get("etag"))

    cache = RoutingCache(tmp_path)
    for _ in range(2):
        found = await synced(cloud.url, fetch, cache)
        assert found.source == "cloud"
        assert found.problem is None
        assert found.table.of("both:shout") is Routing.SERVER
        assert found.table.of("filesystem:read_file") is Routing.CLIENT
