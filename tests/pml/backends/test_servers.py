"""All servers behind one face."""

from collections.abc import Mapping
from typing import Any

import pytest

from pml.backends.errors import ServerStartError, ServerUnknownError, ToolUnknownError
from pml.backends.listing import listing_of
from pml.backends.servers import Servers, UnusableBackend, matches
from pml.model import Listing, ServerState, ServerStatus
from pml.ports import OnProgress


class Echo:
    """A backend that gives arguments back."""

    def __init__(self, name: str, *tools: str) -> None:
        self.name = name
        self._listing = listing_of(
            name, [{"name": tool, "inputSchema": {"type": "object"}} for tool in tools]
        )
        self.timeouts: list[float] = []

    async def list_tools(self) -> Listing:
        return self._listing

    async def call_tool(
        self, tool: str, arguments: Mapping[str, Any], *, timeout_seconds: float,
        on_progress: OnProgress | None = None,
    ) -> Mapping[str, Any]:  # fmt: skip
        self.timeouts.append(timeout_seconds)
        return {"structuredContent": {"tool": tool, **arguments}}

    def status(self) -> ServerStatus:
        return ServerStatus(self.name, "stdio", ServerState.RUNNING, "off")

    async def aclose(self) -> None: ...


BROKEN = ServerStartError("broken", "it has no key")


def servers() -> Servers:
    broken = UnusableBackend("broken", BROKEN)
    return Servers(
        [Echo("files", "read_file"), broken, Echo("math", "add")], call_timeout_seconds=7
    )


async def test_a_call_reaches_its_server_and_tool() -> None:
    assert await servers().call("math:add", {"n": 1}) == {"tool": "add", "n": 1}


async def test_a_call_has_the_configured_time_unless_it_names_its_own() -> None:
    echo = Echo("math", "add")
    both = Servers([echo], call_timeout_seconds=7)
    await both.call("math:add", {})
    await both.call("math:add", {}, timeout_seconds=2)
    assert echo.timeouts == [7, 2]


async def test_an_unknown_server_names_those_that_there_are() -> None:
    with pytest.raises(ServerUnknownError) as caught:
        await servers().call("maths:add", {})
    assert caught.value.hint == "configured in `.pml.json`: files, broken, math"


async def test_an_unknown_tool_names_those_that_look_like_it() -> None:
    with pytest.raises(ToolUnknownError) as caught:
        await servers().call("files:readfile", {})
    assert caught.value.hint == "did you mean files:read_file?"


async def test_a_server_that_cannot_be_used_says_why_and_stands_in_nobodys_way() -> None:
    listings, problems = await servers().list_all()
    assert list(listings) == ["files", "math"]
    assert problems == {"broken": BROKEN}
    with pytest.raises(ServerStartError):
        await servers().call("broken:x", {})
    assert [status.error for status in servers().status()] == [None, BROKEN.message, None]


async def test_some_servers_alone_are_asked() -> None:
    listings, problems = await servers().list_all(["math"])
    assert (list(listings), problems) == (["math"], {})


@pytest.mark.parametrize(
    ("pattern", "tool", "fits"),
    [
        ("*", "fs:read", True), ("fs", "fs:read", True), ("fs:*", "fs:read", True),
        ("fs:read", "fs:read", True), ("fs:re*", "fs:read", True), ("read*", "fs:read", True),
        ("fs:", "fs:read", True), ("f?:read", "fs:read", True), ("git", "fs:read", False),
        ("fs:write", "fs:read", False), ("x:read", "fs:read", False), ("READ", "fs:read", False),
    ],
)  # fmt: skip
def test_patterns_name_servers_tools_or_both(pattern: str, tool: str, *, fits: bool) -> None:
    assert matches(pattern, tool) is fits
