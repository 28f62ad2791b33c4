"""Host functions that the tests answer calls with, and a program run in a fresh sandbox."""

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from sandbox_host import SUSPEND, Call, Host, Outcome, Sandbox, ToolError

Run = Callable[..., Awaitable[Outcome]]


async def answer(call: Call) -> Any:
    """Add, fail, wait or suspend, as the tool's name says."""
    match call.tool:
        case "math:add":
            return {"sum": call.args["a"] + call.args["b"]}
        case "wait:seconds":
            await anyio.sleep(call.args["seconds"])
            return call.args["seconds"]
        case "echo:args":
            return call.args
        case "ask:human":
            return SUSPEND
    raise ToolError(f"no tool {call.tool}", code="unknown_tool", data={"asked": call.tool})


@pytest.fixture
def host() -> Host:
    return answer


@pytest.fixture
def run(host: Host) -> Run:
    async def run(code: str, **options: Any) -> Outcome:
        given = {name: options.pop(name) for name in ("args", "call") if name in options}
        async with Sandbox(**options) as sandbox:
            return await sandbox.run(code, host=host, **given)

    return run
