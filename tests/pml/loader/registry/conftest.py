"""A registry on loopback that keeps to Story 14.7, except where a test says otherwise (`on`)."""

import contextlib
import dataclasses
import datetime
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest

from pml.backends.http.fetching import HttpFetch
from pml.config import Permissions
from pml.fqdn import Fqdn, integrity_of
from pml.loader.cache import Cache
from pml.loader.capabilities import CapabilityLoader
from pml.loader.lockfile import LockStore
from pml.loader.metadata import description_integrity
from pml.loader.needs import Checks
from pml.loader.registry import Registries, Registry

KEY = b"k" * 32
NOW = datetime.datetime(2026, 1, 7, 12, tzinfo=datetime.UTC)
SHOUT = Fqdn.parse("acme.tools.text.shout")
CODE = b"""// __meta__: {"fqdn": "acme.tools.text.shout", "description": "Shouts"}
export function shout(args: {text: string}) { return {text: args.text.toUpperCase()} }
"""


class Exchange:
    """One request, and the ways to answer it."""

    def __init__(self, stream: anyio.abc.ByteStream, head: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.verb, self.target, _ = first.split(" ")
        self.headers = {
            name.lower(): value for name, value in (line.split(": ", 1) for line in lines)
        }
        self.raw = stream.send

    @property
    def name(self) -> str:
        return self.target.rpartition("/")[2]

    async def reply(
        self, status: int = 200, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        head = f"HTTP/1.1 {status} x\r\nConnection: close\r\n{more}"
        if "content-length" not in head.lower():
            head += f"Content-Length: {len(body)}\r\n"
        await self.raw(f"{head}\r\n".encode("latin-1") + body)

    async def code(self, body: bytes, **headers: str) -> None:
        facts = {"Content-Type": "application/typescript", "X-PML-Type": "deno",
                 "X-PML-Routing": "client", "ETag": f'"{integrity_of(body)}"'}  # fmt: skip
        await self.reply(200, body, {**facts, **headers})

    async def json(self, facts: object, status: int = 200, **headers: str) -> None:
        kind = {"Content-Type": "application/json"}
        await self.reply(status, json.dumps(facts).encode(), {**kind, **headers})


Handler = Callable[[Exchange], Awaitable[None]]


class Server:
    """What is published is served by its hash; an older version stays."""

    def __init__(self) -> None:
        self.on: dict[str, Handler] = {}
        """By the name that is asked for, or `*`."""
        self.seen: list[Exchange] = []
        self.port = 0
        self._current: dict[str, Fqdn] = {}
        self._versions: dict[str, bytes | dict[str, Any]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[str]:
        return [exchange.name for exchange in self.seen]

    def publish(self, name: Fqdn, content: bytes | dict[str, Any]) -> Fqdn:
        whole = self._whole(content)
        version = name.with_hash(whole.removeprefix("sha256-"))
        self._current[name.base] = version
        if isinstance(content, dict):
            content = {"fqdn": str(version), **content, "integrity": whole}
        self._versions[str(version)] = content
        return version

    @staticmethod
    def _whole(content: bytes | dict[str, Any]) -> str:
        """Give what is the content's hash: of a package, of its tree, which is elsewhere."""
        if isinstance(content, bytes):
            return integrity_of(content)
        stated: str = content.get("integrity", description_integrity(content))
        return stated

    async def serve(self, stream: anyio.abc.ByteStream) -> None:
        broken = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
        async with stream:
            with contextlib.suppress(*broken):
                data = b""
                while b"\r\n\r\n" not in data:
                    data += await stream.receive()
                exchange = Exchange(stream, data.partition(b"\r\n\r\n")[0])
                self.seen.append(exchange)
                usual = self.on.get("*", self.usual)
                await self.on.get(exchange.name, usual)(exchange)

    async def usual(self, exchange: Exchange) -> None:
        name, stated = Fqdn.split(exchange.name)
        current = self._current.get(name.base)
        content = self._versions.get(exchange.name)
        if current is None:
            await exchange.json({"error": "not_found", "message": "no"}, 404)
        elif stated is None:
            await exchange.reply(302, headers={"Location": f"/mcp/{current}"})
        elif content is None:
            await exchange.json({"error": "hash_mismatch", "currentFqdn": str(current)}, 404)
        elif exchange.headers.get("if-none-match") == self.etag(content):
            await exchange.reply(304, headers={"ETag": self.etag(content)})
        elif isinstance(content, bytes):
            await exchange.code(content, ETag=self.etag(content))
        else:
            await exchange.json(content, ETag=self.etag(content))

    @staticmethod
    def etag(content: bytes | dict[str, Any]) -> str:
        return f'"{integrity_of(content) if isinstance(content, bytes) else content["integrity"]}"'


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    server = Server()
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server.port = listener.extra(anyio.abc.SocketAttribute.local_port)  # noqa: S610 - no Django
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, server.serve)
        yield server
        tasks.cancel_scope.cancel()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving() as one:
        yield one


@pytest.fixture
async def second() -> AsyncIterator[Server]:
    async with serving() as one:
        yield one


@pytest.fixture
async def fetch() -> AsyncIterator[HttpFetch]:
    async with HttpFetch() as one:
        yield one


class Memory:
    """Remembers which lockfile was last written."""

    def __init__(self) -> None:
        self.sha256: str | None = None

    def last(self) -> str | None:
        return self.sha256

    def wrote(self, sha256: str) -> None:
        self.sha256 = sha256


@dataclasses.dataclass
class Place:
    """A workspace with a cache and a lockfile on disk."""

    folder: Path
    fetch: HttpFetch
    registries: list[Registry]
    permissions: Permissions = dataclasses.field(default_factory=Permissions)
    keys: set[str] = dataclasses.field(default_factory=set)
    installed: set[str] = dataclasses.field(default_factory=set)
    frozen: bool = False
    memory: Memory = dataclasses.field(default_factory=Memory)

    def __post_init__(self) -> None:
        (self.folder / "work").mkdir()

    @property
    def cache(self) -> Cache:
        return Cache(self.folder / "cache", KEY)

    @property
    def lock(self) -> LockStore:
        return LockStore(
            self.folder / "work", self.folder / "state", self.memory, frozen=self.frozen
        )

    @property
    def blobs(self) -> list[Path]:
        return sorted((self.folder / "cache" / "code").glob("*"))

    def loader(self) -> CapabilityLoader:
        """As a new process would have it: nothing remembered but what is on disk."""
        checks = Checks(
            self.permissions,
            lambda name: name in self.keys,
            lambda dependency: dependency.name in self.installed,
        )
        registries = Registries(self.registries, self.fetch)
        return CapabilityLoader(registries, self.cache, self.lock, checks, lambda: NOW)


@pytest.fixture
def place(tmp_path: Path, server: Server, fetch: HttpFetch) -> Place:
    return Place(tmp_path, fetch, [Registry(server.url)])
