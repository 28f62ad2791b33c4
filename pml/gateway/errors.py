"""What a client can get wrong, one class per situation.

GatewayError (PmlError)
├── ToolArgumentsError        invalid_arguments: the arguments do not fit one of our own tools
├── UnknownToolError          tool_unknown: no tool of that name is offered here
└── WireNameTakenError        name_collision: two exposed tools would have the same name
"""

from collections.abc import Sequence

from pml.errors import PmlError
from sandbox_host.errors import printable


class GatewayError(PmlError):
    """A request that cannot be carried out as it is."""

    code = "gateway"


class ToolArgumentsError(GatewayError):
    """Arguments that do not fit."""

    code = "invalid_arguments"

    def __init__(self, tool: str, what: str) -> None:
        """Name the tool and the argument."""
        super().__init__(f"`{tool}`: {what}")


class UnknownToolError(GatewayError):
    """No such tool."""

    code = "tool_unknown"

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        """Name it, and those that look like it."""
        super().__init__(
            f"there is no tool `{printable(name, 100)}` here",
            hint=f"did you mean {', '.join(near)}?" if near else "`discover` finds tools",
        )


class WireNameTakenError(GatewayError):
    """Two exposed tools with one name."""

    code = "name_collision"

    def __init__(self, name: str, tools: Sequence[str]) -> None:
        """Name both."""
        self.name = name
        both = " and ".join(f"`{printable(tool, 100)}`" for tool in tools)
        super().__init__(
            f"the exposed tools {both} would both be called `{name}`: neither is offered",
            hint="expose one of them, or rename a server in `.pml.json`",
        )
