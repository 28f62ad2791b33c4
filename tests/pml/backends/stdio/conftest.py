"""A real server process behind a real backend, at the level without an OS sandbox.

What the levels hold back has tests of its own; here it is the conversation that counts.
"""

import contextlib
import dataclasses
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from pml.backends.stdio import Patience, StdioBackend
from pml.confinement import Confined, Grants, Level, Places, Program, confine, probe
from pml.ports import ServerRequests

HERE = Path(__file__).parent


@dataclasses.dataclass
class Witness:
    """An `Observer` that remembers."""

    starts: list[Mapping[str, Any]] = dataclasses.field(default_factory=list)
    logs: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    ends: list[str] = dataclasses.field(default_factory=list)

    def started(self, server: str, record: Mapping[str, Any]) -> None:
        self.starts.append(record)

    def ready(self, server: str) -> None:
        pass

    def logged(self, server: str, level: str, text: str) -> None:
        self.logs.append((level, text))

    def stopped(self, server: str, reason: str) -> None:
        self.ends.append(reason)


@dataclasses.dataclass
class Subject:
    backend: StdioBackend
    witness: Witness

    async def text(self, **arguments: Any) -> str:
        result = await self.backend.call_tool("good", arguments, timeout_seconds=20)
        words: str = result["content"][0]["text"]
        return words


Open = Callable[..., contextlib.AbstractAsyncContextManager[Subject]]


@pytest.fixture
def anyio_backend() -> str:
    """Only asyncio: its processes are what `pml` runs on."""
    return "asyncio"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    folders = {}
    for name in ("workspace", "home", "tmp", "user"):
        folders[name] = tmp_path / name
        folders[name].mkdir()
    return Places(
        folders["workspace"].resolve(),
        folders["home"].resolve(),
        folders["tmp"].resolve(),
        folders["user"].resolve(),
    )


@pytest.fixture
def start(places: Places) -> Open:
    """Open a backend for a kind of bad server; it must leave no process behind."""
    support = probe(os.environ)

    def confined(kind: str) -> Confined:
        program = Program(sys.executable, (str(HERE / "bad_server.py"), kind))
        return confine(
            program, Grants(spawn=True), places, support=support, environ=os.environ,
            level=Level.OFF, floor=Level.OFF, allow_off=True,
        )  # fmt: skip

    @contextlib.asynccontextmanager
    async def open_one(
        kind: str, patience: Patience | None = None, requests: ServerRequests | None = None
    ) -> AsyncIterator[Subject]:
        witness = Witness()
        async with anyio.create_task_group() as tasks:
            backend = StdioBackend(
                "bad", lambda: confined(kind), workspace=places.workspace, tasks=tasks,
                observer=witness, requests=requests, patience=patience,
            )  # fmt: skip
            try:
                with anyio.fail_after(60):
                    yield Subject(backend, witness)
            finally:
                await backend.aclose()

    return open_one
