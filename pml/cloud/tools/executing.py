"""A program: run here if all its tools are here, else handed back to where it can run.

Read before anything is done: a program that uses a tool of the user's machine never begins here.
What cannot be read from the source (computed names) stays with whoever can run it; for a client
that cannot, each call is judged when it is made.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from pml.analysis import Analysis, Dynamic
from pml.cloud.tools.caller import Caller
from pml.cloud.tools.calling import LIMITS, Calls
from pml.cloud.tools.directory import Directory
from pml.cloud.tools.errors import (
    INSTALL_COMMAND,
    ArgumentsInvalidError,
    BusyError,
    ClientToolsError,
)
from pml.cloud.tools.results import Result, of_facts, of_report
from pml.execution.planning import analysed
from pml.execution.report import run_report
from pml.execution.runner import Run
from pml.redaction import Redactor
from pml.routing import Routing, RoutingTable
from sandbox_host import Call, Failed, Limits, Sandbox, SandboxError, ToolError

MOST_AT_ONCE = 16
"""Programs of one worker; the rest wait. Together they may take 2 GiB, if all misbehave."""

WAIT_SECONDS = 10.0
"""For room."""

_NAMES = frozenset({"code", "args", "timeoutSeconds"})


@dataclasses.dataclass(frozen=True, slots=True)
class _Wanted:
    code: str
    args: Any
    limits: Limits


class Execution:
    """Does `execute`."""

    def __init__(
        self,
        calls: Calls,
        directory: Directory,
        *,
        most_at_once: int = MOST_AT_ONCE,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        """Carry out calls with these."""
        self._calls = calls
        self._directory = directory
        self._slots = anyio.CapacityLimiter(most_at_once)
        self._wait_seconds = wait_seconds

    async def execute(self, arguments: Mapping[str, Any], caller: Caller) -> Result:
        """Give the outcome of a program, or the word to run it elsewhere; raises `PmlError`."""
        wanted = _wanted(arguments)
        try:
            found = await analysed(wanted.code)
        except SandboxError as error:
            return of_report(run_report(Run(Failed(error))))
        table = (await self._directory.now()).table
        client = [tool for tool in found.tools if table.of(tool) is Routing.CLIENT]
        if client and not caller.is_package:
            return _refused(client)
        if client or (caller.is_package and _is_doubtful(found, table)):
            return of_facts(_locally(wanted.code, found, client))
        return await self._run(wanted, table, caller)

    async def _run(self, wanted: _Wanted, table: RoutingTable, caller: Caller) -> Result:
        async def answer(call: Call) -> Any:
            if table.of(call.tool) is Routing.CLIENT:
                error = ClientToolsError([call.tool])
                raise ToolError(error.message, code=error.code)
            return await self._calls.value(call, caller)

        place = object()  # a task may hold one place only: this run's is its own
        try:
            with anyio.fail_after(self._wait_seconds):
                await self._slots.acquire_on_behalf_of(place)
        except TimeoutError:
            raise BusyError(self._wait_seconds) from None
        try:
            async with Sandbox(limits=wanted.limits) as sandbox:
                outcome = await sandbox.run(wanted.code, host=answer, args=wanted.args)
        except SandboxError as error:
            outcome = Failed(error)
        finally:
            self._slots.release_on_behalf_of(place)
        report: dict[str, Any] = Redactor(dict(caller.keys)).value(run_report(Run(outcome)))
        return of_report(report)


def _wanted(arguments: Mapping[str, Any]) -> _Wanted:
    code, seconds = arguments.get("code"), arguments.get("timeoutSeconds", LIMITS.wall_seconds)
    strange = sorted(set(arguments) - _NAMES)
    if strange:
        raise ArgumentsInvalidError("execute", f"`{strange[0]}` is not known")
    if not isinstance(code, str):
        raise ArgumentsInvalidError("execute", "`code` is a text")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise ArgumentsInvalidError("execute", "`timeoutSeconds` is a number above 0")
    wall = min(float(seconds), LIMITS.wall_seconds)
    return _Wanted(code, arguments.get("args"), dataclasses.replace(LIMITS, wall_seconds=wall))


def _is_doubtful(found: Analysis, table: RoutingTable) -> bool:
    """Say whether it may call what cannot be told from its source."""
    return found.problem is not None or any(_may_be_client(one, table) for one in found.dynamic)


def _may_be_client(spot: Dynamic, table: RoutingTable) -> bool:
    return spot.server is None or table.of(f"{spot.server}:*") is Routing.CLIENT


def _locally(code: str, found: Analysis, client: Sequence[str]) -> dict[str, Any]:
    """Give the word to run it on the user's machine: snake_case, as packages know it."""
    tasks = [
        {"id": f"n{number}", "tool": call.tool, "line": call.place.line}
        for number, call in enumerate(found.calls, 1)
    ]
    return {
        "status": "execute_locally",
        "code": code,
        "dag": {"tasks": tasks},
        "tools_used": list(found.tools),
        "client_tools": list(client),
    }


def _refused(client: Sequence[str]) -> Result:
    error = ClientToolsError(client)
    facts = {
        "status": "error",
        "code": error.code,
        "error_code": error.code,
        "message": error.message,
        "client_tools": list(client),
        "install_command": INSTALL_COMMAND,
    }
    return of_facts(facts, is_error=True)
