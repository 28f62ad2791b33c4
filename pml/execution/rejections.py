"""What a program sees of a call that fails, and the same as plain values for the journal. Pure."""

from collections.abc import Mapping
from typing import Any, Never

from pml.errors import PmlError
from sandbox_host import Call, ToolError


def as_tool_error(error: PmlError) -> ToolError:
    """Give the error that the program sees."""
    words = error.message if error.hint is None else f"{error.message}\nhint: {error.hint}"
    return ToolError(words, code=error.code, data=getattr(error, "data", None))


def rejection_facts(error: ToolError) -> dict[str, Any]:
    """Give an error as plain values."""
    return {"message": str(error), "code": error.code, "data": error.data}


def rejection_of(facts: Mapping[str, Any]) -> ToolError:
    """Read what `rejection_facts` gave."""
    return ToolError(facts["message"], code=facts["code"], data=facts["data"])


async def no_tools(call: Call) -> Never:
    """The host function of a run without servers."""
    raise NoToolsError(call.tool)


class NoToolsError(ToolError):
    """There is nobody to answer a call."""

    def __init__(self, tool: str) -> None:
        """Name the tool that was asked for."""
        super().__init__(f"no servers are configured: `{tool}` cannot be called", code="no_tools")
