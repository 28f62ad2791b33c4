"""Which programs may leave this machine, and what comes back of those that did.

Read here first: a program that uses a tool of this machine, or a name that cannot be read from its
source, or a tool that the user does not simply allow, never leaves. The cloud may still hand one
back (`execute_locally`): then it runs here, as if it had never been sent.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pml.analysis import Analysis
from pml.backends.cloud.connection import Cloud
from pml.backends.errors import ServerProtocolError
from pml.routing import Routing, RoutingTable

_EXECUTE = "execute"
_LOCALLY = "execute_locally"
_ENDED = frozenset({"success", "error"})


@dataclasses.dataclass(frozen=True, slots=True)
class Home:
    """It runs here."""

    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Away:
    """It ran at the cloud; this is the report, by the cloud's word."""

    report: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """What would be sent."""

    code: str
    args: Any = None
    timeout_seconds: float = 60.0
    needs: tuple[str, ...] = ()
    """The user's keys that its tools need."""


def keeps_home(found: Analysis, table: RoutingTable, allowed: Callable[[str], bool]) -> str | None:
    """Say why a program does not leave, None if it may. Pure."""
    if found.problem is not None or found.dynamic:
        return "not everything that it calls can be read from its source"
    if not found.tools:
        return "it calls nothing"
    client = [tool for tool in found.tools if table.of(tool) is Routing.CLIENT]
    if client:
        return f"it calls {_named(client)}, here"
    asked = [tool for tool in found.tools if not allowed(tool)]
    return f"you are asked about {_named(asked)}" if asked else None


async def run_program(
    cloud: Cloud,
    program: Program,
    found: Analysis,
    table: RoutingTable,
    allowed: Callable[[str], bool],
) -> Home | Away:
    """Run a program at the cloud if it may leave; raises `BackendError`."""
    reason = keeps_home(found, table, allowed)
    if reason is not None:
        return Home(reason)
    arguments = {"code": program.code, "timeoutSeconds": program.timeout_seconds}
    if program.args is not None:
        arguments["args"] = program.args
    told = await cloud.facts(
        _EXECUTE, arguments, needs=program.needs, timeout_seconds=program.timeout_seconds + 5
    )
    return _understood(told, program)


def _understood(told: Mapping[str, Any], program: Program) -> Home | Away:
    if told.get("status") in _ENDED:
        return Away(told)
    if told.get("status") != _LOCALLY:
        raise ServerProtocolError("cloud", "its answer to `execute` has no status that is known")
    if told.get("code") != program.code:
        # whatever is in there was not written here: it does not run
        raise ServerProtocolError("cloud", "it hands back another program than it was sent")
    return Home(f"the cloud hands it back for {_named(_texts(told.get('client_tools')))}")


def _texts(value: Any) -> Iterable[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _named(tools: Iterable[str]) -> str:
    names: Sequence[str] = [f"`{tool}`" for tool in tools]
    return ", ".join(names[:5]) or "something"
