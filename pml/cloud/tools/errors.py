"""Why a call or a program is not carried out at the cloud.

CloudError
├── ClientToolsError         CLIENT_TOOLS_REQUIRE_PACKAGE: it needs the user's own machine
├── NotOfferedError          tool_unknown: nobody published such a tool
├── CallerKeysMissingError   keys_missing: the caller sent no such key
├── UpstreamRefusedError     upstream_refused: a remote server at a place that is not allowed
├── TooDeepError             too_deep: capabilities that call capabilities without end
├── ArgumentsInvalidError    arguments_invalid
└── BusyError                busy: as many programs run as may
"""

from collections.abc import Sequence

from pml.cloud.errors import CloudError
from sandbox_host.errors import printable

INSTALL_COMMAND = "pip install pml"


class ClientToolsError(CloudError):
    """Tools that must run on the user's machine."""

    code = "CLIENT_TOOLS_REQUIRE_PACKAGE"

    def __init__(self, tools: Sequence[str]) -> None:
        """Name them."""
        self.tools = tuple(tools)
        names = ", ".join(printable(tool, 100) for tool in tools[:10])
        super().__init__(
            f"client tools need the PML package, which runs them on your machine: {names}",
            hint=f"install it with: {INSTALL_COMMAND}",
        )


class NotOfferedError(CloudError):
    """Nobody published such a tool here."""

    code = "tool_unknown"

    def __init__(self, tool: str) -> None:
        """Name it."""
        super().__init__(
            f"this cloud has no tool `{printable(tool, 200)}`", hint="`search` finds what there is"
        )


class CallerKeysMissingError(CloudError):
    """The tool works with the caller's own keys, and they did not come."""

    code = "keys_missing"

    def __init__(self, tool: str, names: Sequence[str]) -> None:
        """Name the keys."""
        super().__init__(
            f"`{tool}` needs {', '.join(names)}",
            hint="set it where your pml runs: keys are sent with a call and kept nowhere",
        )


class UpstreamRefusedError(CloudError):
    """A remote server at a place that the operator did not allow."""

    code = "upstream_refused"

    def __init__(self, host: str, kind: str) -> None:
        """Name it."""
        super().__init__(
            f"the remote server's host {printable(host, 100)} is {kind}",
            hint="the operator of this cloud can allow it with --allow-upstream",
        )


class TooDeepError(CloudError):
    """Capabilities that call capabilities without end."""

    code = "too_deep"

    def __init__(self, tool: str, most: int) -> None:
        """Name the bound."""
        super().__init__(f"`{tool}` would be the {most + 1}th capability inside one another")


class ArgumentsInvalidError(CloudError):
    """Arguments that a tool cannot take."""

    code = "arguments_invalid"

    def __init__(self, tool: str, reason: str) -> None:
        """Name what is wrong."""
        super().__init__(f"arguments of `{tool}`: {printable(reason, 300)}")


class BusyError(CloudError):
    """As many programs run as may, and none ended in time."""

    code = "busy"

    def __init__(self, seconds: float) -> None:
        """Say how long was waited."""
        super().__init__(f"this cloud is busy: no room within {seconds:g} s", hint="try again")
