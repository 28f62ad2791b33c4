"""Each way in which a server misbehaves: named errors, no wedge, no leak, and calls go on."""

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from pml.backends import jsonrpc
from pml.backends.errors import (
    CallTimeoutError,
    ServerEndedError,
    ServerProtocolError,
    ServerRefusedError,
    ServerStartError,
)
from pml.backends.stdio import Patience
from pml.model import Progress, ServerState

from .conftest import Open

QUICK = Patience(start_seconds=20, backoff_seconds=(0.0,), last_words_seconds=2)
HASTY = Patience(start_seconds=0.5, backoff_seconds=(0.0,), last_words_seconds=2)


@pytest.mark.parametrize(
    "kind",
    ["blank-lines", "junk-lines", "duplicate-ids", "unknown-ids", "string-ids", "asks-a-lot",
     "floods-stderr", "floods-stdout", "old", "modern-only", "same-cursor"],
)  # fmt: skip
async def test_calls_are_answered_all_the_same(start: Open, kind: str) -> None:
    async with start(kind) as subject:
        assert [tool.name for tool in (await subject.backend.list_tools()).tools] == ["good"]
        for words in ("one", "two", "three"):
            assert await subject.text(text=words) == words


async def test_junk_is_told_a_few_times_and_then_only_counted(start: Open) -> None:
    async with start("junk-lines") as subject:
        for _ in range(5):
            await subject.text()
        told = [text for level, text in subject.witness.logs if level == "warning"]
        assert len(told) == 5
        assert told[0] == "a line that is no JSON: Starting server... hello"


async def test_characters_that_are_split_between_reads_arrive_whole(start: Open) -> None:
    async with start("split-characters") as subject:
        assert await subject.text() == "é€😀" * 50


async def test_a_line_of_10_megabytes_is_an_answer_like_any_other(start: Open) -> None:
    async with start("large-line") as subject:
        assert len(await subject.text(bytes=10_000_000)) == 10_000_000
        assert len(await subject.text(bytes=3)) == 3


async def test_an_answer_beyond_the_limit_fails_its_call_alone(start: Open) -> None:
    async with start("large-line") as subject:
        with pytest.raises(ServerProtocolError, match="larger than 16 MiB"):
            await subject.text(bytes=jsonrpc.MOST_LINE_BYTES)
        assert len(await subject.text(bytes=5)) == 5


async def test_a_line_that_hardly_ends_is_not_kept(start: Open) -> None:
    async with start("endless-line") as subject:
        with pytest.raises(ServerProtocolError, match="larger than 16 MiB"):
            await subject.text()


async def test_answers_out_of_order_reach_their_callers(start: Open) -> None:
    async with start("out-of-order") as subject, anyio.create_task_group() as tasks:
        found: dict[str, str] = {}

        async def ask(words: str) -> None:
            found[words] = await subject.text(text=words)

        for number in range(10):
            tasks.start_soon(ask, f"call {number}")
    assert found == {f"call {number}": f"call {number}" for number in range(10)}


async def test_a_request_with_the_id_of_a_pending_call_is_a_request(start: Open) -> None:
    async with start("request-with-pending-id") as subject:
        answer = json.loads(await subject.text())
        assert (answer["result"], answer["error"]) == ({}, None)


async def test_roots_are_the_workspace(start: Open, places: Any) -> None:
    async with start("asks") as subject:
        answer = json.loads(await subject.text(method="roots/list"))
        uri = places.workspace.as_uri()
        assert answer["result"] == {"roots": [{"uri": uri, "name": "workspace"}]}


@pytest.mark.parametrize(
    "method", ["sampling/createMessage", "elicitation/create", "no/such/method"]
)
async def test_what_nobody_answers_is_refused(start: Open, method: str) -> None:
    async with start("asks") as subject:
        answer = json.loads(await subject.text(method=method))
        assert answer["error"] == {"code": -32601, "message": f"{method} is not answered here"}


class Human:
    """A port that answers one and fails at the other."""

    async def sample(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        raise RuntimeError("secret words of ours")

    async def elicit(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"action": "accept", "content": {"server": server, **params}}


async def test_the_port_answers_for_the_human(start: Open) -> None:
    async with start("asks", requests=Human()) as subject:
        answer = json.loads(await subject.text(method="elicitation/create"))
        assert answer["result"] == {"action": "accept", "content": {"server": "bad", "n": 1}}


async def test_a_failing_port_tells_the_server_nothing(start: Open) -> None:
    async with start("asks", requests=Human()) as subject:
        answer = json.loads(await subject.text(method="sampling/createMessage"))
        assert answer["error"] == {"code": -32603, "message": "RuntimeError"}


async def test_a_call_out_of_time_is_named_and_cancelled_at_the_server(start: Open) -> None:
    async with start("silent") as subject:
        with pytest.raises(CallTimeoutError, match="`good` within 0.2 s"):
            await subject.backend.call_tool("good", {"quiet": True}, timeout_seconds=0.2)
        told = json.loads(await subject.text())
        assert len(told["cancelled"]) == 1


async def test_a_cancelled_call_is_cancelled_at_the_server(start: Open) -> None:
    async with start("silent") as subject:
        await subject.backend.list_tools()
        with anyio.move_on_after(0.2):
            await subject.backend.call_tool("good", {"quiet": True}, timeout_seconds=60)
        told = json.loads(await subject.text())
        assert len(told["cancelled"]) == 1


async def test_time_runs_out_for_each_call_by_itself(start: Open) -> None:
    async with start("silent") as subject:
        ended: list[float] = []

        async def wait(seconds: float) -> None:
            with pytest.raises(CallTimeoutError):
                await subject.backend.call_tool("good", {"quiet": True}, timeout_seconds=seconds)
            ended.append(seconds)

        async with anyio.create_task_group() as tasks:
            for seconds in (0.9, 0.3, 0.6):
                tasks.start_soon(wait, seconds)
        assert ended == [0.3, 0.6, 0.9]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("exits", "exit code 7"), ("killed", "killed by SIGSEGV"),
     ("exits-with-half-a-line", "exit code 0"), ("closes-output", "it closed its output")],
)  # fmt: skip
async def test_an_end_in_the_middle_fails_the_call_and_the_next_starts_it_anew(
    start: Open, kind: str, reason: str
) -> None:
    async with start(kind, QUICK) as subject:
        for _ in range(2):
            with pytest.raises(ServerEndedError, match=reason):
                await subject.text()
        assert len(subject.witness.starts) == 2


async def test_the_last_words_of_a_server_are_in_the_error_escaped(start: Open) -> None:
    async with start("exits", QUICK) as subject:
        with pytest.raises(ServerEndedError) as caught:
            await subject.text()
        assert r"stderr: Traceback: it\u{1b}[31m broke" in caught.value.message


async def test_all_calls_under_way_fail_when_it_dies(start: Open) -> None:
    async with start("silent", QUICK) as subject, anyio.create_task_group() as tasks:
        failed: list[str] = []
        await subject.backend.list_tools()

        async def wait() -> None:
            with pytest.raises(ServerEndedError) as caught:
                await subject.backend.call_tool("good", {"quiet": True}, timeout_seconds=60)
            failed.append(caught.value.code)

        for _ in range(20):
            tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        await subject.backend.aclose()
    assert failed == ["server_ended"] * 20


async def test_a_server_that_dies_at_the_start_says_why(start: Open) -> None:
    async with start("dies-at-start", QUICK) as subject:
        with pytest.raises(ServerStartError) as caught:
            await subject.text()
        assert "exit code 3\n  stderr: the database is not there" in caught.value.message
        assert subject.backend.status().state == ServerState.FAILED


async def test_a_server_that_is_silent_at_the_start_is_named(start: Open) -> None:
    async with start("silent-start", HASTY) as subject:
        with pytest.raises(ServerStartError, match="did not answer `initialize` within 0.5 s"):
            await subject.text()


async def test_a_version_that_nobody_knows_is_refused(start: Open) -> None:
    async with start("ancient", QUICK) as subject:
        with pytest.raises(ServerStartError, match="2024-10-07"):
            await subject.text()


async def test_all_pages_of_a_list_are_read(start: Open) -> None:
    async with start("pages") as subject:
        listing = await subject.backend.list_tools()
        assert [tool.id for tool in listing.tools] == [f"bad:tool{page}" for page in range(5)]


async def test_a_list_without_end_is_cut_off(start: Open) -> None:
    async with start("endless-pages") as subject:
        with pytest.raises(ServerProtocolError, match="more than 100 pages"):
            await subject.backend.list_tools()


async def test_a_malformed_tool_is_skipped_and_told(start: Open) -> None:
    async with start("malformed-tool") as subject:
        listing = await subject.backend.list_tools()
        assert [tool.name for tool in listing.tools] == ["good"]
        assert len(listing.skipped) == 3


async def test_a_changed_list_is_asked_for_again(start: Open) -> None:
    async with start("changes-its-list") as subject:
        before = await subject.backend.list_tools()
        assert await subject.backend.list_tools() is before
        await subject.text()
        assert [tool.name for tool in (await subject.backend.list_tools()).tools] == [
            "good",
            "new1",
        ]


async def test_a_list_that_changes_while_it_is_asked_for_is_asked_for_again(start: Open) -> None:
    async with start("changes-while-listing") as subject:
        await subject.backend.list_tools()
        assert [tool.name for tool in (await subject.backend.list_tools()).tools] == [
            "good",
            "new1",
        ]


async def test_progress_and_logs_are_carried_up(start: Open) -> None:
    async with start("progress") as subject:
        seen: list[Progress] = []
        await subject.backend.call_tool("good", {}, timeout_seconds=20, on_progress=seen.append)
        assert seen == [Progress(1, 2, "step 1"), Progress(2, 2, "step 2")]
        assert ("warning", "{'disk': 'full'}") in subject.witness.logs


async def test_a_refusal_keeps_its_code_and_data_and_is_escaped(start: Open) -> None:
    async with start("rpc-error") as subject:
        with pytest.raises(ServerRefusedError) as caught:
            await subject.text()
        assert (caught.value.rpc_code, caught.value.data) == (-32602, {"city": "x"})
        assert caught.value.message == r"server `bad`: no \u{1b}[2J such city (-32602)"


@pytest.mark.parametrize("kind", ["no-result", "error-is-text"])
async def test_an_answer_that_is_none_is_named(start: Open, kind: str) -> None:
    async with start(kind) as subject:
        with pytest.raises(ServerProtocolError):
            await subject.text()
