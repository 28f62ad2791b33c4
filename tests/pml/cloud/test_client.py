"""The user's side of a cloud, against real ones: calls, own keys, what stays at home, offline."""

import contextlib
import dataclasses
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from pml.backends.cloud import Cloud, CloudAccess, CloudBackend
from pml.backends.cloud.connection import MOST_CONNECTIONS
from pml.backends.cloud.errors import (
    CloudKeyMissingError,
    CloudOfflineError,
    CloudRefusedError,
    OwnKeysMissingError,
)
from pml.backends.cloud.programs import Away, Home, Program, run_program
from pml.backends.errors import ServerProtocolError, ToolUnknownError
from pml.execution.planning import analysed
from pml.model import ServerState
from pml.routing.resolver import EMBEDDED

KEY = "tvly-9Zr3uV8xC2bN6"
TABLE = dataclasses.replace(EMBEDDED, server=(*EMBEDDED.server, "near", "ghost", "byok"))


@pytest.fixture
def cloud(one_cloud: Any) -> Any:
    """Which database is behind it makes no difference on this side."""
    return one_cloud


def _keys(**having: str) -> Callable[[Sequence[str]], Mapping[str, str]]:
    return lambda names: {name: having[name] for name in names if name in having}


def _access(cloud: Any) -> CloudAccess:
    return CloudAccess(cloud.url, cloud.key("call"))


def _near(cloud: Any) -> None:
    code = '// __meta__: {"fqdn": "a.b.near.add", "routing": "server"}\n'
    cloud.publish("a.b.near.add", code + "export const add = ({a, b}) => ({sum: a + b});\n")
    at_home = '// __meta__: {"fqdn": "a.b.near.home", "routing": "client"}\n'
    cloud.publish("a.b.near.home", at_home + "export const home = () => 1;\n")


def _byok(cloud: Any, upstream: str) -> None:
    facts = {"type": "http", "proxyTo": upstream, "envRequired": ["TAVILY_API_KEY"]}
    cloud.publish("pml.mcp.byok.server", {**facts, "tools": ["byok:search"]})


async def test_tools_of_the_cloud_are_listed_and_called(cloud: Any) -> None:
    _near(cloud)
    async with Cloud(_access(cloud), _keys()) as opened:
        near = CloudBackend("near", opened)
        listing = await near.list_tools()
        assert [tool.id for tool in listing.tools] == ["near:add"]
        result = await near.call_tool("add", {"a": 1, "b": 2}, timeout_seconds=60)
        assert result["structuredContent"] == {"sum": 3}
        with pytest.raises(ToolUnknownError):
            await near.call_tool("home", {}, timeout_seconds=60)
        assert near.status().tools == 1


async def test_a_tool_gets_the_key_it_needs_and_another_none(cloud: Any, upstream: str) -> None:
    _near(cloud)
    _byok(cloud, upstream)
    async with Cloud(_access(cloud), _keys(TAVILY_API_KEY=KEY, OTHER="x")) as opened:
        byok = CloudBackend("byok", opened)
        result = await byok.call_tool("search", {"query": "q"}, timeout_seconds=60)
        assert result["structuredContent"]["headers"] == {"authorization": f"Bearer {KEY}"}
        assert byok.needs("search") == ("TAVILY_API_KEY",)


async def test_a_cloud_gets_no_key_that_the_user_does_not_let_it_have(
    cloud: Any, upstream: str
) -> None:
    """Attack: a cloud says that its tool needs some key of the user's."""
    _byok(cloud, upstream)
    asked: list[str] = []

    def none(names: Sequence[str]) -> Mapping[str, str]:
        asked.extend(names)
        return {}

    async with Cloud(_access(cloud), none) as opened:
        with pytest.raises(OwnKeysMissingError, match="byok:search.*TAVILY_API_KEY"):
            await CloudBackend("byok", opened).call_tool("search", {}, timeout_seconds=60)
    assert asked == ["TAVILY_API_KEY"]


async def test_a_key_that_is_set_later_is_used_without_a_restart(
    cloud: Any, upstream: str
) -> None:
    _byok(cloud, upstream)
    having: dict[str, str] = {}
    async with Cloud(_access(cloud), lambda names: having) as opened:
        byok = CloudBackend("byok", opened)
        with pytest.raises(OwnKeysMissingError):
            await byok.call_tool("search", {"query": "q"}, timeout_seconds=60)
        for value in (KEY, f"{KEY}-new"):
            having["TAVILY_API_KEY"] = value
            result = await byok.call_tool("search", {"query": "q"}, timeout_seconds=60)
            headers = result["structuredContent"]["headers"]
            assert headers == {"authorization": f"Bearer {value}"}


async def test_connections_for_sets_of_keys_have_a_bound(cloud: Any, upstream: str) -> None:
    _byok(cloud, upstream)
    having: dict[str, str] = {}
    async with Cloud(_access(cloud), lambda names: having) as opened:
        byok = CloudBackend("byok", opened)
        for number in range(MOST_CONNECTIONS + 2):
            having["TAVILY_API_KEY"] = f"{KEY}-{number}"
            result = await byok.call_tool("search", {"query": "q"}, timeout_seconds=60)
            headers = result["structuredContent"]["headers"]
            assert headers == {"authorization": f"Bearer {KEY}-{number}"}
        assert len(opened._kept) == MOST_CONNECTIONS


async def test_without_a_key_cloud_mode_says_what_it_requires() -> None:
    async with Cloud(CloudAccess("https://cloud.example"), _keys()) as opened:
        backend = CloudBackend("tavily", opened)
        with pytest.raises(CloudKeyMissingError) as caught:
            await backend.call_tool("search", {}, timeout_seconds=60)
        assert caught.value.message == "Cloud mode requires PML_API_KEY"
        assert backend.status().state is ServerState.FAILED


async def test_a_key_that_the_cloud_does_not_accept_is_told(cloud: Any) -> None:
    access = CloudAccess(cloud.url, "pml_000000000000_" + "a" * 43)
    async with Cloud(access, _keys()) as opened:
        with pytest.raises(CloudRefusedError, match="does not accept PML_API_KEY"):
            await CloudBackend("near", opened).list_tools()


async def test_a_cloud_that_is_away_is_told_and_used_again_when_it_is_back(
    new_database: Callable[[str], str], new_cloud: Any
) -> None:
    url = new_database("sqlite")
    cloud = new_cloud(url)
    _near(cloud)
    port = str(urlsplit(cloud.url).port)
    async with Cloud(_access(cloud), _keys()) as opened:
        near = CloudBackend("near", opened)
        await near.call_tool("add", {"a": 1, "b": 1}, timeout_seconds=60)
        cloud.process.kill()
        cloud.process.wait(30)
        with pytest.raises(CloudOfflineError, match=f"the cloud at 127.0.0.1:{port}") as caught:
            await near.call_tool("add", {"a": 1, "b": 1}, timeout_seconds=60)
        assert caught.value.hint == "local tools go on working"
        assert near.status().error == caught.value.message
        new_cloud(url, "--port", port)
        again = await near.call_tool("add", {"a": 2, "b": 2}, timeout_seconds=60)
        assert again["structuredContent"] == {"sum": 4}


@contextlib.contextmanager
def _silent_cloud() -> Iterator[tuple[str, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", listening


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("return await mcp.filesystem.read_file({path: 'secret'})", "`filesystem:read_file`"),
        ("await mcp.near.add({}); return await mcp.unknown.tool({})", "`unknown:tool`"),
        ("const s = 'ne' + Date.now(); return await mcp[s].add({})", "read from its source"),
        ("globalThis.x = mcp; return 1", "read from its source"),
        ("return await mcp.tavily.search({query: 'asked about'})", "you are asked about"),
        ("return 1 + 1", "calls nothing"),
    ],
)
async def test_a_program_that_must_not_leave_never_reaches_the_network(
    code: str, reason: str
) -> None:
    with _silent_cloud() as (url, listening):
        async with Cloud(CloudAccess(url, "key"), _keys()) as opened:
            found = await analysed(code)
            ended = await run_program(
                opened, Program(code), found, TABLE, lambda tool: not tool.startswith("tavily:")
            )
        assert isinstance(ended, Home)
        assert reason in ended.reason
        with pytest.raises(BlockingIOError):
            listening.accept()


async def test_a_program_of_allowed_cloud_tools_runs_there_with_the_users_keys(
    cloud: Any, upstream: str
) -> None:
    _near(cloud)
    _byok(cloud, upstream)
    code = (
        "const {sum} = await mcp.near.add(args); return await mcp.byok.search({query: `${sum}`})"
    )
    async with Cloud(_access(cloud), _keys(TAVILY_API_KEY=KEY)) as opened:
        program = Program(code, {"a": 2, "b": 3}, needs=("TAVILY_API_KEY",))
        found = await analysed(code)
        ended = await run_program(opened, program, found, TABLE, lambda _: True)
    assert isinstance(ended, Away)
    assert ended.report["result"]["found"] == "5"
    assert KEY not in json.dumps(dict(ended.report))


async def test_a_program_that_the_cloud_hands_back_runs_at_home(cloud: Any) -> None:
    code = "return await mcp.ghost.appear({})"
    async with Cloud(_access(cloud), _keys()) as opened:
        found = await analysed(code)
        ended = await run_program(opened, Program(code), found, TABLE, lambda _: True)
    assert ended == Home("the cloud hands it back for `ghost:appear`")


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"status": "execute_locally", "code": "evil()"}, "another program"),
        ({"status": "approval_required"}, "no status that is known"),
        ({}, "no status that is known"),
    ],
)
async def test_a_cloud_cannot_make_us_run_or_believe_something_else(
    facts: dict[str, str], words: str
) -> None:
    """Attack: the answer to `execute` holds a program that nobody here wrote."""
    code = "return await mcp.near.add({})"
    command = [sys.executable, Path(__file__).parent / "hostile.py", json.dumps(facts)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            async with Cloud(CloudAccess(url, "key"), _keys()) as opened:
                found = await analysed(code)
                with pytest.raises(ServerProtocolError, match=words):
                    await run_program(opened, Program(code), found, TABLE, lambda _: True)
        finally:
            process.terminate()
