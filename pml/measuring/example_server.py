"""The server that is measured where none is configured: as little as can answer. Stdlib alone.

Run as a program, confined like any other server. Its tools are read-only and know twenty orders.
"""

import json
import sys
from typing import Any

_INFO = {"name": "example", "version": "1"}
_READS = {"readOnlyHint": True, "openWorldHint": False}
_ORDERS = [
    {
        "id": number,
        "customer": f"customer {number % 7}",
        "paid": number % 3 == 0,
        "total": 10 * number + 5,
        "address": f"{number} Example Street, 1000{number} Example Town",
        "lines": [{"article": f"A-{number}-{line}", "amount": line + 1} for line in range(4)],
    }
    for number in range(20)
]
_TOOLS = [
    {
        "name": "echo",
        "description": "Give the text back",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "annotations": _READS,
    },
    {
        "name": "list_orders",
        "description": "List the ids of all orders",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": _READS,
    },
    {
        "name": "get_order",
        "description": "Give one order with its customer, address and lines",
        "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "integer", "description": "As list_orders gives it"}},
            "required": ["id"],
        },
        "annotations": _READS,
    },
]


def called(name: str, arguments: dict[str, Any]) -> str:
    """Give the text of a tool's answer."""
    if name == "list_orders":
        return json.dumps([order["id"] for order in _ORDERS])
    if name == "get_order":
        return json.dumps(_ORDERS[arguments["id"]])
    return str(arguments.get("text", ""))


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """Give the result of one request."""
    params = message.get("params", {})
    if message["method"] == "initialize":
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": _INFO}
    if message["method"] == "tools/list":
        return {"tools": _TOOLS}
    text = called(params["name"], params.get("arguments", {}))
    return {"content": [{"type": "text", "text": text}]}


def main() -> None:
    """Answer until nobody asks any more."""
    for line in sys.stdin.buffer:
        said = json.loads(line)
        if "id" in said:
            reply = {"jsonrpc": "2.0", "id": said["id"], "result": answer(said)}
            sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
            sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
