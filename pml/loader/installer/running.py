"""Runs a package manager to its end, confined: it may write the new package and its own cache.

It has the network (the web's ports, and those of the user's mirrors and proxies), as fetching is
its work; a home of its own, with the user's settings of this one program linked into it; and none
of the user's keys. When the caller is cancelled or killed, so is it, with all that it started.
"""

import contextlib
import dataclasses
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import anyio
import anyio.abc

from pml.confinement import (
    Confined,
    Grants,
    Level,
    Places,
    ProcessLimits,
    Program,
    ask_to_end,
    confine,
    end_now,
)
from pml.confinement.ports import WEB_AND_NAMES
from pml.loader.installer.errors import InstallTimeoutError
from pml.loader.installer.settings import Machine, Settings, settings_of
from pml.places import private_folder
from pml.redaction import Redactor, secrets_of

MOST_SECONDS = 600.0
"""One run: large packages over a slow line take minutes."""

_END_SECONDS = 2.0  # after TERM; then it is killed
_MOST_OUTPUT_BYTES = 8 << 20
_LAST_LINES = 40
_LINE_CHARACTERS = 2000
_CHUNK_BYTES = 1 << 16

Tick = Callable[[], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """One run of a package manager."""

    manager: str
    program: Program
    draft: Path
    """Private: `tree` in it is written, `tmp` is for what is passing."""

    package: str
    """For messages."""

    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    reads: tuple[Path, ...] = ()
    """What it reads and runs besides its own program."""

    seconds: float = MOST_SECONDS


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """What came of it."""

    code: int
    output: str
    """Of stdout, for us to read."""

    said: tuple[str, ...]
    """The last lines of both, without secrets: a stranger's words."""


def cache_of(machine: Machine, manager: str) -> Path:
    """Give the folder that a package manager keeps from run to run, its HOME."""
    return machine.packages / "home" / manager


async def run(machine: Machine, job: Job, tick: Tick) -> Ended:
    """Run to the end; `tick` is called with each line that it writes."""
    settings = settings_of(job.manager, machine)
    confined = _confined(machine, job, settings)
    output, lines = bytearray(), deque[str](maxlen=_LAST_LINES)
    with anyio.move_on_after(job.seconds) as bound:
        async with _started(confined) as process, anyio.create_task_group() as tasks:
            tasks.start_soon(_read, process.stdout, _Reader(output, lines, tick))
            tasks.start_soon(_read, process.stderr, _Reader(None, lines, tick))
            await process.wait()
    if bound.cancelled_caught:
        raise InstallTimeoutError(job.package, job.seconds)
    redactor = Redactor(secrets_of(settings.environment), shapes=True)
    said = tuple(redactor.text(line) for line in lines)
    return Ended(process.returncode or 0, output.decode(errors="replace"), said)


def _confined(machine: Machine, job: Job, settings: Settings) -> Confined:
    home = private_folder(cache_of(machine, job.manager))
    _link(home, settings.links)
    tree = job.draft / "tree"
    web = tuple(f"*:{port}" for port in WEB_AND_NAMES)
    grants = Grants(
        fs_read=(*settings.reads, *job.reads),
        fs_write=(tree,),
        net=tuple(dict.fromkeys((*web, *settings.ports))),
        env={**settings.environment, **job.environment},
        spawn=True,
        limits=ProcessLimits(open_files=4096),  # npm keeps many open
    )
    places = Places(tree, home, private_folder(job.draft / "tmp"), machine.user_home)
    best = machine.support.best
    return confine(
        job.program, grants, places, support=machine.support, environ=machine.environ,
        level=best, floor=Level.PARTIAL, allow_off=best is Level.OFF,
    )  # fmt: skip


def _link(home: Path, links: Mapping[str, Path]) -> None:
    """Put the user's settings where the manager looks for them, as they are now."""
    for name, path in links.items():
        link = home / name
        if link.is_symlink() and link.readlink() == path:
            continue
        private_folder(link.parent)
        link.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):  # another process was first
            link.symlink_to(path)


@contextlib.asynccontextmanager
async def _started(confined: Confined) -> AsyncIterator[anyio.abc.Process]:
    process = await anyio.open_process(
        confined.argv,
        stdin=subprocess.DEVNULL,
        env=confined.environment,
        cwd=confined.cwd,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process, confined)


async def _end(process: anyio.abc.Process, confined: Confined) -> None:
    """End it, if it has not ended by itself; the waits are bounded."""
    for ask in (ask_to_end, end_now):
        if process.returncode is None:
            ask(process.pid, confined)
            with anyio.move_on_after(_END_SECONDS):
                await process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            await stream.aclose()


@dataclasses.dataclass(slots=True)
class _Reader:
    output: bytearray | None
    lines: deque[str]
    tick: Tick
    rest: str = ""

    def take(self, chunk: bytes) -> None:
        if self.output is not None and len(self.output) < _MOST_OUTPUT_BYTES:
            self.output += chunk
        *whole, rest = (self.rest + chunk.decode(errors="replace")).split("\n")
        self.rest = rest[-_LINE_CHARACTERS:]
        for line in whole:
            self.lines.append(line[:_LINE_CHARACTERS])
            self.tick()


async def _read(stream: anyio.abc.ByteReceiveStream | None, reader: _Reader) -> None:
    if stream is None:
        raise AssertionError
    with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError,
                             anyio.ClosedResourceError):  # fmt: skip
        while True:
            reader.take(await stream.receive(_CHUNK_BYTES))
