"""What an analysis finds, as frozen values. Every name and text in it is the program's: untrusted.

The shape is a tree: a tuple of steps is a sequence, in the order of the source, and `Parallel`,
`Branch`, `Loop` and `Function` hold more of them.
"""

import dataclasses
from typing import Any, Literal

Reason = Literal["computed", "escapes", "evaluates"]


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A place in the source as it was written; both count from 1, columns in characters."""

    line: int
    column: int


@dataclasses.dataclass(frozen=True, slots=True)
class Expression:
    """A part of an argument that is known only when the program runs."""

    text: str
    """As it is written, cut."""


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """A tool that the program may call."""

    server: str
    name: str
    place: Place
    arguments: tuple[Any, ...] | None = None
    """JSON values with an `Expression` for what is not literal; None if others will call it."""

    @property
    def tool(self) -> str:
        """Give the tool's id."""
        return f"{self.server}:{self.name}"


@dataclasses.dataclass(frozen=True, slots=True)
class Dynamic:
    """A spot from which any tool could be called."""

    reason: Reason
    """A computed name; `mcp` or a server handed to other code; code made from text."""

    text: str
    place: Place
    server: str | None = None
    """The one whose tools it can be, if that is known."""


@dataclasses.dataclass(frozen=True, slots=True)
class Parallel:
    """Steps that are awaited together."""

    kind: str
    """`all`, `allSettled`, `race` or `any`."""

    branches: "tuple[Steps, ...]"


@dataclasses.dataclass(frozen=True, slots=True)
class Branch:
    """Steps of which some may not be taken."""

    kind: str
    """`if`, `?`, `switch`, `&&`, `||`, `??`, `catch`; `either` for a name with several values."""

    arms: "tuple[Steps, ...]"


@dataclasses.dataclass(frozen=True, slots=True)
class Loop:
    """Steps that are taken any number of times."""

    kind: str
    """`for`, `for of`, `for in`, `while`, `do`, or the method: `map`, `forEach`, ..."""

    body: "Steps"


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """Steps that are taken when a function is called, if it ever is."""

    name: str | None
    """None if it has none: a callback."""

    body: "Steps"


Step = Call | Dynamic | Parallel | Branch | Loop | Function
Steps = tuple[Step, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Why an analysis is not whole."""

    message: str
    place: Place | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Analysis:
    """All that was found, in the order of the source."""

    calls: tuple[Call, ...] = ()
    dynamic: tuple[Dynamic, ...] = ()
    shape: Steps = ()
    problem: Problem | None = None
    """What was found beside it still holds."""

    @property
    def tools(self) -> tuple[str, ...]:
        """Give each tool's id once, in order of first use."""
        return tuple(dict.fromkeys(call.tool for call in self.calls))
