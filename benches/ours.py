"""What the measurements of our own sandbox share: host functions, and reading an outcome."""

from typing import Any

from benches.harness import WrongResultError
from sandbox_host import Call, Completed, Outcome


async def no_tools(call: Call) -> Any:
    """Refuse every call."""
    raise LookupError(call.tool)


async def add(call: Call) -> dict[str, int]:
    """Answer `mcp.math.add`."""
    return {"sum": call.args["a"] + call.args["b"]}


def completed(outcome: Outcome) -> Any:
    """Give a program's value; anything but a completed program spoils the measurement."""
    if not isinstance(outcome, Completed):
        raise WrongResultError(outcome)
    return outcome.value
