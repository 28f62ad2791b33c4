"""Makes the backends of servers, and gives them what they need to live."""

import contextlib
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio.abc

from pml.assembly.confining import confined, planned_level
from pml.assembly.pinning import Pinning
from pml.assembly.setup import Setup
from pml.backends.servers import UnusableBackend
from pml.backends.stdio import Patience, StdioBackend
from pml.config import HttpServerConfig, ServerConfig, StdioServerConfig
from pml.confinement import Confined
from pml.errors import PmlError
from pml.ports import Backend, Observer, ServerRequests
from pml.redaction import Redactor

if TYPE_CHECKING:
    from pml.backends.http import HttpBackend


@dataclasses.dataclass(frozen=True, slots=True)
class Making:
    """Where backends live, who hears of them, and what is masked."""

    setup: Setup
    tasks: anyio.abc.TaskGroup
    stack: contextlib.AsyncExitStack
    observer: Observer
    requests: ServerRequests | None
    redactor: Redactor
    pinning: Pinning
    made: list[Backend] = dataclasses.field(default_factory=list)
    """What was made: whoever made this closes it."""

    async def backend(self, server: ServerConfig) -> Backend:
        """Make the backend of a configured server; it is not started."""
        if isinstance(server, StdioServerConfig):
            return self.pinning.pinned(
                server, self.local(server, lambda: confined(self.setup, server))
            )
        try:
            made = await self.stack.enter_async_context(self._remote(server))
        except PmlError as problem:
            return UnusableBackend(server.name, problem)
        self.made.append(made)
        return self.pinning.pinned(server, made)

    def local(self, server: StdioServerConfig, confine: Callable[[], Confined]) -> StdioBackend:
        """Make the backend of a process, which `confine` says how to start."""
        limits = self.setup.config.limits
        made = StdioBackend(
            server.name,
            confine,
            workspace=self.setup.workspace,
            tasks=self.tasks,
            observer=self.observer,
            requests=self.requests,
            patience=Patience(limits.start_timeout_seconds, limits.idle_seconds),
            level=planned_level(self.setup, server),
            mask=self.redactor.text,
        )
        self.made.append(made)
        return made

    def _remote(self, server: HttpServerConfig) -> "HttpBackend":
        from pml.backends.http import HttpBackend  # noqa: PLC0415 - 30 ms for those without

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
