"""An MCP server whose every call leaves a line in a file. Stdlib alone."""

import json
import sys
from pathlib import Path

FILE = Path(sys.argv[1])
NAMES = ("one", "two", "three", "four")


def answer(message: dict) -> dict:
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "counter", "version": "1"}
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
    with FILE.open("a", encoding="utf-8") as file:
        file.write(message["params"]["name"] + "\n")
    return {"structuredContent": {"did": message["params"]["name"]}, "content": []}


for line in sys.stdin.buffer:
    said = json.loads(line)
    if "id" in said:
        reply = {"jsonrpc": "2.0", "id": said["id"], "result": answer(said)}
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()
