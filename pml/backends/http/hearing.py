"""What a server says besides its answers: progress, log messages, changes, and questions.

Both the streams of calls and the listening stream bring it here. A question is answered in a task
of its own, so that the stream on which it came is read on meanwhile; a server that asks too much
at once is not answered. Nothing here raises.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import anyio
import anyio.abc

from pml.backends.errors import BackendError
from pml.backends.http.answering import Answering, NotAnsweredError
from pml.backends.http.messages import Message, log_in, params_of, progress_in
from pml.backends.http.wire import ExchangeError
from pml.ports import Observer, OnProgress

MOST_QUESTIONS = 16
"""Of a server, under way at once: a human answers one."""

Post = Callable[[Mapping[str, Any]], Awaitable[None]]


class Hearing:
    """The ears of one session."""

    def __init__(
        self, answering: Answering, observer: Observer | None, tasks: anyio.abc.TaskGroup
    ) -> None:
        """Keep who answers and who listens; `tasks` outlives every question."""
        self.answering = answering
        self.changes = 0
        """How often the server's tools have changed, or may have."""

        self.takes_questions = True
        """Not in the stateless era, in which a server has no requests."""

        self._observer = observer
        self._tasks = tasks
        self._progress: dict[int, OnProgress] = {}
        self._questions: dict[int | str, anyio.CancelScope] = {}

    @property
    def wants_logs(self) -> bool:
        """Whether anybody hears log messages."""
        return self._observer is not None

    @contextlib.contextmanager
    def progress(self, token: int, on_progress: OnProgress | None) -> Iterator[None]:
        """Pass on the progress of one call while it is under way."""
        if on_progress is not None:
            self._progress[token] = on_progress
        try:
            yield
        finally:
            self._progress.pop(token, None)

    def heard(self, message: Message, post: Post) -> None:
        """Take a message that is no answer; `post` takes the answer to a question."""
        method, params = message.get("method"), params_of(message)
        if "id" in message:
            self._asked(message, post)
        elif method == "notifications/progress":
            self._progressed(params)
        elif method == "notifications/message" and self._observer is not None:
            self._observer.logged(self.answering.server, *log_in(params))
        elif method == "notifications/tools/list_changed":
            self.changes += 1
        elif method == "notifications/cancelled":
            self._withdrawn(params.get("requestId"))

    def _progressed(self, params: Message) -> None:
        token, progress = params.get("progressToken"), progress_in(params)
        if isinstance(token, int) and token in self._progress and progress is not None:
            self._progress[token](progress)

    def _asked(self, message: Message, post: Post) -> None:
        theirs = message["id"]
        if not self.takes_questions or "method" not in message:
            return
        if not isinstance(theirs, int | str) or theirs in self._questions:
            return
        if len(self._questions) < MOST_QUESTIONS:
            self._questions[theirs] = anyio.CancelScope()
            self._tasks.start_soon(self._answered, theirs, message, post)

    async def _answered(self, theirs: int | str, message: Message, post: Post) -> None:
        try:
            with self._questions[theirs], contextlib.suppress(ExchangeError, BackendError):
                outcome = await self._outcome(message)
                await post({"jsonrpc": "2.0", "id": theirs, **outcome})
        finally:
            del self._questions[theirs]

    async def _outcome(self, message: Message) -> dict[str, Any]:
        try:
            result = await self.answering.answer(message["method"], params_of(message))
        except NotAnsweredError as error:
            return {"error": {"code": error.code, "message": error.words}}
        return {"result": dict(result)}

    def _withdrawn(self, theirs: object) -> None:
        if isinstance(theirs, int | str) and theirs in self._questions:
            self._questions[theirs].cancel()
