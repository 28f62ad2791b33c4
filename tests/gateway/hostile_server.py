"""An MCP server that answers as no server should: what it is told to answer, word by word.

`say` answers with the JSON object `result`, `fail` with a JSON-RPC error, `tell` with progress
first, `sleep` never, `temporary` with whether it can write a temporary file, `log` after many log
messages. Stdlib alone.
"""

import json
import os
import sys
import tempfile
from typing import Any

NAMES = ("say", "fail", "tell", "sleep", "temporary", "log")
OUTPUT = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}


def send(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


def called(number: int, params: dict[str, Any]) -> None:
    given = params.get("arguments", {})
    text = given.get("text", "").replace("KEY", os.environ.get("HOSTILE_KEY", ""))
    match params["name"]:
        case "say":
            send({"id": number, "result": given["result"]})
        case "fail":
            send({"id": number, "error": {"code": -32000, "message": text, "data": {"at": text}}})
        case "tell":
            token = params["_meta"]["progressToken"]
            words = {"progressToken": token, "progress": 1, "message": text}
            send({"method": "notifications/progress", "params": words})
            send({"id": number, "result": {"content": [{"type": "text", "text": "told"}]}})
        case "temporary":
            try:
                with tempfile.TemporaryFile():
                    facts = {"there": True}
            except OSError as error:
                facts = {"there": error.strerror}
            send({"id": number, "result": {"content": [], "structuredContent": facts}})
        case "log":
            for _ in range(given["lines"]):
                words = {"level": "warning", "data": "x" * 200}
                send({"method": "notifications/message", "params": words})
            send({"id": number, "result": {"content": [{"type": "text", "text": "done"}]}})


for line in sys.stdin.buffer:
    said = json.loads(line)
    if "id" not in said or "method" not in said:
        continue
    if said["method"] == "initialize":
        version = said["params"]["protocolVersion"]
        info = {"name": "hostile", "version": "1"}
        capabilities: dict[str, Any] = {"tools": {}, "logging": {}}
        result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
        send({"id": said["id"], "result": result})
    elif said["method"] == "tools/list":
        words = f"made with {os.environ.get('HOSTILE_KEY')}"
        tools: list[dict[str, Any]] = [
            {"name": name, "description": words, "inputSchema": {"type": "object"}}
            for name in NAMES
        ]
        tools.append({"name": "typed", "inputSchema": {"type": "object"}, "outputSchema": OUTPUT})
        send({"id": said["id"], "result": {"tools": tools}})
    elif said["method"] == "tools/call":
        called(said["id"], said["params"])
