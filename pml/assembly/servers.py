"""Owns the backends of a workspace: whoever opens closes, and closing leaves nothing behind.

Configured servers, local and remote, then the built-ins that no configured server stands in for,
then the capabilities that are locked, then servers of registries, then those of the cloud. None of
them is started here. The rooms of registries and of the cloud are loaded only where there is one:
they would cost every start a tenth of a second.
"""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Collection, Mapping
from typing import TYPE_CHECKING, Any

import anyio

from pml.assembly.confining import confined_command, remove_temporary
from pml.assembly.making import Making
from pml.assembly.pinning import Pinning
from pml.assembly.setup import Setup
from pml.audit import Audit
from pml.backends.pinned import PinnedBackend
from pml.backends.servers import Servers, UnusableBackend
from pml.backends.shell import ShellBackend
from pml.backends.std import std_backends
from pml.config import StdioServerConfig
from pml.ports import Backend, Observer, ServerRequests
from pml.redaction import Redactor, secrets_of

if TYPE_CHECKING:
    from pml.assembly.registry import RegistryServers
    from pml.backends.capability import Capabilities


class AuditingObserver:
    """Writes what servers do into the audit, then tells the next observer."""

    def __init__(self, audit: Audit, then: Observer, redactor: Redactor) -> None:
        """Hold them."""
        self._audit = audit
        self._then = then
        self._redactor = redactor

    def started(self, server: str, record: Mapping[str, Any]) -> None:
        """Write with which sandbox."""
        self._audit.note("server_started", {"server": server, **record})
        self._then.started(server, record)

    def ready(self, server: str) -> None:
        """Pass on."""
        self._then.ready(server)

    def logged(self, server: str, level: str, text: str) -> None:
        """Pass on, without secrets; a server's words are not audited."""
        self._then.logged(server, level, self._redactor.text(text))

    def stopped(self, server: str, reason: str) -> None:
        """Write why."""
        self._audit.note("server_stopped", {"server": server, "reason": reason})
        self._then.stopped(server, reason)


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """What a gateway of one workspace works with."""

    servers: Servers
    audit: Audit
    redactor: Redactor
    """Knows the keys of all servers."""

    capabilities: "Capabilities | None" = None
    """Carries out the tools that are programs of a registry, if there are any."""

    registry: "RegistryServers | None" = None
    """Servers that registries describe, if there is a registry or a lockfile."""

    pinned: Mapping[str, PinnedBackend] = dataclasses.field(default_factory=dict)
    """Configured servers, whose tools stay what they were until a human says otherwise."""


@contextlib.asynccontextmanager
async def opened_servers(
    setup: Setup, observer: Observer, requests: ServerRequests | None = None
) -> AsyncIterator[Opened]:
    """Give the configured servers, none of them started; stop those that were, all at once."""
    redactor = redactor_of(setup)
    audited = redactor_of(setup, shapes=True)
    audit = Audit(setup.state, audited)
    observer = AuditingObserver(audit, observer, redactor)
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks, contextlib.AsyncExitStack() as stack:
        pinning = Pinning(setup, audit)
        making = Making(setup, tasks, stack, observer, requests, redactor, pinning)
        backends = [await making.backend(server) for server in setup.servers]
        backends += [UnusableBackend(*one) for one in setup.config.unusable.items()]
        backends += _builtins(setup, {backend.name for backend in backends}, observer)
        taken = {backend.name for backend in backends}
        try:
            fetched = _Fetched()
            if setup.fetches:
                fetched = await _fetched(making, taken, (redactor, audited))
                backends += fetched.backends
            if setup.config.cloud is not None:
                from pml.assembly.cloud import opened_cloud  # noqa: PLC0415

                taken = {backend.name for backend in backends}
                backends += await stack.enter_async_context(opened_cloud(setup, taken, observer))
            seconds = setup.config.limits.call_timeout_seconds
            servers = Servers(backends, call_timeout_seconds=seconds)
            if fetched.registry is not None:
                fetched.registry.join(servers)
            pinned = {one.name: one for one in backends if isinstance(one, PinnedBackend)}
            yield Opened(servers, audit, redactor, fetched.capabilities, fetched.registry, pinned)
        except Exception as error:  # noqa: BLE001 - raised below: a task group would wrap it
            failure = error
        finally:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as closing:
                    for backend in {*backends, *making.made}:
                        closing.start_soon(backend.aclose)
            tasks.cancel_scope.cancel()
            remove_temporary(setup, [backend.name for backend in making.made])
            audit.close()
    if failure is not None:
        raise failure


@dataclasses.dataclass(frozen=True, slots=True)
class _Fetched:
    """What registries and the lockfile bring."""

    backends: tuple[Backend, ...] = ()
    capabilities: "Capabilities | None" = None
    registry: "RegistryServers | None" = None


async def _fetched(
    making: Making, taken: Collection[str], redactors: tuple[Redactor, Redactor]
) -> _Fetched:
    """Open what is locked: capabilities, then servers."""
    from pml.assembly.capabilities import opened_capabilities  # noqa: PLC0415
    from pml.assembly.handing import HandedKeys  # noqa: PLC0415
    from pml.assembly.registry import RegistryServers  # noqa: PLC0415
    from pml.backends.capability import Capabilities  # noqa: PLC0415

    setup = making.setup
    opening = opened_capabilities(setup, taken, making.observer)
    opened = await making.stack.enter_async_context(opening)
    backends: list[Backend] = [*opened.usable, *opened.unusable]
    if opened.access is None:
        return _Fetched(tuple(backends))
    keys = HandedKeys(setup.environ, setup.workspace, redactors)
    taken = {*taken, *(backend.name for backend in backends)}
    registry = RegistryServers(making, opened.access, keys, taken)
    seconds = setup.config.limits.call_timeout_seconds
    return _Fetched(
        (*backends, *registry.opened()), Capabilities(opened.usable, seconds), registry
    )


def _builtins(setup: Setup, taken: Collection[str], observer: Observer) -> list[Backend]:
    """Give the built-ins that are switched on; a configured server of the same name stands in."""
    chosen = setup.config.builtins
    found: list[Backend] = []
    level = str(setup.support.best)
    offered: list[Backend] = [*std_backends(setup.workspace, setup.state.parent.parent)]
    offered.append(ShellBackend(lambda command: confined_command(setup, command), level))
    for builtin in offered:
        if chosen is not None and builtin.name not in chosen:
            continue
        if builtin.name in taken:
            words = "a configured server of this name is used instead of the built-in"
            observer.logged(builtin.name, "info", words)
        else:
            found.append(builtin)
    return found


def redactor_of(setup: Setup, *, shapes: bool = False) -> Redactor:
    """Know the keys that servers are given; `shapes` masks what looks like a key, too."""
    return Redactor(known_secrets(setup), shapes=shapes)


def known_secrets(setup: Setup) -> dict[str, str]:
    """Give the keys that servers are given, by name."""
    blocks: list[Mapping[str, str]] = [setup.config.env, setup.keys]
    for server in setup.servers:
        if isinstance(server, StdioServerConfig):
            blocks.append(server.environment)
        else:
            blocks.append(server.headers)
    return secrets_of(*blocks)
