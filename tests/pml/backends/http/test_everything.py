"""Against the reference server of the protocol's authors, on Node."""

import socket
import subprocess
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from pml.backends.errors import ServerStartError
from pml.model import Progress


@pytest.fixture(scope="session")
def everything(installed: Any) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [*installed.node("@modelcontextprotocol/server-everything"), "streamableHttp"],
        env={"PORT": str(port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
async def backend(connect: Any, everything: str, human: Any, witness: Any) -> Any:
    backend = await connect(everything, requests=human, observer=witness)
    with anyio.fail_after(20):
        while True:
            try:
                await backend.list_tools()
            except ServerStartError:  # it is still waking up
                await anyio.sleep(0.05)
            else:
                return backend


async def test_its_tools_are_listed(backend: Any) -> None:
    listing = await backend.list_tools()

    assert {"echo", "get-sum"} <= {tool.name for tool in listing.tools}
    assert listing.skipped == ()


async def test_its_tools_are_called(backend: Any) -> None:
    result = await backend.call_tool("get-sum", {"a": 2, "b": 3}, timeout_seconds=10)

    assert "5" in result["content"][0]["text"]


async def test_its_progress_is_heard(backend: Any) -> None:
    heard: list[Progress] = []

    await backend.call_tool(
        "trigger-long-running-operation",
        {"duration": 0.2, "steps": 2},
        timeout_seconds=10,
        on_progress=heard.append,
    )

    assert [progress.done for progress in heard] == [1, 2]


async def test_its_question_is_answered(backend: Any, human: Any) -> None:
    arguments = {"prompt": "Capital of France?", "maxTokens": 10}

    result = await backend.call_tool("trigger-sampling-request", arguments, timeout_seconds=10)

    assert "Paris" in str(result)
    assert [server for server, _ in human.asked] == ["remote"]
