"""The values that cross the sandbox's edge: a call, its record, a log line, the outcomes."""

import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Literal, overload

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


RecordFacts = tuple[int, str, CallOutcome, float, int | None, int | None]
"""The fields of a `CallRecord`, in order."""


class CallRecords(Sequence[CallRecord]):
    """The calls of a run, in the order in which they ended.

    Kept as plain tuples, which Python's garbage collector leaves alone: a program may make very
    many calls, and the loop must not stand still while a hundred thousand objects are looked at.
    """

    def __init__(self, facts: Sequence[RecordFacts] = ()) -> None:
        """Hold the facts."""
        self._facts = tuple(facts)

    def __len__(self) -> int:
        """Give how many there are."""
        return len(self._facts)

    @overload
    def __getitem__(self, index: int) -> CallRecord: ...
    @overload
    def __getitem__(self, index: slice) -> "CallRecords": ...
    def __getitem__(self, index: int | slice) -> "CallRecord | CallRecords":
        """Give one, or a part."""
        if isinstance(index, slice):
            return CallRecords(self._facts[index])
        return CallRecord(*self._facts[index])

    def __eq__(self, other: object) -> bool:
        """Compare with any sequence of records."""
        if isinstance(other, CallRecords):
            return self._facts == other._facts
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        """Hash by the facts."""
        return hash(self._facts)

    def __repr__(self) -> str:
        """Show the records."""
        return repr(tuple(self))


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
    calls: Sequence[CallRecord] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Failed:
    """The program, or a limit, ended the run. Calls still in flight were cancelled."""

    error: SandboxError
    logs: tuple[Log, ...] = ()
    calls: Sequence[CallRecord] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Suspended:
    """No call can go on before these are answered by `resume`; timers stand still meanwhile."""

    calls: tuple[Call, ...]
    logs: tuple[Log, ...] = ()
    answered: Sequence[CallRecord] = ()


Outcome = Completed | Failed | Suspended
