"""Owns the backends of a workspace: whoever opens closes, and closing leaves nothing behind.

Configured servers, local and remote, then the built-ins that no configured server stands in for,
then the capabilities that are locked. None of them is started here.
"""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Collection, Mapping
from typing import Any

import anyio
import anyio.abc

from pml.assembly.capabilities import opened_capabilities
from pml.assembly.cloud import opened_cloud
from pml.assembly.confining import (
    confined,
    confined_command,
    planned_level,
    remove_temporary,
)
from pml.assembly.setup import Setup
from pml.audit import Audit
from pml.backends.capability import Capabilities
from pml.backends.http import HttpBackend
from pml.backends.servers import Servers, UnusableBackend
from pml.backends.shell import ShellBackend
from pml.backends.std import std_backends
from pml.backends.stdio import Patience, StdioBackend
from pml.config import HttpServerConfig, ServerConfig, StdioServerConfig
from pml.errors import PmlError
from pml.ports import Backend, Observer, ServerRequests
from pml.redaction import Redactor, secrets_of


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

    capabilities: Capabilities | None = None
    """Carries out the tools that are programs of a registry, if there are any."""


@contextlib.asynccontextmanager
async def opened_servers(
    setup: Setup, observer: Observer, requests: ServerRequests | None = None
) -> AsyncIterator[Opened]:
    """Give the configured servers, none of them started; stop those that were, all at once."""
    redactor = redactor_of(setup)
    audit = Audit(setup.state, redactor_of(setup, shapes=True))
    observer = AuditingObserver(audit, observer, redactor)
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks, contextlib.AsyncExitStack() as stack:
        making = _Making(setup, tasks, stack, observer, requests, redactor)
        backends = [await making.backend(server) for server in setup.servers]
        backends += [UnusableBackend(*one) for one in setup.config.unusable.items()]
        backends += _builtins(setup, {backend.name for backend in backends}, observer)
        taken = {backend.name for backend in backends}
        try:
            opening = opened_capabilities(setup, taken, observer)
            opened = await stack.enter_async_context(opening)
            backends += [*opened.usable, *opened.unusable]
            taken = {backend.name for backend in backends}
            backends += await stack.enter_async_context(opened_cloud(setup, taken, observer))
            seconds = setup.config.limits.call_timeout_seconds
            servers = Servers(backends, call_timeout_seconds=seconds)
            composer = Capabilities(opened.usable, seconds) if opened.usable else None
            yield Opened(servers, audit, redactor, composer)
        except Exception as error:  # noqa: BLE001 - raised below: a task group would wrap it
            failure = error
        finally:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as closing:
                    for backend in backends:
                        closing.start_soon(backend.aclose)
            tasks.cancel_scope.cancel()
            remove_temporary(setup)
            audit.close()
    if failure is not None:
        raise failure


@dataclasses.dataclass(frozen=True, slots=True)
class _Making:
    """Makes backends, and gives what they need to live."""

    setup: Setup
    tasks: anyio.abc.TaskGroup
    stack: contextlib.AsyncExitStack
    observer: Observer
    requests: ServerRequests | None
    redactor: Redactor

    async def backend(self, server: ServerConfig) -> Backend:
        if isinstance(server, StdioServerConfig):
            return self._local(server)
        try:
            return await self.stack.enter_async_context(self._remote(server))
        except PmlError as problem:
            return UnusableBackend(server.name, problem)

    def _local(self, server: StdioServerConfig) -> StdioBackend:
        limits = self.setup.config.limits
        return StdioBackend(
            server.name,
            lambda: confined(self.setup, server),
            workspace=self.setup.workspace,
            tasks=self.tasks,
            observer=self.observer,
            requests=self.requests,
            patience=Patience(limits.start_timeout_seconds, limits.idle_seconds),
            level=planned_level(self.setup, server),
            mask=self.redactor.text,
        )

    def _remote(self, server: HttpServerConfig) -> HttpBackend:
        limits = self.setup.config.limits
        return HttpBackend(
            server.name,
            server.url,
            server.headers,
            observer=self.observer,
            requests=self.requests,
            idle_seconds=limits.idle_seconds,
            start_timeout_seconds=limits.start_timeout_seconds,
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
