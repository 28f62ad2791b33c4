"""The two tools that the cloud lists, and its instructions. Pure.

Tools that run here are not listed, there may be thousands: `search` finds them, and they are
called by their id like these.
"""

from typing import Any

SEARCH, EXECUTE = "search", "execute"

INSTRUCTIONS = (
    "A PML cloud: `search` finds published tools, `execute` runs a program against those that run "
    "here, and any of them can be called by its id. Tools of the user's own machine need the PML "
    "package there."
)


def definitions() -> list[dict[str, Any]]:
    """Give them."""
    text = {"type": "string"}
    return [
        {
            "name": SEARCH,
            "description": "Find published tools by words, by a glob such as `tavily:*`, or by "
            "name; answers with their schemas and the keys they need.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": text,
                    "pattern": text,
                    "name": text,
                    "server": {"type": "string", "description": "All tools of a namespace."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": 50},
                },
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": EXECUTE,
            "description": "Run TypeScript or JavaScript in a sandbox where tools are functions: "
            "`await mcp.<server>.<tool>({...})`. The last expression or `return` is the result.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "code": text,
                    "args": {"description": "JSON data, `args` in the program."},
                    "timeoutSeconds": {"type": "number", "exclusiveMinimum": 0},
                },
                "required": ["code"],
                "additionalProperties": False,
            },
            "annotations": {"destructiveHint": True, "openWorldHint": True},
        },
    ]
