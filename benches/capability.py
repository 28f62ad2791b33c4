"""A capability that is kept, beside the same code run inline: what loading it verified costs.

Both in one process, in turns, so that a noisy minute meets both. Nobody answers at the address of
the registry: whatever is measured needs no network.
"""

import datetime
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benches.harness import Figure, Plan, Samples, Target, expect, settle
from benches.ours import completed, no_tools
from pml.backends.capability import CapabilityBackend
from pml.backends.http.fetching import HttpFetch
from pml.config import Permissions
from pml.fqdn import Fqdn
from pml.loader.cache import Cache
from pml.loader.capabilities import CapabilityLoader
from pml.loader.lockfile import LockStore
from pml.loader.metadata import metadata_of_code
from pml.loader.needs import Checks
from pml.loader.registry import Described, Registries, Registry
from sandbox_host import Sandbox

KIND = "capability"
FIGURES = (
    Figure("capability", "kept capability, over the same code inline", "ms", Target(p50=1.0)),
    Figure("capability_inline", "the same code inline", "ms"),
)
_NAME = Fqdn.parse("acme.tools.text.shout")
_SOURCE = (
    """// __meta__: {"fqdn": "acme.tools.text.shout"}
export function shout(args: {text: string}) { return args.text.toUpperCase() }
"""
    + "// a line of a usual length, so that the code has a usual size\n" * 64
)
_ARGUMENTS = {"text": "hi"}


class _Witness:
    def __init__(self) -> None:
        self._sha256: str | None = None

    def last(self) -> str | None:
        return self._sha256

    def wrote(self, sha256: str) -> None:
        self._sha256 = sha256


class _Nobody:
    def started(self, server: str, record: Any) -> None: ...
    def ready(self, server: str) -> None: ...
    def logged(self, server: str, level: str, text: str) -> None: ...
    def stopped(self, server: str, reason: str) -> None: ...


def _loader(folder: Path) -> CapabilityLoader:
    """Give a loader whose cache holds the code, as if a registry had served it."""
    content = _SOURCE.encode()
    described = Described(
        metadata_of_code(content, _NAME), "https://registry.example", "{}", code=content
    )
    cache = Cache(folder / "cache", b"k" * 32)
    cache.put(_NAME, described)
    cache.put(described.metadata.fqdn, described)
    (folder / "work").mkdir()
    return CapabilityLoader(
        Registries([Registry("http://127.0.0.1:1")], HttpFetch()),
        cache,
        LockStore(folder / "work", folder / "state", _Witness()),
        Checks(Permissions(allow=("text",)), lambda _: True, lambda _: True),
        lambda: datetime.datetime.now(datetime.UTC),
    )


async def pml(plan: Plan) -> Samples:
    """Through the backend: lock compared, code read and hashed, sandbox, result."""
    samples: Samples = {"capability": [], "capability_inline": []}
    with tempfile.TemporaryDirectory() as name:
        loader = _loader(Path(name))
        loader.lock(await loader.find(_NAME))
        backend = CapabilityBackend("text", [_NAME], loader, _Nobody())

        async def kept() -> None:
            expect(await backend.run("shout", _ARGUMENTS, no_tools, 60.0), "HI")

        for _ in range(20):
            await kept()
            await _inline()
        settle()
        for _ in range(plan.count(500)):
            inline = await _timed(_inline)
            samples["capability_inline"].append(inline)
            samples["capability"].append(await _timed(kept) - inline)
    return samples


async def _inline() -> None:
    async with Sandbox() as sandbox:
        outcome = await sandbox.run(_SOURCE, host=no_tools, args=_ARGUMENTS, call="shout")
        expect(completed(outcome), "HI")


async def _timed(work: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began
