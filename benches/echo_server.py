"""The server that `server_call` measures against: as little as can answer. Stdlib alone."""

import json
import sys

_INFO = {"name": "echo", "version": "1"}
_TOOL = {
    "name": "echo",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}


def answer(message: dict) -> dict:
    """Give the result of one request."""
    if message["method"] == "initialize":
        capabilities: dict = {"tools": {}}
        version = message["params"]["protocolVersion"]
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": _INFO}
    if message["method"] == "tools/list":
        return {"tools": [_TOOL]}
    return {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}


for line in sys.stdin.buffer:
    said = json.loads(line)
    if "id" in said:
        reply = {"jsonrpc": "2.0", "id": said["id"], "result": answer(said)}
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()
