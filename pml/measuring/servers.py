"""Servers behind the gateway: the same call directly, by its exposed name, and from `execute`.

By turns in one run, so that a slow moment meets all three. The server is started confined, once
for the direct calls by us and once by `pml stdio`, in the same way.
"""

import dataclasses
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pml.assembly import Opened, Setup, opened_servers
from pml.backends.pinned import PinnedBackend
from pml.errors import PmlError
from pml.gateway.exposing import wire_name
from pml.measuring.choosing import callable_tools
from pml.measuring.errors import WrongResultError
from pml.measuring.figures import Figure, Missing, Subject, Taken
from pml.measuring.gateway import Gateway, Place, opened_gateway
from pml.measuring.timing import Amount, reference, settle
from pml.model import Tool

SECTION = "servers"
_WARM_UP = 5
_WAYS = {"direct": "called directly", "exposed": "exposed by name", "execute": "from `execute`"}

Watch = Callable[[str], None]


@dataclasses.dataclass(slots=True)
class Found:
    """What was found of the servers of one workspace."""

    figures: list[Figure] = dataclasses.field(default_factory=list)
    missing: list[Missing] = dataclasses.field(default_factory=list)
    listed: dict[str, Sequence[Tool]] = dataclasses.field(default_factory=dict)
    """The tools of each server that answered."""


async def measure(setup: Setup, place: Place, amount: Amount, watch: Watch) -> Found:
    """Measure each server that has a tool that may be called; say of the others why not."""
    found = Found()
    for name, problem in setup.config.unusable.items():
        found.missing.append(Subject(SECTION, name).missing(f"not called: {problem.message}"))
    async with opened_servers(setup, _Silence()) as opened:
        for server in setup.servers:
            watch(f"servers: {server.name}")
            try:
                await _server(opened, server.name, (setup, place, amount), found)
            except PmlError as error:
                reason = opened.redactor.text(error.message).splitlines()[0]
                found.missing.append(
                    Subject(SECTION, server.name).missing(f"not called: {reason}")
                )
    return found


async def _server(
    opened: Opened, name: str, where: tuple[Setup, Place, Amount], found: Found
) -> None:
    setup, place, amount = where
    subject = Subject(SECTION, name)
    backend = opened.pinned.get(name)
    if backend is None:
        await opened.servers.list_all([name])  # raises nothing: its status tells
        found.missing.append(subject.missing("not called: it cannot be used"))
        return
    tools = (await backend.list_tools()).tools
    found.listed[name] = tools
    may, why = callable_tools(tools, setup.config.permissions, backend.caution)
    seconds = setup.config.limits.call_timeout_seconds
    tool = await _working(backend, may, seconds)
    if tool is None:
        reason = why if not may else "what may be called answers with errors"
        found.missing.append(subject.missing(f"not called: {reason}"))
        return
    async with opened_gateway(place, [tool.id], seconds=seconds) as gateway:
        found.figures += await _by_turns(_Ways(backend, gateway, tool, seconds), subject, amount)


async def _working(backend: PinnedBackend, tools: Sequence[Tool], seconds: float) -> Tool | None:
    """Give the first tool that answers without an error."""
    for tool in tools:
        answer = await backend.call_tool(tool.name, {}, timeout_seconds=seconds)
        if not answer.get("isError"):
            return tool
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class _Ways:
    """The three ways to one tool."""

    backend: PinnedBackend
    gateway: Gateway
    tool: Tool
    seconds: float

    async def direct(self) -> Mapping[str, Any]:
        return await self.backend.call_tool(self.tool.name, {}, timeout_seconds=self.seconds)

    async def exposed(self) -> Mapping[str, Any]:
        return await self.gateway.call(wire_name(self.tool.id), {})

    async def execute(self) -> Mapping[str, Any]:
        server, name = map(json.dumps, (self.tool.server, self.tool.name))
        return await self.gateway.call(
            "execute", {"code": f"return await mcp[{server}][{name}]({{}})"}
        )


async def _by_turns(ways: _Ways, subject: Subject, amount: Amount) -> list[Figure]:
    times: dict[str, list[float]] = {name: [] for name in _WAYS}
    beside: list[float] = []
    count = amount.count(1000)
    ends = time.perf_counter() + amount.seconds
    for turn in range(_WARM_UP + count):
        if turn == _WARM_UP:
            settle()
            beside.clear()
            for one in times.values():
                one.clear()
        elif turn > _WARM_UP and time.perf_counter() > ends:
            break
        for name, samples in times.items():
            samples.append(await _one(getattr(ways, name)))
        beside.append(reference())
    return _figures(subject, ways.tool, times, beside)


async def _one(way: Callable[[], Any]) -> float:
    began = time.perf_counter()
    result = await way()
    seconds = time.perf_counter() - began
    if result.get("isError"):
        raise WrongResultError(result, "a result")
    return seconds


def _figures(
    subject: Subject, tool: Tool, times: Mapping[str, Sequence[float]], beside: Sequence[float]
) -> list[Figure]:
    found = [
        subject.time(way, f"{tool.name}, {words}", Taken(times[way], beside), is_ours=False)
        for way, words in _WAYS.items()
    ]
    for way in ("exposed", "execute"):
        over = [ours - direct for ours, direct in zip(times[way], times["direct"], strict=True)]
        title = f"overhead, {_WAYS[way]}"
        found.append(subject.time(f"{way}_overhead", title, Taken(over, beside), is_overhead=True))
    return found


class _Silence:
    """Hears what servers do and say, and tells nobody."""

    def started(self, server: str, record: Mapping[str, Any]) -> None:
        """Nothing."""

    def ready(self, server: str) -> None:
        """Nothing."""

    def logged(self, server: str, level: str, text: str) -> None:
        """Nothing."""

    def stopped(self, server: str, reason: str) -> None:
        """Nothing."""
