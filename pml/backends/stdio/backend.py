"""One local server and its life: started by the first call, shared by all, stopped when idle.

Each life of the process is one task: start, handshake, serve, end. Callers that come while it
starts wait for the same start; a caller that is cancelled takes nothing from the others. A crash
fails what was under way at once, the next start waits longer each time, and after too many crashes
in a while nothing starts the server again.
"""

import contextlib
import dataclasses
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

from pml.backends.errors import (
    BackendError,
    ServerEndedError,
    ServerGivenUpError,
    ServerStartError,
)
from pml.backends.jsonrpc import Connection
from pml.backends.stdio.process import ServerProcess, opened
from pml.backends.stdio.session import Roles, Session, notification_handler, shake_hands
from pml.confinement import Confined
from pml.errors import PmlError
from pml.model import Listing, ServerState, ServerStatus
from pml.ports import Observer, OnProgress, ServerRequests

_LOOK_SECONDS = 0.05  # while it starts or is used beyond its idle time


@dataclasses.dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often, for one server."""

    start_seconds: float = 30.0
    """From spawning to the answer to `initialize`."""

    idle_seconds: float = 300.0
    """Unused for so long, it is stopped."""

    backoff_seconds: tuple[float, ...] = (0.2, 1.0, 2.0, 4.0)
    """Waited before a start after the first, second, ... crash in the window."""

    crashes: int = 5
    """In one window; then it is given up."""

    window_seconds: float = 300.0
    last_words_seconds: float = 0.5
    """After its output ended, for its exit code and the rest of its stderr."""


class _Life:
    """One start of the process, and whoever waits for it."""

    def __init__(self) -> None:
        self.settled = anyio.Event()
        self.over = anyio.Event()
        self.closing = anyio.Event()
        self.session: Session | None = None
        self.error: PmlError | None = None
        self.process: ServerProcess | None = None
        self.listing: Listing | None = None
        self.changes = 0  # how often it said that its tools changed
        self.listed_changes = -1  # as it had said when they were last asked for
        self.users = 0

    def changed(self) -> None:
        self.changes += 1

    def current_listing(self) -> Listing | None:
        return self.listing if self.listed_changes == self.changes else None

    def is_usable(self) -> bool:
        return not self.closing.is_set() and not self.over.is_set() and self.error is None


class StdioBackend:
    """Implements `Backend` for a command. Its tasks live in the given task group."""

    def __init__(  # noqa: PLR0913 - all by name, and each a part of its own
        self,
        name: str,
        confine: Callable[[], Confined],
        *,
        workspace: Path,
        tasks: anyio.abc.TaskGroup,
        observer: Observer,
        requests: ServerRequests | None = None,
        patience: Patience | None = None,
        level: str = "",
        mask: Callable[[str], str] = str,
    ) -> None:
        """Start nothing. `confine` gives what to start, or raises why it must not be started.

        `mask` takes secrets out of what the server wrote to stderr before it is shown.
        """
        self._name = name
        self._confine = confine
        self._tasks = tasks
        self._observer = observer
        self._patience = patience or Patience()
        self._roles = Roles(name, workspace, requests)
        self._level = level
        self._mask = mask
        self._life: _Life | None = None
        self._crashes: deque[float] = deque()
        self._error: PmlError | None = None
        self._listed = anyio.Lock()
        self._used = 0.0
        self._closed = False

    @property
    def name(self) -> str:
        """The server's name in the configuration."""
        return self._name

    async def list_tools(self) -> Listing:
        """Give the tools; asked for once, and again after the server said that they changed.

        What an earlier process listed says nothing of the next: it may be another program by now.
        """
        life = self._life
        listing = life.current_listing() if life is not None and life.is_usable() else None
        if listing is not None:
            return listing
        async with self._listed:
            life = await self._alive()
            listing = life.current_listing()
            if listing is None:
                changes = life.changes  # what it says from now on, the list may not tell
                with self._using(life) as session:
                    listing = await session.list_tools(self._patience.start_seconds)
                life.listing, life.listed_changes = listing, changes
            return listing

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        timeout_seconds: float,
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:
        """Call a tool. What happened at the server before a failure is not known, nor repeated."""
        life = self._life
        if life is None or life.session is None or not life.is_usable():
            life = await self._alive()
        assert life.session is not None  # noqa: S101 - `_alive` gives no other
        life.users += 1  # what `_using` does, which takes as long as a tenth of a call
        try:
            return await life.session.call_tool(tool, arguments, timeout_seconds, on_progress)
        finally:
            life.users -= 1
            self._used = time.monotonic()

    def caution(self, tool: str) -> None:
        """No tool of a server is held to be riskier than another: its annotations are its own."""

    def status(self) -> ServerStatus:
        """Say what is known."""
        process = self._life.process if self._life else None
        confined = process.confined if process else None
        session = self._life.session if self._life else None
        listing = self._life.listing if self._life else None
        return ServerStatus(
            self._name,
            "stdio",
            self._state(),
            confined.level if confined else self._level,
            pid=process.pid if process else None,
            tools=len(listing.tools) if listing else None,
            protocol=session.protocol if session else None,
            error=self._error.message if self._error else None,
            missing=confined.missing if confined else (),
        )

    async def aclose(self) -> None:
        """Stop the process and refuse all that comes."""
        self._closed = True
        if self._life is not None:
            self._life.closing.set()
            with anyio.CancelScope(shield=True):
                await self._life.over.wait()

    @contextlib.contextmanager
    def _using(self, life: _Life) -> Iterator[Session]:
        """Hold the process while a request is under way."""
        assert life.session is not None  # noqa: S101 - `_alive` gives no other
        life.users += 1
        try:
            yield life.session
        finally:
            life.users -= 1
            self._used = time.monotonic()

    def _state(self) -> ServerState:
        life = self._life
        if life is not None and life.is_usable():
            return ServerState.RUNNING if life.session else ServerState.STARTING
        if isinstance(self._error, ServerGivenUpError):
            return ServerState.GIVEN_UP
        return ServerState.FAILED if self._error else ServerState.IDLE

    async def _alive(self) -> _Life:
        """Give a life with a session: the one that runs, or a new one."""
        while True:
            life = self._life
            if life is None or not life.is_usable():
                life = self._begin(life)
            await life.settled.wait()
            if life.error is not None:
                raise life.error
            if life.session is not None and life.is_usable():
                return life

    def _begin(self, before: _Life | None) -> _Life:
        if self._closed:
            raise ServerEndedError(self._name, "it was closed")
        if isinstance(self._error, ServerGivenUpError):
            raise self._error
        self._life = life = _Life()
        self._tasks.start_soon(self._live, life, before)
        return life

    async def _live(self, life: _Life, before: _Life | None) -> None:
        """Be one life, from start to end; what goes wrong is told to those who wait for it."""
        try:
            if before is not None:
                await before.over.wait()
            await self._pause(life)
            if not life.closing.is_set():
                await self._start_and_serve(life)
        except PmlError as error:
            life.error = self._error = error
        except Exception as error:  # noqa: BLE001 - one server must not take the others along
            life.error = self._error = ServerStartError(self._name, str(error))
        except BaseException:
            life.error = ServerEndedError(self._name, "it was closed")
            raise
        finally:
            life.settled.set()
            life.over.set()

    async def _pause(self, life: _Life) -> None:
        """Wait after crashes, longer each time."""
        self._forgive()
        if self._crashes:
            waits = self._patience.backoff_seconds
            wait = waits[min(len(self._crashes), len(waits)) - 1]
            with anyio.move_on_after(self._crashes[-1] + wait - time.monotonic()):
                await life.closing.wait()

    def _forgive(self) -> None:
        """Forget crashes that were long ago."""
        now = time.monotonic()
        while self._crashes and now - self._crashes[0] > self._patience.window_seconds:
            self._crashes.popleft()

    async def _start_and_serve(self, life: _Life) -> None:
        confined = await anyio.to_thread.run_sync(self._confine)  # it may hash a whole package
        async with opened(self._name, confined) as process:
            life.process = process
            self._observer.started(self._name, {**confined.record(), "pid": process.pid})
            connection = Connection(
                self._name,
                process.stdout,
                process.stdin,
                answer=self._roles.answer,
                notified=notification_handler(life.changed, self._log),
                junk=lambda text: self._log("warning", text),
            )
            async with connection, anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch_end, life, process, connection)
                tasks.start_soon(self._shake_hands, life, connection)
                await self._until_unused(life)
                tasks.cancel_scope.cancel()
        if life.error is None:
            self._observer.stopped(self._name, "closed" if self._closed else "idle")

    async def _shake_hands(self, life: _Life, connection: Connection) -> None:
        try:
            session = await shake_hands(
                self._name, connection, self._roles, self._patience.start_seconds
            )
        except ServerEndedError:
            return  # it died: `_watch_end` has said how
        except BackendError as error:
            self._fail(life, self._as_start_error(error, life))
            return
        life.session = session
        self._error = None
        self._used = time.monotonic()
        self._observer.ready(self._name)
        life.settled.set()

    def _as_start_error(self, error: BackendError, life: _Life) -> BackendError:
        if isinstance(error, ServerStartError):
            return error
        return ServerStartError(self._name, error.message, self._last_words(life.process))

    def _last_words(self, process: ServerProcess | None) -> list[str]:
        return [self._mask(line) for line in process.last_words] if process else []

    async def _watch_end(
        self, life: _Life, process: ServerProcess, connection: Connection
    ) -> None:
        """When its output ends by itself, fail all that is under way, with its last words."""
        await connection.ended.wait()
        if life.closing.is_set():
            return
        with anyio.move_on_after(self._patience.last_words_seconds):
            await process.stderr_ended.wait()
            await process.wait(self._patience.last_words_seconds)
        kind = ServerEndedError if life.session else ServerStartError
        error = kind(self._name, process.end_reason(), self._last_words(process))
        connection.fail(error)
        self._fail(life, error)

    def _fail(self, life: _Life, error: BackendError) -> None:
        """End a life as a crash, once."""
        if life.error is not None:
            return
        self._forgive()
        self._crashes.append(time.monotonic())
        if len(self._crashes) >= self._patience.crashes:
            self._error = ServerGivenUpError(self._name, len(self._crashes), error.message)
        else:
            self._error = error
        life.error = self._error
        self._observer.stopped(self._name, error.message)
        life.closing.set()
        life.settled.set()

    async def _until_unused(self, life: _Life) -> None:
        """Serve until someone closes it or nobody has used it for long."""
        while not life.closing.is_set():
            left = self._used + self._patience.idle_seconds - time.monotonic()
            if life.session and left <= 0 and not life.users:
                life.closing.set()  # before anything else: the next caller begins a new life
                return
            with anyio.move_on_after(max(left, _LOOK_SECONDS)):
                await life.closing.wait()

    def _log(self, level: str, text: str) -> None:
        self._observer.logged(self._name, level, text)
