"""Capabilities on a shelf: a real cache, a real lockfile, the real gate, and no registry at all."""

import dataclasses
import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pml.backends.capability import (
    Capabilities,
    CapabilityBackend,
    capabilities_in_use,
    capability_backends,
)
from pml.backends.http.fetching import HttpFetch
from pml.backends.servers import Servers
from pml.config import Permissions
from pml.execution.rights import Rights
from pml.execution.runner import Office, Request, Run, execute
from pml.fqdn import Fqdn
from pml.loader.cache import Cache
from pml.loader.capabilities import CapabilityLoader, Loaded
from pml.loader.lockfile import LockStore
from pml.loader.metadata import metadata_of_code
from pml.loader.needs import Checks
from pml.loader.registry import Described, Registries
from pml.policy import decide
from sandbox_host import ToolError

KEY = b"k" * 32
NOW = datetime.datetime(2026, 1, 7, 12, tzinfo=datetime.UTC)


class Memory:
    """Remembers which lockfile was last written."""

    def __init__(self) -> None:
        self.sha256: str | None = None

    def last(self) -> str | None:
        return self.sha256

    def wrote(self, sha256: str) -> None:
        self.sha256 = sha256


class Words:
    """An observer that remembers what was logged."""

    def __init__(self) -> None:
        self.logs: list[tuple[str, str, str]] = []

    def started(self, server: str, record: Any) -> None: ...
    def ready(self, server: str) -> None: ...
    def stopped(self, server: str, reason: str) -> None: ...

    def logged(self, server: str, level: str, text: str) -> None:
        self.logs.append((server, level, text))


class Counter:
    """A backend that is no capability: `free:*` and the like, with every effect remembered."""

    def __init__(self, capabilities: Servers) -> None:
        self._capabilities = capabilities
        self.effects: list[tuple[str, Any]] = []

    def check(self, tool_id: str) -> None:
        if tool_id.partition(":")[0] not in ("free", "asked", "never"):
            self._capabilities.check(tool_id)

    def caution(self, tool_id: str) -> str | None:
        return None

    async def call(self, tool_id: str, arguments: Mapping[str, Any]) -> Any:
        self.effects.append((tool_id, dict(arguments)))
        if tool_id.endswith(":fail"):
            raise ToolError("it broke", code="tool_error", data={"n": 1})
        return {"tool": tool_id, **arguments}

    async def call_raw(self, tool_id: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"content": [], "structuredContent": await self.call(tool_id, arguments)}


@dataclasses.dataclass
class Shelf:
    """A workspace whose capabilities are all here."""

    folder: Path
    permissions: Permissions = dataclasses.field(
        default_factory=lambda: Permissions(
            allow=("free", "text"), ask=("asked",), deny=("never",)
        )
    )
    keys: set[str] = dataclasses.field(default_factory=set)
    memory: Memory = dataclasses.field(default_factory=Memory)
    words: Words = dataclasses.field(default_factory=Words)
    lines: list[tuple[str, Mapping[str, Any]]] = dataclasses.field(default_factory=list)
    timeout_seconds: float = 20.0

    def __post_init__(self) -> None:
        (self.folder / "work").mkdir()
        registries = Registries([], HttpFetch())
        checks = Checks(self.permissions, lambda name: name in self.keys, lambda _: False)
        self.lock = LockStore(self.folder / "work", self.folder / "state", self.memory)
        self.cache = Cache(self.folder / "cache", KEY)
        self.loader = CapabilityLoader(registries, self.cache, self.lock, checks, lambda: NOW)

    async def put(self, name: str, code: str, **meta: Any) -> Fqdn:
        """Publish code under `acme.tools.` and lock it."""
        base = Fqdn.parse(f"acme.tools.{name}")
        content = f"// __meta__: {json.dumps({'fqdn': str(base), **meta})}\n{code}".encode()
        found = metadata_of_code(content, base)
        described = Described(found, "https://registry.example", "{}", code=content)
        for asked in (base, found.fqdn):
            kept = self.cache.put(asked, described)
        entry = self.loader._entry(kept)
        self.lock.update(lambda now: now.without(base).add(found.fqdn, entry))
        return found.fqdn

    def backends(self, taken: tuple[str, ...] = ()) -> tuple[CapabilityBackend, ...]:
        found = capabilities_in_use(self.lock.load())
        return capability_backends(found, taken, self.loader, self.words)

    def backend(self, name: str = "text") -> CapabilityBackend:
        return next(one for one in self.backends() if one.name == name)

    def rights(self) -> Rights:
        backends = self.backends()
        self.counter = Counter(Servers(backends, call_timeout_seconds=self.timeout_seconds))
        return Rights(
            self.counter,
            lambda tool: decide(tool, self.permissions),
            self,
            lambda _: None,
            composer=Capabilities(backends, self.timeout_seconds),
        )

    def write(self, event: str, facts: Mapping[str, Any]) -> None:
        self.lines.append((event, facts))

    note = write

    async def run(self, program: str, office: Office | None = None, **more: Any) -> Run:
        return await execute(Request(program, **more), self.rights(), office)

    async def loaded(self, name: Fqdn) -> Loaded:
        found = await self.loader.load(name)
        assert isinstance(found, Loaded)
        return found

    @property
    def blobs(self) -> list[Path]:
        return sorted((self.folder / "cache" / "code").glob("*"))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)
