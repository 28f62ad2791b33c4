"""An MCP server whose tools have names that a client would take for one. Stdlib alone.

Or the names that a file has, in the folder that it is given.
"""

import json
import sys
from pathlib import Path

NAMES = ["a.b", "a_b", "fine"]
if sys.argv[1:]:
    NAMES = Path(sys.argv[1], "names").read_text(encoding="utf-8").split()

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
