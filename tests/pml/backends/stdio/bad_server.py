"""An MCP server that misbehaves in the way its first argument names. Stdlib alone."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

KIND = sys.argv[1]
OUT = sys.stdout.buffer


def raw(data: bytes) -> None:
    OUT.write(data)
    OUT.flush()


def send(message: object) -> None:
    raw(json.dumps(message, ensure_ascii=False).encode() + b"\n")


def result(number: object, value: object) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": value})


def text(number: object, words: str) -> None:
    result(number, {"content": [{"type": "text", "text": words}]})


def schema() -> dict[str, object]:
    return {"type": "object", "properties": {}}


TOOLS: list[object] = [{"name": "good", "inputSchema": schema()}]
held: list[tuple[object, dict[str, object]]] = []


def initialize(message: dict) -> None:
    if KIND == "silent-start":
        return
    if KIND == "dies-at-start":
        sys.stderr.write("the database is not there\n")
        sys.stderr.flush()
        sys.exit(3)
    if KIND == "modern-only":
        send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}})
        return
    version = {"old": "2024-11-05", "ancient": "2024-10-07"}.get(KIND, "2025-11-25")
    info = {"name": "bad", "version": "1"}
    result(message["id"], {
        "protocolVersion": version, "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": info,
    })  # fmt: skip


def discover(message: dict) -> None:
    meta = message["params"]["_meta"]
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    result(message["id"], {
        "resultType": "complete", "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}}, "serverInfo": {"name": "bad", "version": "1"},
    })  # fmt: skip


def list_tools(message: dict) -> None:
    params = message.get("params") or {}
    if KIND == "pages":
        page = int(params.get("cursor", "0"))
        tools = [{"name": f"tool{page}", "inputSchema": schema()}]
        more = {"nextCursor": str(page + 1)} if page < 4 else {}
        result(message["id"], {"tools": tools, **more})
    elif KIND == "endless-pages":
        page = int(params.get("cursor", "0"))
        result(message["id"], {"tools": [], "nextCursor": str(page + 1)})
    elif KIND == "same-cursor":
        result(message["id"], {"tools": TOOLS, "nextCursor": "again"})
    elif KIND == "changes-while-listing" and len(TOOLS) == 1:
        said = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {"tools": TOOLS}}
        raw(json.dumps(answer).encode() + b"\n" + json.dumps(said).encode() + b"\n")
        TOOLS.append({"name": "new1", "inputSchema": schema()})
    elif KIND == "malformed-tool":
        result(message["id"], {"tools": [*TOOLS, {"name": "bad"}, 7, {"inputSchema": schema()}]})
    else:
        result(message["id"], {"tools": TOOLS})


def call(message: dict) -> None:  # noqa: C901, PLR0912, PLR0915 - one branch per bad habit
    number, arguments = message["id"], message["params"]["arguments"]
    words = arguments.get("text", "fine")
    if KIND == "blank-lines":
        raw(b"\n\n   \n\r\n")
        text(number, words)
    elif KIND == "junk-lines":
        raw(b'Starting server... hello\n{not json\n[1, 2]\n"text"\nnull\n\xff\xfe\n')
        raw(b"[" * 5000 + b"\n")
        text(number, words)
    elif KIND == "split-characters":
        line = json.dumps({"jsonrpc": "2.0", "id": number, "result": {
            "content": [{"type": "text", "text": "é€😀" * 50}]}}, ensure_ascii=False)  # fmt: skip
        for byte in line.encode() + b"\n":
            raw(bytes([byte]))
    elif KIND == "large-line":
        text(number, "x" * int(arguments["bytes"]))
    elif KIND == "endless-line":
        raw(b'{"jsonrpc": "2.0", "id": ' + str(number).encode() + b', "result": {"content": "')
        for _ in range(20):
            raw(b"x" * (1 << 20))
        raw(b'"}}\n')
    elif KIND == "out-of-order":
        held.append((number, arguments))
        if len(held) == 10:
            for one, given in reversed(held):
                text(one, given["text"])
            held.clear()
    elif KIND == "duplicate-ids":
        text(number, words)
        text(number, "second answer")
    elif KIND == "unknown-ids":
        text(999_999, "whose?")
        text("abc", "whose?")
        text(None, "whose?")
        text(True, "whose?")
        text(number, words)
    elif KIND == "string-ids":
        text(str(number), words)
    elif KIND == "request-with-pending-id":
        send({"jsonrpc": "2.0", "id": number, "method": "ping"})
        send({"jsonrpc": "2.0", "id": number, "method": "roots/list"})
        held.append((number, arguments))
    elif KIND == "asks":
        send({"jsonrpc": "2.0", "id": "q", "method": arguments["method"], "params": {"n": 1}})
        held.append((number, arguments))
    elif KIND == "asks-a-lot":
        for question in range(200):
            send({"jsonrpc": "2.0", "id": f"q{question}", "method": "elicitation/create"})
        text(number, words)
    elif KIND == "silent":
        if arguments.get("quiet"):
            held.append((number, arguments))
        else:
            text(number, json.dumps({"cancelled": cancelled}))
    elif KIND == "exits":
        sys.stderr.write("Traceback: it\x1b[31m broke\n")
        sys.stderr.flush()
        os._exit(7)
    elif KIND == "exits-with-half-a-line":
        raw(b'{"jsonrpc": "2.0", "id": 1')
        os._exit(0)
    elif KIND == "killed":
        os.kill(os.getpid(), signal.SIGSEGV)
        time.sleep(10)
    elif KIND == "closes-output":
        os.close(1)
        time.sleep(60)
    elif KIND == "forks-a-daemon":
        text(number, str(daemon(arguments["file"])))
    elif KIND == "floods-stderr":
        threading.Thread(target=flood, daemon=True).start()
        text(number, words)
    elif KIND == "floods-stdout":
        for count in range(20_000):
            send({"jsonrpc": "2.0", "method": "notifications/message",
                  "params": {"level": "info", "data": count}})  # fmt: skip
        text(number, words)
    elif KIND == "progress":
        token = message["params"]["_meta"]["progressToken"]
        for done in (1, 2):
            send(
                {
                    "jsonrpc": "2.0",
                    "method": "notifications/progress",
                    "params": {
                        "progressToken": token,
                        "progress": done,
                        "total": 2,
                        "message": f"step {done}",
                    },
                }
            )
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
            "progressToken": [], "progress": "x"}})  # fmt: skip
        send({"jsonrpc": "2.0", "method": "notifications/message",
              "params": {"level": "warning", "data": {"disk": "full"}}})  # fmt: skip
        text(number, words)
    elif KIND == "changes-its-list":
        TOOLS.append({"name": f"new{len(TOOLS)}", "inputSchema": schema()})
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        text(number, words)
    elif KIND == "rpc-error":
        error = {"code": -32602, "message": "no \x1b[2J such city", "data": {"city": "x"}}
        send({"jsonrpc": "2.0", "id": number, "error": error})
    elif KIND == "no-result":
        send({"jsonrpc": "2.0", "id": number})
    elif KIND == "error-is-text":
        send({"jsonrpc": "2.0", "id": number, "error": "bad"})
    elif KIND == "modern-only":
        assert message["params"]["_meta"]["io.modelcontextprotocol/clientInfo"]["name"] == "pml"
        result(number, {"resultType": "complete", "content": [{"type": "text", "text": words}]})
    elif KIND == "environment":
        text(number, json.dumps(dict(os.environ)))
    elif KIND == "pid":
        text(number, str(os.getpid()))
    else:
        text(number, words)


def daemon(file: str) -> int:
    """Start a process that leaves our session and writes a heartbeat for ever."""
    code = (
        "import os, sys, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "while True:\n"
        "    open(sys.argv[1], 'w').write(f'{os.getpid()} {time.time()}'); time.sleep(0.02)\n"
    )
    return subprocess.Popen([sys.executable, "-c", code, file]).wait()


def flood() -> None:
    while True:
        sys.stderr.write("noise " * 1000 + "\n")


cancelled: list[object] = []


def notified(message: dict) -> None:
    if message["method"] == "notifications/cancelled":
        cancelled.append(message["params"]["requestId"])


def answered(message: dict) -> None:
    """Our client has answered a request of ours: tell what it said."""
    if held:
        number, _ = held.pop()
        text(number, json.dumps({key: message.get(key) for key in ("id", "result", "error")}))


def main() -> None:
    if KIND == "refuses-to-end":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    methods = {"initialize": initialize, "server/discover": discover, "tools/list": list_tools,
               "tools/call": call}  # fmt: skip
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "method" not in message:
            answered(message)
        elif "id" not in message:
            notified(message)
        else:
            methods[message["method"]](message)
    while KIND == "refuses-to-end":
        time.sleep(1)


main()
