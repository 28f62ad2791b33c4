"""A server that lists 200 tools with schemas of the usual size. Stdlib alone."""

import json
import sys

_PROPERTIES = {
    f"argument_{number}": {"type": "string", "description": "What this argument is for, in words."}
    for number in range(6)
}
_TOOLS = [
    {
        "name": f"tool_{number}",
        "description": "Does one of two hundred things, as its name says. " * 4,
        "inputSchema": {"type": "object", "properties": _PROPERTIES, "required": ["argument_0"]},
    }
    for number in range(200)
]

for line in sys.stdin.buffer:
    said = json.loads(line)
    if "id" not in said:
        continue
    if said["method"] == "initialize":
        result = {
            "protocolVersion": said["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "many", "version": "1"},
        }
    else:
        result = {"tools": _TOOLS}
    reply = {"jsonrpc": "2.0", "id": said["id"], "result": result}
    sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
    sys.stdout.buffer.flush()
