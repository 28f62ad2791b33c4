"""Keeps a session with one server: opens it on first use, shares it, lets it rest, renews it.

Each session is owned by one task from its opening to its end. Callers wait for the owner's one
attempt, then make their requests in their own tasks.
"""

import contextlib
import dataclasses
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeVar

import anyio
import anyio.abc

from pml import __version__
from pml.backends.errors import (
    BackendError,
    CallTimeoutError,
    ServerEndedError,
    ServerStartError,
)
from pml.backends.http import calls
from pml.backends.http.addresses import Endpoint
from pml.backends.http.answering import Answering
from pml.backends.http.dialing import Resolver, resolved
from pml.backends.http.headers import Headers
from pml.backends.http.hearing import Hearing
from pml.backends.http.judging import SessionLostError
from pml.backends.http.listening import listen
from pml.backends.http.opening import open_session
from pml.backends.http.session import Session
from pml.backends.http.wire import ExchangeError, Wire
from pml.model import Listing, ServerState
from pml.ports import Observer, OnProgress

Result = TypeVar("Result")
Operation = Callable[[Session], Awaitable[Result]]


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What a connection is made from; checked by whoever builds it."""

    endpoint: Endpoint
    headers: Headers
    answering: Answering
    observer: Observer | None
    idle_seconds: float
    start_timeout_seconds: float
    resolver: Resolver | None = None
    tls: ssl.SSLContext | None = None


class _Attempt:
    """One opening of a session, and everybody who waits for it."""

    def __init__(self) -> None:
        self._settled = anyio.Event()
        self._session: Session | None = None
        self._error: BackendError | None = None

    def settle(self, outcome: Session | BackendError) -> None:
        """Tell everybody; the first time counts."""
        if self._settled.is_set():
            return
        if isinstance(outcome, Session):
            self._session = outcome
        else:
            self._error = outcome
        self._settled.set()

    async def session(self) -> Session:
        await self._settled.wait()
        if self._session is None:
            raise self._error or RuntimeError
        return self._session


class Connection:
    """The one connection of a backend."""

    def __init__(self, settings: Settings, tasks: anyio.abc.TaskGroup) -> None:
        """Open nothing; `tasks` outlives the connection."""
        self._settings = settings
        self._tasks = tasks
        self._name = settings.endpoint.server
        self._attempt: _Attempt | None = None
        self._session: Session | None = None
        self._owned: dict[Session, anyio.Event] = {}
        self._users = 0
        self._last_used = 0.0
        self._closed = False
        self.error: str | None = None
        self.tools: int | None = None

    @property
    def state(self) -> ServerState:
        """Where it is in its life."""
        if self._attempt is not None:
            return ServerState.STARTING
        if self._session is not None and not self._session.ended.is_set():
            return ServerState.RUNNING
        return ServerState.IDLE if self.error is None else ServerState.FAILED

    @property
    def protocol(self) -> str | None:
        """The version that was last agreed on."""
        return None if self._session is None else self._session.version

    async def list_tools(self) -> Listing:
        """Give the tools, within the time that starting may take."""
        seconds = self._settings.start_timeout_seconds
        listing = await self._within(seconds, "tools/list", calls.current_listing)
        self.tools = len(listing.tools)
        return listing

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        timeout_seconds: float,
        on_progress: OnProgress | None,
    ) -> Mapping[str, Any]:
        """Call a tool."""

        async def once(session: Session) -> Mapping[str, Any]:
            return await calls.call(session, tool, arguments, on_progress)

        return await self._within(timeout_seconds, tool, once)

    async def aclose(self) -> None:
        """End every session and wait until all is closed, which takes seconds at most."""
        self._closed = True
        owned = dict(self._owned)
        for session in owned:
            session.end("it was closed")
        for done in owned.values():
            await done.wait()

    async def _within(self, seconds: float, what: str, operation: Operation[Result]) -> Result:
        """Do something with the session; once more, on a new one, if the server lost it."""
        with self._used(), self._translated():
            try:
                return await self._bounded(seconds, what, operation)
            except SessionLostError:
                return await self._bounded(seconds, what, operation)

    async def _bounded(self, seconds: float, what: str, operation: Operation[Result]) -> Result:
        session = await self._opened()
        with anyio.move_on_after(seconds):
            try:
                return await operation(session)
            except SessionLostError as lost:
                session.retire(lost.reason)
                raise
        raise CallTimeoutError(self._name, what, seconds)

    async def _opened(self) -> Session:
        """Give the session, opening one if there is none that can be used."""
        if self._closed:
            raise ServerEndedError(self._name, "it was closed")
        session = self._session
        if session is not None and session.doubtful and self._users == 1:
            session.retire("the server may have forgotten the session")
        if session is not None and not session.ended.is_set():
            return session
        if self._attempt is None:
            self._attempt = _Attempt()
            self._tasks.start_soon(self._owned_session, self._attempt)
        return await self._attempt.session()

    async def _owned_session(self, attempt: _Attempt) -> None:
        """Own one session, from its opening to its end."""
        try:
            async with anyio.create_task_group() as tasks, self._new_session(tasks) as session:
                try:
                    await self._open(session)
                except BackendError as error:
                    self.error = error.message
                    attempt.settle(error)
                else:
                    self._attempt, self._session, self.error = None, session, None
                    attempt.settle(session)
                    await self._keep(session, tasks)
                finally:
                    if self._attempt is attempt:
                        self._attempt = None
                    tasks.cancel_scope.cancel()
        finally:
            # Only if we were cancelled: whoever waits must not wait for ever.
            attempt.settle(ServerEndedError(self._name, "it was closed"))

    @contextlib.asynccontextmanager
    async def _new_session(self, tasks: anyio.abc.TaskGroup) -> AsyncIterator[Session]:
        settings, done = self._settings, anyio.Event()
        resolver = settings.resolver or resolved
        wire = Wire(settings.endpoint, settings.headers, resolver=resolver, tls=settings.tls)
        hearing = Hearing(settings.answering, settings.observer, tasks)
        session = Session(wire, hearing, tasks, {"name": "pml", "version": __version__})
        self._owned[session] = done
        try:
            yield session
        finally:
            session.end("it was closed")
            await session.close()
            del self._owned[session]
            done.set()

    async def _open(self, session: Session) -> None:
        seconds = self._settings.start_timeout_seconds
        try:
            with anyio.move_on_after(seconds):
                return await open_session(session)
        except ExchangeError as error:
            raise ServerStartError(self._name, error.reason) from error
        raise ServerStartError(self._name, f"it did not answer within {seconds:g} s")

    async def _keep(self, session: Session, tasks: anyio.abc.TaskGroup) -> None:
        observer = self._settings.observer
        if observer is not None:
            facts = {"host": self._settings.endpoint.authority, "protocol": session.version}
            observer.started(self._name, facts)
            observer.ready(self._name)
        self._last_used = anyio.current_time()
        tasks.start_soon(listen, session)
        tasks.start_soon(self._rest, session)
        try:
            await session.drained()
        finally:
            if observer is not None:
                observer.stopped(self._name, session.end_reason or "it was closed")

    async def _rest(self, session: Session) -> None:
        """Retire a session that nobody has used for a while."""
        idle_seconds = self._settings.idle_seconds
        while True:
            used = anyio.current_time() if self._users else self._last_used
            left = used + idle_seconds - anyio.current_time()
            if left <= 0:
                break
            await anyio.sleep(left)
        session.retire("nobody used it")

    @contextlib.contextmanager
    def _used(self) -> Iterator[None]:
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self._last_used = anyio.current_time()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except ExchangeError as error:
            raise ServerEndedError(self._name, error.reason) from error
