"""An MCP server whose tools have names that a client would take for one. Stdlib alone."""

import json
import sys

NAMES = ("a.b", "a_b", "fine")

for line in sys.stdin.buffer:
    said = json.loads(line)
    if "id" not in said:
        continue
    if said["method"] == "initialize":
        version = said["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}},
                  "serverInfo": {"name": "odd", "version": "1"}}  # fmt: skip
    elif said["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
    else:
        result = {"content": [{"type": "text", "text": said["params"]["name"]}]}
    reply = {"jsonrpc": "2.0", "id": said["id"], "result": result}
    sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
    sys.stdout.buffer.flush()
