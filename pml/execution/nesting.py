"""Capabilities that call capabilities: how far that may go. Pure.

A call that a capability makes passes the same gate as the program's own: the same rules, the same
audit, with the chain that led to it. Two things are different. It may not go in a circle or too
deep; and it cannot wait: the human is asked about calls of the program itself, so a call within a
capability that would ask is refused, with the rule to add.

    NestingError (PmlError)
    ├── CapabilityCycleError      capability_cycle: it would call itself, at once or over others
    ├── CapabilityDepthError      capability_depth
    └── NestedQuestionError       cannot_suspend: the human would have to be asked
"""

import dataclasses
from collections.abc import Callable, Iterator

from pml.errors import PmlError
from sandbox_host.errors import printable

MOST_DEPTH = 8
"""Capabilities within each other; written ones have two or three."""

_SHOWN = 100  # characters of a tool's id


class Chain:
    """The capabilities within which a call is made, outermost first."""

    def __init__(self, tools: tuple[str, ...] = ()) -> None:
        """Begin in the program itself."""
        self._tools = tools

    def __len__(self) -> int:
        """Say how deep it is."""
        return len(self._tools)

    def __iter__(self) -> Iterator[str]:
        """Give the tools, outermost first."""
        return iter(self._tools)

    def __str__(self) -> str:
        """Give it for people."""
        return " > ".join(printable(tool, _SHOWN) for tool in self._tools)

    def entered(self, tool: str) -> "Chain":
        """Give the chain within one more; raises `NestingError`."""
        longer = Chain((*self._tools, tool))
        if tool in self._tools:
            raise CapabilityCycleError(longer)
        if len(longer) > MOST_DEPTH:
            raise CapabilityDepthError(longer)
        return longer


def _running() -> PmlError | None:
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class Within:
    """Where in a run calls are made, and what is the whole run's."""

    chain: Chain = dataclasses.field(default_factory=Chain)
    always: set[str] = dataclasses.field(default_factory=set)
    """Tools that the human allowed for the rest of the run."""

    stopped: Callable[[], PmlError | None] = _running
    """Says why the run must make no call any more, if so."""


class NestingError(PmlError):
    """A capability may not make this call."""

    code = "nesting"


class CapabilityCycleError(NestingError):
    """It would call itself."""

    code = "capability_cycle"

    def __init__(self, chain: Chain) -> None:
        """Show the circle."""
        super().__init__(f"capabilities call each other in a circle: {chain}")


class CapabilityDepthError(NestingError):
    """It is too deep."""

    code = "capability_depth"

    def __init__(self, chain: Chain) -> None:
        """Show how it came to this."""
        super().__init__(f"capabilities are nested deeper than {MOST_DEPTH}: {chain}")


class NestedQuestionError(NestingError):
    """The human would have to be asked, in the middle of a capability."""

    code = "cannot_suspend"

    def __init__(self, tool: str, chain: Chain) -> None:
        """Name the call and where it is made."""
        shown = printable(tool, _SHOWN)
        super().__init__(
            f"`{shown}` is called within {chain} and would have to be asked about, which only a"
            " call of the program itself can be",
            hint=f"allow `{shown}` in `.pml.json`, or call it in the program",
        )
