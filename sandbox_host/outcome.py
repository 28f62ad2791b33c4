"""The values that cross the sandbox's edge: a call, its record, a log line, the outcomes."""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

from sandbox_host.errors import SandboxError


class _Suspend:
    """The one value of its kind."""

    def __repr__(self) -> str:
        return "SUSPEND"


SUSPEND: Final = _Suspend()
"""A host function's answer: not now. The program is frozen when nothing else can go on."""


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One `mcp.<server>.<tool>(args)` of the program."""

    id: int
    tool: str
    args: dict[str, Any]
    line: int | None = None
    column: int | None = None


Host = Callable[[Call], Awaitable[Any]]
"""The embedder's function: answers a call, raises to reject it, or answers `SUSPEND`."""

CallOutcome = Literal["ok", "error", "cancelled"]


@dataclasses.dataclass(frozen=True, slots=True)
class CallRecord:
    """What became of a call."""

    id: int
    tool: str
    outcome: CallOutcome
    milliseconds: float
    line: int | None = None
    column: int | None = None


Level = Literal["debug", "log", "info", "warn", "error"]
LEVELS: tuple[Level, ...] = ("debug", "log", "info", "warn", "error")
"""In the order of the ABI's numbers."""


@dataclasses.dataclass(frozen=True, slots=True)
class Log:
    """One line of console output."""

    level: Level
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Completed:
    """The program ended; all its calls are answered."""

    value: Any
    logs: tuple[Log, ...] = ()
    calls: tuple[CallRecord, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Failed:
    """The program, or a limit, ended the run. Calls still in flight were cancelled."""

    error: SandboxError
    logs: tuple[Log, ...] = ()
    calls: tuple[CallRecord, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Suspended:
    """No call can go on before these are answered by `resume`; timers stand still meanwhile."""

    calls: tuple[Call, ...]
    logs: tuple[Log, ...] = ()
    answered: tuple[CallRecord, ...] = ()


Outcome = Completed | Failed | Suspended
