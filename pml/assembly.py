"""Where the rooms are wired: workspace, configuration, sandbox level, backends, audit.

`prepare` reads and checks and starts nothing; `opened_servers` owns the backends: whoever opens
closes, and closing leaves no process and no temporary folder behind.
"""

import contextlib
import dataclasses
import datetime
import json
import os
import shutil
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from pml.audit import Audit
from pml.backends.http import HttpBackend
from pml.backends.servers import Servers, UnusableBackend
from pml.backends.stdio import Patience, StdioBackend
from pml.config import Config, HttpServerConfig, ServerConfig, StdioServerConfig
from pml.config.editing import allow_always
from pml.confinement import (
    Confined,
    Grants,
    Level,
    Places,
    ProcessLimits,
    Program,
    Support,
    confine,
)
from pml.errors import PmlError
from pml.execution.gate import Rights
from pml.execution.workflows import RunStore
from pml.places import emptied_folder, private_folder
from pml.policy import decide
from pml.ports import Backend, Observer, ServerRequests
from pml.redaction import Redactor, secrets_of
from pml.trust import Loaded, trust_always
from pml.trust import store_of as trusted_store
from pml.trust.key import made_key
from pml.workspace import CONFIG_NAME

_ARGUMENT_CHARACTERS = 2000  # of a question


@dataclasses.dataclass(frozen=True, slots=True)
class Setup:
    """All that a gateway of one workspace needs to know before anything starts."""

    workspace: Path
    config: Config
    support: Support
    environ: Mapping[str, str]
    user_home: Path
    state: Path
    """The workspace's folder in the user's state."""

    keys: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    """Keys that were looked up for the configuration, to be masked wherever they appear."""

    loaded: Loaded | None = None
    """What was read of the file, for a verdict of Always to be added to."""

    @property
    def servers(self) -> tuple[ServerConfig, ...]:
        """The servers that can be used, those defined as a registry would included."""
        private = (mcp.server for mcp in self.config.private_mcps)
        return (*self.config.servers, *private)


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
        try:
            seconds = setup.config.limits.call_timeout_seconds
            servers = Servers(backends, call_timeout_seconds=seconds)
            yield Opened(servers, audit, redactor)
        except Exception as error:  # noqa: BLE001 - raised below: a task group would wrap it
            failure = error
        finally:
            with anyio.CancelScope(shield=True):
                async with anyio.create_task_group() as closing:
                    for backend in backends:
                        closing.start_soon(backend.aclose)
            tasks.cancel_scope.cancel()
            _remove_temporary(setup)
            audit.close()
    if failure is not None:
        raise failure


def redactor_of(setup: Setup, *, shapes: bool = False) -> Redactor:
    """Know the keys that servers are given; `shapes` masks what looks like a key, too."""
    blocks: list[Mapping[str, str]] = [setup.config.env, setup.keys]
    for server in setup.servers:
        if isinstance(server, StdioServerConfig):
            blocks.append(server.environment)
        else:
            blocks.append(server.headers)
    return Redactor(secrets_of(*blocks), shapes=shapes)


def rights_of(setup: Setup, opened: Opened, *, yes: bool = False) -> Rights:
    """Say what programs may call here."""
    permissions = setup.config.permissions
    return Rights(
        opened.servers,
        lambda tool: decide(tool, permissions),
        opened.audit,
        remember=lambda tool: _allow_always(setup, tool),
        yes=yes,
    )


def _allow_always(setup: Setup, tool: str) -> None:
    """Add a tool to `allow`, in the file and in what is trusted of it."""
    loaded = setup.loaded
    if loaded is None:
        return
    allow_always(loaded.folder / CONFIG_NAME, tool, loaded.content)
    store = trusted_store(loaded.folder, setup.environ, setup.user_home)
    trust_always(store, loaded, tool, datetime.datetime.now(datetime.UTC))


def store_of(setup: Setup) -> RunStore:
    """Give the workspace's suspended runs."""
    return RunStore(setup.state / "runs", made_key(setup.state.parent.parent))


class QuestionWords:
    """How questions are put: arguments as JSON, capped; the level that holds the server."""

    def __init__(self, opened: Opened) -> None:
        """Know the servers and their keys."""
        self._servers = opened.servers
        self._redactor = opened.redactor

    def arguments(self, arguments: Mapping[str, Any]) -> str:
        """Give arguments as text."""
        text = json.dumps(self._redactor.value(arguments), ensure_ascii=False)
        more = len(text) - _ARGUMENT_CHARACTERS
        return f"{text[:_ARGUMENT_CHARACTERS]}… ({more} more characters)" if more > 0 else text

    def level(self, tool: str) -> str:
        """Give the level of the server's OS sandbox."""
        name = tool.partition(":")[0]
        levels = {status.name: str(status.level) for status in self._servers.status()}
        return levels.get(name, "")


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


def planned_level(setup: Setup, server: StdioServerConfig) -> Level:
    """Say at which level a server would be started."""
    return Level.OFF if server.sandbox.mode == "off" else setup.support.best


def confined(setup: Setup, server: StdioServerConfig) -> Confined:
    """Say how to start a server with no more than it was granted; raises why it must not be."""
    box = server.sandbox
    grants = Grants(
        fs_read=box.fs_read,
        fs_write=box.fs_write,
        net=box.net,
        env=server.environment,
        spawn=box.spawn,
        limits=_limits(server),
    )
    folder = _folder(setup, server.name)
    places = Places(
        setup.workspace,
        private_folder(folder / "home"),
        emptied_folder(folder / "tmp" / str(os.getpid())),
        setup.user_home,
    )
    return confine(
        Program(server.command, tuple(server.args)),
        grants,
        places,
        support=setup.support,
        environ=setup.environ,
        level=Level.OFF if box.mode == "off" else None,
        floor=Level(box.require or setup.config.require),
        allow_off=box.mode == "off",
    )


def _limits(server: StdioServerConfig) -> ProcessLimits:
    given = server.sandbox.limits
    chosen = {
        "memory_bytes": None if given.memory_mb is None else given.memory_mb << 20,
        "processes": given.procs,
        "open_files": given.open_files,
    }
    return ProcessLimits(**{name: value for name, value in chosen.items() if value is not None})


def _folder(setup: Setup, server: str) -> Path:
    return setup.state / "servers" / server


def _remove_temporary(setup: Setup) -> None:
    for server in setup.servers:
        own = _folder(setup, server.name) / "tmp" / str(os.getpid())
        shutil.rmtree(own, ignore_errors=True)
