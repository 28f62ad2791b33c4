"""One confined child process: its pipes, its last words, its end.

Opening starts it; leaving stops it and all that it started: stdin closed, TERM, KILL, every wait
bounded. Together they stay under two seconds, so that ending the gateway never takes longer.
"""

import contextlib
import os
import signal
from collections import deque
from collections.abc import AsyncIterator

import anyio
import anyio.abc

from pml.backends.errors import ServerStartError
from pml.backends.pipe import Pipe
from pml.confinement import Confined, ask_to_end, end_now

CLOSED_SECONDS = 0.7
"""After its stdin is closed, a server may finish what it does."""

ASKED_SECONDS = 0.6
"""After TERM. Then it is killed."""

KILLED_SECONDS = 2.0
"""For the kernel to take a killed process away; longer only if a disk hangs."""

_DRAIN_SECONDS = 0.5  # for what an ended process left in its pipes
_LAST_LINES = 20
_LINE_CHARACTERS = 2000
_CHUNK_BYTES = 1 << 16
_STDERR_BURST_BYTES = 1 << 20  # read at once; after that a flood waits
_STDERR_REST_SECONDS = 0.05


class ServerProcess:
    """A running server."""

    def __init__(self, process: anyio.abc.Process, stdin: Pipe, confined: Confined) -> None:
        """Hold a process that was started."""
        if process.stdout is None or process.stderr is None:
            raise AssertionError
        self.stdin = stdin
        self.stdout = process.stdout
        self.confined = confined
        self._stderr = process.stderr
        self._process = process
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._stopping = False
        self.stderr_ended = anyio.Event()

    @property
    def pid(self) -> int:
        """The direct child: bubblewrap, the supervisor, or the server itself."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """How it ended, if it has."""
        return self._process.returncode

    @property
    def last_words(self) -> tuple[str, ...]:
        """What it last wrote to stderr."""
        return tuple(self._lines)

    def end_reason(self) -> str:
        """Say how it ended, as far as that is known."""
        code = self._process.returncode
        if code is None:
            return "it closed its output"
        if code < 0 or code > 128:  # noqa: PLR2004 - what shells and supervisors give for a signal
            number = -code if code < 0 else code - 128
            with contextlib.suppress(ValueError):
                return f"killed by {signal.Signals(number).name}"
        return f"exit code {code}"

    async def wait(self, seconds: float) -> bool:
        """Wait for its end, for so long; say whether it came."""
        with anyio.move_on_after(seconds):
            await self._process.wait()
        return self._process.returncode is not None

    async def read_stderr(self) -> None:
        """Keep its last lines; a flood is read slowly, so that it costs the flooder."""
        tail, burst = "", 0
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError,
                                 anyio.ClosedResourceError, OSError):  # fmt: skip
            while True:
                chunk = await self._stderr.receive(_CHUNK_BYTES)
                *lines, tail = (tail + chunk.decode(errors="replace")).split("\n")
                self._lines.extend(line[:_LINE_CHARACTERS] for line in lines[-_LAST_LINES:])
                tail = tail[-_LINE_CHARACTERS:]
                burst += len(chunk)
                if burst > _STDERR_BURST_BYTES and not self._stopping:
                    burst = 0
                    await anyio.sleep(_STDERR_REST_SECONDS)
        if tail:
            self._lines.append(tail)
        self.stderr_ended.set()

    async def stop(self) -> None:
        """End it with its whole tree. Safe to call when it has ended by itself."""
        self._stopping = True
        with anyio.CancelScope(shield=True):
            self.stdin.close()
            if not await self.wait(CLOSED_SECONDS):
                ask_to_end(self.pid, self.confined)
                if not await self.wait(ASKED_SECONDS):
                    end_now(self.pid, self.confined)
                    await self.wait(KILLED_SECONDS)
            with anyio.move_on_after(_DRAIN_SECONDS):
                await self._drain()
            for stream in (self.stdout, self._stderr):
                await stream.aclose()

    async def _drain(self) -> None:
        """Read what is left in the pipes of an ended process: only at their end are they freed."""
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            while True:
                await self.stdout.receive(_CHUNK_BYTES)
        await self.stderr_ended.wait()


@contextlib.asynccontextmanager
async def opened(name: str, confined: Confined) -> AsyncIterator[ServerProcess]:
    """Start a process; stop it on the way out."""
    theirs, ours = os.pipe()
    stdin = Pipe(ours)
    try:
        process = await anyio.open_process(
            confined.argv,
            stdin=theirs,
            env=confined.environment,
            cwd=confined.cwd,
            start_new_session=True,
        )
    except OSError as error:
        stdin.close()
        raise ServerStartError(name, error.strerror or str(error)) from None
    finally:
        os.close(theirs)
    server = ServerProcess(process, stdin, confined)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.read_stderr)
            try:
                yield server
            finally:
                await server.stop()
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(KILLED_SECONDS):
            await process.wait()
