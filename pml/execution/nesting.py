"""Capabilities that call capabilities: how far that may go. Pure.

A call that a capability makes passes the same gate as the program's own: the same rules, the same
questions, the same audit, with the chain that led to it. But it may not go in a circle, nor too
deep.

    NestingError (PmlError)
    ├── CapabilityCycleError      capability_cycle: it would call itself, at once or over others
    ├── CapabilityDepthError      capability_depth
    └── CapabilityGoneError       capability_gone: it was removed while it waited
"""

from collections.abc import Iterator

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


class CapabilityGoneError(NestingError):
    """It was removed while it waited for the human's word."""

    code = "capability_gone"

    def __init__(self, tool: str) -> None:
        """Name it."""
        super().__init__(f"`{printable(tool, _SHOWN)}` was removed while it waited")
