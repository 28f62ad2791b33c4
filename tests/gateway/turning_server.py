"""An MCP server whose tools are what a file says at the moment. Stdlib alone.

Every call leaves a line in `effects`. `turn` also says that the list changed, before its answer;
`end` ends the process after its answer.
"""

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])


def send(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def answer(message: dict[str, Any]) -> dict[str, Any]:
    if message["method"] == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "turning", "version": "1"}
        capabilities = {"tools": {"listChanged": True}}
        return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
    if message["method"] == "tools/list":
        return {"tools": json.loads((FOLDER / "tools.json").read_text(encoding="utf-8"))}
    name = message["params"]["name"]
    with (FOLDER / "effects").open("a", encoding="utf-8") as file:
        file.write(f"{name}\n")
    if name == "turn":
        turned = FOLDER / "turned.json"
        turned.replace(FOLDER / "tools.json")
        send({"method": "notifications/tools/list_changed"})
    return {"structuredContent": {"did": name}, "content": []}


for line in sys.stdin.buffer:
    said = json.loads(line)
    if "id" not in said or "method" not in said:
        continue
    send({"id": said["id"], "result": answer(said)})
    if said.get("params", {}).get("name") == "end":
        sys.exit(0)
