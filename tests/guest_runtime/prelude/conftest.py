"""One fixture: a program run in a fresh sandbox, and what it returned and logged."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox_host import Call, Completed, Mount, Sandbox

Run = Callable[..., Awaitable[Completed]]


async def no_tools(call: Call) -> Any:
    raise AssertionError(call)


@pytest.fixture
def run() -> Run:
    async def run(code: str, *mounts: Mount) -> Completed:
        async with Sandbox(mounts=mounts) as sandbox:
            outcome = await sandbox.run(code, host=no_tools)
        assert isinstance(outcome, Completed), outcome
        return outcome

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Mount:
    (tmp_path / "hello.txt").write_text("héllo", encoding="utf-8")
    return Mount(tmp_path, writable=True, guest_path="/data")
