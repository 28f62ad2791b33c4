"""Against the official SDK's server, in both protocol eras."""

import pathlib
from typing import Any

import anyio
import pytest

from pml.backends.errors import CallTimeoutError, ServerRefusedError
from pml.model import Progress, ServerState

pytestmark = pytest.mark.parametrize("era", ["mcp", "modern"])
VERSIONS = {"mcp": "2025-11-25", "modern": "2026-07-28"}


@pytest.fixture
def url(sdk_server: str, era: str) -> str:
    return f"{sdk_server}/{era}"


def words(result: Any) -> str:
    return str(result["content"][0]["text"])


async def test_the_era_is_agreed_on_with_the_first_use(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)
    assert backend.status().state is ServerState.IDLE

    await backend.call_tool("echo", {}, timeout_seconds=10)

    status = backend.status()
    assert (status.state, status.protocol) == (ServerState.RUNNING, VERSIONS[era])
    assert (status.kind, status.level) == ("http", "remote")


async def test_every_page_is_listed(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)

    listing = await backend.list_tools()

    assert {"echo", "roots", "région"} <= {tool.name for tool in listing.tools}
    assert listing.skipped == ()
    assert backend.status().tools == len(listing.tools)


async def test_a_call_brings_back_the_result(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)

    result = await backend.call_tool("echo", {"text": "été \U0001f600"}, timeout_seconds=10)

    assert words(result) == str({"text": "été \U0001f600"})


async def test_a_name_and_an_argument_beyond_ascii_go_into_headers(
    connect: Any, url: str, era: str
) -> None:
    backend = await connect(url)

    result = await backend.call_tool("région", {"region": " île "}, timeout_seconds=10)

    assert words(result) == str({"region": " île "})


async def test_many_calls_at_once(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)
    results: dict[int, str] = {}

    async def call(number: int) -> None:
        result = await backend.call_tool("echo", {"text": str(number)}, timeout_seconds=20)
        results[number] = words(result)

    async with anyio.create_task_group() as tasks:
        for number in range(30):
            tasks.start_soon(call, number)

    assert results == {number: str({"text": str(number)}) for number in range(30)}


async def test_a_large_result_comes_whole(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)

    result = await backend.call_tool("big", {"text": str(3 << 20)}, timeout_seconds=20)

    assert len(words(result)) == 3 << 20


async def test_a_timeout_cancels_the_call_at_the_server(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)
    marker = f"timeout-{era}-{id(backend)}"

    with pytest.raises(CallTimeoutError):
        await backend.call_tool("slow", {"text": marker}, timeout_seconds=1)

    assert (
        words(await backend.call_tool("cancelled", {"text": marker}, timeout_seconds=10)) == "True"
    )


async def test_cancelling_cancels_the_call_at_the_server(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)
    marker, begun = f"cancel-{era}-{id(backend)}", anyio.Event()

    async def call() -> None:
        await backend.call_tool(
            "slow", {"text": marker}, timeout_seconds=20, on_progress=lambda _: begun.set()
        )

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        with anyio.fail_after(10):
            await begun.wait()
        tasks.cancel_scope.cancel()

    assert (
        words(await backend.call_tool("cancelled", {"text": marker}, timeout_seconds=10)) == "True"
    )


async def test_progress_is_passed_on(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)
    heard: list[Progress] = []

    with pytest.raises(CallTimeoutError):
        await backend.call_tool("slow", {"text": "x"}, timeout_seconds=1, on_progress=heard.append)

    assert heard == [Progress(1, 2, "half")]


async def test_log_messages_reach_the_observer(
    connect: Any, url: str, era: str, witness: Any
) -> None:
    backend = await connect(url, observer=witness)

    await backend.call_tool("log", {}, timeout_seconds=10)

    assert witness.logs == [("warning", "careful")]


async def test_a_question_in_a_call_is_answered(
    connect: Any, url: str, era: str, human: Any
) -> None:
    backend = await connect(url, requests=human)

    result = await backend.call_tool("ask", {}, timeout_seconds=10)

    assert words(result) == str({"ok": True})
    ((server, params),) = human.asked
    assert (server, params["message"]) == ("remote", "Sure?")


async def test_a_question_is_refused_by_default(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)

    with pytest.raises(ServerRefusedError):
        await backend.call_tool("ask", {}, timeout_seconds=10)


async def test_changed_tools_are_listed_again(connect: Any, url: str, era: str) -> None:
    backend = await connect(url)
    before = await backend.list_tools()
    assert await backend.list_tools() is before

    with anyio.fail_after(10):  # again and again: nobody tells when the server listens
        while await backend.list_tools() is before:
            await backend.call_tool("change", {}, timeout_seconds=10)

    assert len((await backend.list_tools()).tools) > len(before.tools)


async def test_the_workspace_is_told_only_if_it_is_given(
    connect: Any, url: str, era: str, tmp_path: pathlib.Path
) -> None:
    if era == "modern":
        pytest.skip("the stateless era has no requests of the server outside of results")
    told = await connect(url, root=tmp_path)
    not_told = await connect(url)

    assert words(await told.call_tool("roots", {}, timeout_seconds=10)) == tmp_path.as_uri()
    with pytest.raises(ServerRefusedError):
        await not_told.call_tool("roots", {}, timeout_seconds=10)
