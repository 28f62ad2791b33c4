"""The capabilities of one namespace behind the port of all backends, and all of them by tool id.

The code is loaded for every call: compared with the lock, hashed again over the very bytes that
then run. What is missing for it (a key, a package, the human's word) is the call's error.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import anyio

from pml.backends.capability.arguments import Check, checker
from pml.backends.capability.running import (
    CapabilityCall,
    ResumedCall,
    resume_capability,
    run_capability,
)
from pml.backends.capability.shelf import Shelf
from pml.backends.errors import (
    ArgumentsUnfitError,
    CallTimeoutError,
    ServerUnknownError,
    ToolUnknownError,
)
from pml.backends.results import error_result, result_of
from pml.fqdn import Fqdn
from pml.loader.cache import Kept
from pml.loader.capabilities import Found, Loaded
from pml.loader.lockfile import Changed, Lockfile
from pml.loader.metadata import McpType
from pml.loader.needs import Needs
from pml.model import Listing, ServerState, ServerStatus, Tool
from pml.ports import Observer, OnProgress, Paused
from pml.routing import Routing
from sandbox_host import Call, Host, ToolError

MOST_AT_ONCE = 16
"""Calls of one namespace at one depth; the rest wait. A depth never waits for a lower one's place,
so calls within calls cannot lock each other out."""


class Loader(Protocol):
    """Who loads: `CapabilityLoader`."""

    async def find(self, name: Fqdn) -> Found:
        """Say what stands under a name."""

    async def load(self, name: Fqdn) -> Loaded | Needs:
        """Give verified code, or what is missing for it."""

    async def examine(self, name: Fqdn) -> tuple[Found, Needs]:
        """Say what stands under a name now, and what is missing for it."""

    def accept(self, changed: Changed, kept: Kept) -> None:
        """Lock another version, after the human said yes to this very change."""


class CapabilityBackend:
    """Answers the calls to the capabilities of one namespace."""

    def __init__(
        self, name: str, capabilities: Sequence[Fqdn], loader: Loader, observer: Observer
    ) -> None:
        """Take their names; nothing is read or asked yet."""
        self.name = name
        self._loader = loader
        self._observer = observer
        self._shelf = Shelf(name, capabilities)
        self._checks: dict[str, Check] = {}
        self._slots: dict[int, anyio.CapacityLimiter] = {}

    def add(self, name: Fqdn) -> None:
        """Have one more, which was just locked."""
        self._shelf.add(name)

    async def list_tools(self) -> Listing:
        """Give the tools of all that can be described; what cannot is skipped, with the reason."""
        await self._shelf.fill(self._loader)
        return self._shelf.listing

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,  # noqa: ARG002 - there is none to tell
    ) -> Mapping[str, Any]:
        """Run a tool with nobody to answer its own calls; its errors are results."""
        try:
            return result_of(await self.run(tool, arguments, _nobody, timeout_seconds))
        except ToolError as error:
            return error_result(error)

    async def run(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        host: Host,
        timeout_seconds: float,
        depth: int = 0,
    ) -> Any:
        """Load the code, run it, give its value or `Paused`; `host` answers its own calls.

        Raises `ToolError` for what goes wrong in it, `PmlError` for what keeps it from running.
        """
        await self._shelf.fill(self._loader)
        name, definition = self._shelf.offered(tool)
        self._check(definition, arguments)
        with anyio.move_on_after(timeout_seconds):
            async with self._slot(depth):
                loaded = await self._loaded(name)
                call = CapabilityCall(self.name, tool, timeout_seconds, loaded.code, arguments)
                return await run_capability(call, host)
        raise CallTimeoutError(self.name, tool, timeout_seconds)

    async def resume(
        self, call: ResumedCall, paused: Paused, answers: Mapping[int, Any], host: Host, depth: int
    ) -> Any:
        """Go on with a paused call; as `run`. Its code was verified when it began."""
        with anyio.move_on_after(call.timeout_seconds):
            async with self._slot(depth):
                return await resume_capability(call, paused, answers, host)
        raise CallTimeoutError(self.name, call.tool, call.timeout_seconds)

    async def needs(self, tool: str) -> Needs | None:
        """Say what a tool needs before it may run; None if there is no such tool."""
        name = self._shelf.named(tool)
        if name is None:  # one that offers several has to be described first
            await self._shelf.fill(self._loader)
            name = self._shelf.named(tool)
        return None if name is None else (await self._loader.examine(name))[1]

    async def accept(self, tool: str, integrity: str) -> None:
        """Lock what the human said yes to, if that is still what there is."""
        name = self._shelf.named(tool)
        if name is None:
            raise ToolUnknownError(f"{self.name}:{tool}", [])
        found, needs = await self._loader.examine(name)
        if needs.changed is not None and needs.changed.integrity == integrity:
            self._loader.accept(needs.changed, found.kept)

    def _check(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        check = self._checks.get(tool.name)
        if check is None:
            check = self._checks[tool.name] = checker(tool.input_schema)
        wrong = check(arguments)
        if wrong is not None:
            raise ArgumentsUnfitError(tool.id, wrong)

    async def _loaded(self, name: Fqdn) -> Loaded:
        loaded = await self._loader.load(name)
        if isinstance(loaded, Needs):
            raise loaded.error()
        for warning in loaded.warnings:
            self._observer.logged(self.name, "warning", warning)
        return loaded

    def _slot(self, depth: int) -> anyio.CapacityLimiter:
        return self._slots.setdefault(depth, anyio.CapacityLimiter(MOST_AT_ONCE))

    def caution(self, tool: str) -> str | None:  # noqa: ARG002 - the port's
        """Nothing is asked about beyond what the policy says."""
        return None

    def status(self) -> ServerStatus:
        """Say whether a call is under way."""
        busy = any(slots.borrowed_tokens for slots in self._slots.values())
        state = ServerState.RUNNING if busy else ServerState.IDLE
        return ServerStatus(self.name, "capability", state, "wasm", tools=self._shelf.count)

    async def aclose(self) -> None:
        """Nothing outlives a call."""


class Capabilities:
    """All capabilities by tool id: the `Composer` of a run."""

    def __init__(self, backends: Iterable[CapabilityBackend], call_timeout_seconds: float) -> None:
        """Hold backends that someone else opens and closes."""
        self._backends = {backend.name: backend for backend in backends}
        self._call_timeout_seconds = call_timeout_seconds

    def add(self, name: Fqdn, loader: Loader, observer: Observer) -> CapabilityBackend:
        """Have one more; give the backend of its namespace, made for it or not."""
        backend = self._backends.get(name.namespace)
        if backend is None:
            backend = CapabilityBackend(name.namespace, [name], loader, observer)
            self._backends[name.namespace] = backend
        else:
            backend.add(name)
        return backend

    def composes(self, tool_id: str) -> bool:
        """Say whether a tool is a program of a registry."""
        return tool_id.partition(":")[0] in self._backends

    async def call(
        self, tool_id: str, arguments: Mapping[str, Any], host: Host, *, depth: int = 0
    ) -> Any:
        """Run it and give its value, as it is, or `Paused`; raises `PmlError`, `ToolError`."""
        server, _, tool = tool_id.partition(":")
        backend = self._backends[server]
        return await backend.run(tool, arguments, host, self._call_timeout_seconds, depth)

    async def needs(self, tool_id: str) -> Needs | None:
        """Say what a tool needs before it may run; None if it is none of these."""
        server, _, tool = tool_id.partition(":")
        backend = self._backends.get(server)
        return None if backend is None else await backend.needs(tool)

    async def accept(self, tool_id: str, integrity: str) -> None:
        """Lock what the human said yes to."""
        server, _, tool = tool_id.partition(":")
        await self._backends[server].accept(tool, integrity)

    async def resume(
        self, tool_id: str, paused: Paused, answers: Mapping[int, Any], host: Host, *, depth: int
    ) -> Any:
        """Go on with a paused one; raises `ServerUnknownError` if it was removed meanwhile."""
        server, _, tool = tool_id.partition(":")
        backend = self._backends.get(server)
        if backend is None:
            raise ServerUnknownError(server, tuple(self._backends))
        call = ResumedCall(server, tool, self._call_timeout_seconds)
        return await backend.resume(call, paused, answers, host, depth)


def capabilities_in_use(lockfile: Lockfile) -> tuple[Fqdn, ...]:
    """Give what is locked and is code for this machine."""
    return tuple(
        name
        for name, entry in lockfile.named()
        if entry.type == McpType.DENO and entry.routing is Routing.CLIENT
    )


def capability_backends(
    capabilities: Iterable[Fqdn], taken: Collection[str], loader: Loader, observer: Observer
) -> tuple[CapabilityBackend, ...]:
    """Give a backend for each namespace; a configured server of the same name goes before it."""
    grouped: dict[str, list[Fqdn]] = {}
    for name in capabilities:
        grouped.setdefault(name.namespace, []).append(name)
    for namespace in sorted(grouped.keys() & set(taken)):
        words = "a configured server of this name is used instead of the registry's"
        observer.logged(namespace, "info", words)
    return tuple(
        CapabilityBackend(namespace, names, loader, observer)
        for namespace, names in grouped.items()
        if namespace not in taken
    )


async def _nobody(call: Call) -> Any:
    raise ToolError(f"nobody answers `{call.tool}` here", code="no_tools")  # noqa: TRY003 - to a guest
