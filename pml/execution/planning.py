"""What a program would call, where that goes and what the rules say. Starts nothing.

A forecast from the source alone: each call is still decided when it is made.
"""

import dataclasses
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Literal

from pml.analysis import Analysis, Call, Problem, analyse, drawing
from pml.config import Config, HttpServerConfig
from pml.config.names import BUILTINS
from pml.errors import PmlError
from pml.model import Decision, Outcome
from pml.policy import decide
from sandbox_host import Limits
from sandbox_host.engine.runtime import shared_runtimes
from sandbox_host.programs import Erasers

Route = Literal[
    "local stdio", "remote http", "built-in", "capability", "cloud", "unusable", "unknown server"
]

_WASM = "a WebAssembly module has no source to read: each of its calls is decided when it is made"


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedTool:
    """A tool that the program may call, and what would become of it."""

    calls: tuple[Call, ...]
    decision: Decision
    route: Route
    problem: PmlError | None = None
    """Why its server cannot be used."""

    @property
    def id(self) -> str:
        """Give the tool's id."""
        return self.decision.tool


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What a run would touch."""

    found: Analysis
    tools: tuple[PlannedTool, ...]
    servers: tuple[str, ...]
    """Those that are configured."""

    @property
    def denied(self) -> list[PlannedTool]:
        """Give what may not be called."""
        return [tool for tool in self.tools if tool.decision.outcome is Outcome.DENY]

    @property
    def lost(self) -> list[PlannedTool]:
        """Give what has no server that can be used."""
        return [tool for tool in self.tools if tool.route in ("unusable", "unknown server")]

    @property
    def asked(self) -> list[str]:
        """Give what the human will be asked about: what cannot be called is not."""
        return [
            tool.id
            for tool in self.tools
            if tool.decision.outcome is Outcome.ASK and tool not in self.lost
        ]


async def analysed(program: str | bytes) -> Analysis:
    """Read a program; raises `SandboxError` if it cannot be read."""
    if isinstance(program, bytes):
        return Analysis(problem=Problem(_WASM))
    erasers = Erasers(shared_runtimes().warm)
    erased = await erasers.erase(program, Limits().code_bytes)
    return analyse(erased.code, erased.original)


def plan_of(
    found: Analysis,
    config: Config | None = None,
    known_routes: Mapping[str, Route] = MappingProxyType({}),
) -> Plan:
    """Say what would become of each call; `known_routes` are those of what is not configured."""
    known = config or Config()
    calls: dict[str, list[Call]] = {}
    for call in found.calls:
        calls.setdefault(call.tool, []).append(call)
    private = [one.name for one in known.private_mcps]
    names = (*(one.name for one in known.servers), *private, *known.unusable)
    routes = {**known_routes, **routes_of(builtins=_builtins(known))}
    tools = [_planned(tool, tuple(made), known, routes) for tool, made in calls.items()]
    return Plan(found, tuple(tools), names)


def routes_of(
    capabilities: Collection[str] = (),
    servers: Collection[str] = (),
    cloud: Collection[str] = (),
    builtins: Collection[str] = (),
) -> dict[str, Route]:
    """Give the routes of names: what is nearer goes before."""
    routes: dict[str, Route] = dict.fromkeys(cloud, "cloud")
    routes |= dict.fromkeys(servers, "local stdio")
    routes |= dict.fromkeys(capabilities, "capability")
    return routes | dict.fromkeys(builtins, "built-in")


def _builtins(config: Config) -> tuple[str, ...]:
    return BUILTINS if config.builtins is None else config.builtins


def _planned(
    tool: str, calls: tuple[Call, ...], config: Config, routes: Mapping[str, Route]
) -> PlannedTool:
    decision = decide(tool, config.permissions)
    try:
        server = config.server(calls[0].server)
    except PmlError as problem:
        return PlannedTool(calls, decision, "unusable", problem)
    if server is None:
        return PlannedTool(calls, decision, routes.get(calls[0].server, "unknown server"))
    is_remote = isinstance(server, HttpServerConfig)
    return PlannedTool(calls, decision, "remote http" if is_remote else "local stdio")


def plan_report(made: Plan) -> dict[str, Any]:
    """Give a plan as data for machines."""
    problem = made.found.problem
    return {
        "tools": [_facts(tool) for tool in made.tools],
        "dynamic": drawing.as_data(made.found.dynamic),
        "denied": [tool.id for tool in made.denied],
        "asked": made.asked,
        "unusable": {tool.calls[0].server: message_of(tool, made) for tool in made.lost},
        "shape": drawing.as_data(made.found.shape),
        "problem": None if problem is None else dataclasses.asdict(problem),
    }


def _facts(tool: PlannedTool) -> dict[str, Any]:
    decision = tool.decision
    return {
        "tool": tool.id,
        "routing": tool.route,
        "decision": str(decision.outcome),
        "rule": decision.rule,
        "place": decision.place,
        "calls": drawing.as_data(tool.calls),
    }


def message_of(tool: PlannedTool, made: Plan) -> str:
    """Say why a tool has no server that can be used."""
    if tool.problem is not None:
        return tool.problem.message
    configured = f"configured are {', '.join(made.servers)}" if made.servers else "there is none"
    return f"no server `{drawing.escaped(tool.calls[0].server)}` is configured; {configured}"
