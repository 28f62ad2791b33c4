"""Our own tools as a model is told of them, and the server's instructions. Pure.

Short on purpose: these words are in every conversation. No argument grants anything; only where
the user's own configuration says that the model's client confirms each call (`approvals: "model"`)
does `continue_workflow` take `approved`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pml.config.values import Approvals

EXECUTE = "execute"
DISCOVER = "discover"
CONTINUE = "continue_workflow"
ABORT = "abort_workflow"

_META = {"anthropic/alwaysLoad": True}
"""Clients that defer tools would never find these."""

_MOST_NAMES = 40  # servers in the instructions
_PURPOSE = (
    "PML runs code against the user's tools. Do work with tools in one `execute` rather than "
    "call by call; look tools up with `discover`."
)
_WAITING = (
    "If an answer says approval_required, tell the user what waits and how to answer; you cannot "
    "approve anything yourself. Then call `continue_workflow`."
)
_WORKFLOW_ID = {
    "type": "string",
    "description": "From an answer with status approval_required.",
}


def definitions(approvals: Approvals) -> list[dict[str, Any]]:
    """Give the tools that the model always has."""
    return [
        _tool(
            EXECUTE,
            "Run TypeScript or JavaScript in a sandbox where your tools are functions: "
            "`await mcp.<server>.<tool>({...})`. Use it for any work with tools, above all for "
            "several calls, loops, filtering and combining results: only what you return comes "
            "back. Top-level await; the last expression or `return` is the result. Calls run in "
            "parallel with Promise.all. No network, no imports. Find tools and their types with "
            "`discover` first.\n"
            "Example: const {content} = await mcp.filesystem.read_text_file({path: 'a.csv'}); "
            "return content.split('\\n').length",
            {
                "code": {"type": "string", "description": "The program."},
                "args": {"description": "JSON data, `args` in the program."},
                "timeoutSeconds": {
                    "type": "number",
                    "exclusiveMinimum": 0,
                    "description": "At most so long; the default and the most is configured.",
                },
                "dryRun": {
                    "type": "boolean",
                    "description": "Do not run: tell which tools it would call and what is asked.",
                },
            },
            ["code"],
            {"destructiveHint": True, "openWorldHint": True},
        ),
        _tool(
            DISCOVER,
            "Find tools of all servers by what you want to do; answers with TypeScript "
            "declarations to use in `execute`. Without arguments: what there is.",
            {
                "query": {"type": "string", "description": "What you want to do, in words."},
                "pattern": {"type": "string", "description": "A glob: `github:*`, `*:read_*`."},
                "name": {"type": "string", "description": "One tool, `server:tool`, exactly."},
                "schema": {
                    "type": "boolean",
                    "description": "With the full JSON Schemas too.",
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            },
            [],
            {"readOnlyHint": True, "openWorldHint": False},
        ),
        _tool(
            CONTINUE,
            "Collect the outcome of a run that waits for the human's word, after they gave it.",
            {"workflowId": _WORKFLOW_ID, **_approved(approvals)},
            ["workflowId"],
            {"destructiveHint": True},
        ),
        _tool(
            ABORT,
            "End a run that waits. What it did stays done.",
            {"workflowId": _WORKFLOW_ID},
            ["workflowId"],
            {"destructiveHint": False, "idempotentHint": True},
        ),
    ]


def instructions(servers: Sequence[str], notes: Sequence[str]) -> str:
    """Give what the client tells the model of this server."""
    names = ", ".join(servers[:_MOST_NAMES])
    more = f" and {len(servers) - _MOST_NAMES} more" if len(servers) > _MOST_NAMES else ""
    there = f"Servers: {names}{more}." if names else "No servers are configured."
    return "\n".join([_PURPOSE, there, _WAITING, *(f"Tell the user: {note}" for note in notes)])


def _approved(approvals: Approvals) -> Mapping[str, Any]:
    if approvals != "model":
        return {}
    words = "The user's word on what waits: true to allow, false to refuse."
    return {"approved": {"type": "boolean", "description": words}}


def _tool(
    name: str,
    description: str,
    properties: Mapping[str, Any],
    required: Sequence[str],
    annotations: Mapping[str, bool],
) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": dict(properties),
            "required": list(required),
            "additionalProperties": False,
        },
        "annotations": dict(annotations),
        "_meta": dict(_META),
    }
