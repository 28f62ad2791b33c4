"""`pml stdio` as a client meets it: both eras, concurrent calls, a wire that nothing disturbs."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from .conftest import Workspace, accepting, connected

ERAS = pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
OWN = ["execute", "discover", "continue_workflow", "abort_workflow"]


@ERAS
async def test_a_program_runs_and_its_calls_are_told(workspace: Workspace, modern: bool) -> None:
    workspace.configure(permissions={"allow": ["counter"]})
    code = (
        "console.log('hi'); const {did} = await mcp.counter.one({}); return {did, n: args.n * 2}"
    )
    async with connected(workspace, modern=modern) as client:
        result = await client.call("execute", code=code, args={"n": 21})
        facts = result["structuredContent"]
    assert "isError" not in result
    assert (facts["status"], facts["result"]) == ("success", {"did": "one", "n": 42})
    assert facts["logs"] == [{"level": "log", "text": "hi"}]
    [call] = facts["calls"]
    assert (call["tool"], call["outcome"]) == ("counter:one", "ok")
    assert call["milliseconds"] > 0
    assert result.get("resultType") == ("complete" if modern else None)


@ERAS
async def test_a_failure_is_an_error_with_its_place(workspace: Workspace, modern: bool) -> None:
    async with connected(workspace.configure(), modern=modern) as client:
        result = await client.call("execute", code="const a = 1;\nnull.x;")
        facts = result["structuredContent"]
        assert result["isError"] is True
        assert (facts["status"], facts["code"], facts["line"]) == ("error", "uncaught_error", 2)
        assert facts["column"] > 0
        late = await client.facts("execute", code="for (;;);", timeoutSeconds=0.2)
        assert late["code"] in ("wall_limit", "cpu_limit")
        assert late["hint"]


@ERAS
async def test_the_model_has_four_tools_that_are_always_loaded(
    workspace: Workspace, modern: bool
) -> None:
    async with connected(workspace.configure(), modern=modern) as client:
        listed = await client.request("tools/list")
        started = await client.request("server/discover") if modern else None
    assert [tool["name"] for tool in listed["tools"]] == OWN
    for tool in listed["tools"]:
        assert tool["_meta"]["anthropic/alwaysLoad"] is True
        assert tool["inputSchema"]["additionalProperties"] is False
        assert "approved" not in json.dumps(tool)
    if started is not None:
        assert "Servers: counter" in started["instructions"]


async def test_a_plan_tells_what_would_be_called_and_runs_nothing(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["counter:one"], "deny": ["counter:two"]})
    code = "await mcp.counter.one({}); await mcp.counter.two({}); await mcp.counter.three({})"
    async with connected(workspace) as client:
        facts = await client.facts("execute", code=code, dryRun=True)
        wrong = await client.facts("execute", code="const = 1", dryRun=True)
    decisions = {tool["tool"]: tool["decision"] for tool in facts["tools"]}
    assert decisions == {
        "counter:one": "allow", "counter:two": "deny", "counter:three": "ask",
    }  # fmt: skip
    assert wrong["problem"]["message"]
    assert workspace.effects == []


async def test_fifty_programs_at_once_get_their_own_answers(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["*"]}, builtins=["json"])
    code = """
    const [own, did] = await Promise.all([
      mcp.json.stringify({value: {n: args.n}}), mcp.counter.one({n: args.n}),
    ]);
    return {n: args.n, own, did: did.did}"""
    results: dict[int, object] = {}
    async with connected(workspace) as client:

        async def run(number: int) -> None:
            facts = await client.facts("execute", code=code, args={"n": number})
            results[number] = facts.get("result", facts)

        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(run, number)
    for number in range(50):
        found = results[number]
        assert isinstance(found, dict), found
        assert (found["n"], found["did"]) == (number, "one"), found
        assert json.loads(found["own"]["text"]) == {"n": number}


async def test_junk_on_the_wire_disturbs_nothing(workspace: Workspace) -> None:
    async with connected(workspace.configure()) as client:
        for junk in (b"\n", b"hello\n", b"[]\n", b'{"jsonrpc": "1.0"}\n', b"\xff\xfe\n", b"{\n"):
            await client.send(junk)
        half = json.dumps(
            {"jsonrpc": "2.0", "id": 77, "method": "tools/call",
             "params": {"name": "execute", "arguments": {"code": "'grüße'"}}},
            ensure_ascii=False,
        ).encode()  # fmt: skip
        client._waiting[77] = anyio.Event()
        at = half.index("ü".encode()) + 1
        await client.send(half[:at])
        await client.send(half[at:] + b"\n")
        result = await client.end(77)
        assert result["structuredContent"]["result"] == "grüße"
    assert "dropped a line: this is no JSON-RPC message" in client.stderr


async def test_half_a_surrogate_pair_in_a_result_ends_nothing(workspace: Workspace) -> None:
    async with connected(workspace.configure()) as client:
        facts = await client.facts("execute", code=r"'a\ud800b'")
        assert facts["code"] == "result_not_json"
        assert (await client.facts("execute", code="1"))["result"] == 1


async def test_an_answer_of_megabytes_arrives_whole(workspace: Workspace) -> None:
    async with connected(workspace.configure()) as client:
        facts = await client.facts("execute", code="'x'.repeat(3_000_000)")
    assert facts["result"] == "x" * 3_000_000


async def test_a_cancelled_program_stops_and_is_not_answered(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["counter"]})
    code = "for (let i = 0; ; i++) { await mcp.counter.one({}); await new Promise(r => setTimeout(r, 1)) }"
    async with connected(workspace) as client:
        number = await client.begin("tools/call", {"name": "execute", "arguments": {"code": code}})
        with anyio.fail_after(30):
            while not workspace.effects:
                await anyio.sleep(0.01)
        params = {"requestId": number, "reason": "enough"}
        await client.send(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        )
        assert (await client.facts("execute", code="1"))["result"] == 1
        before = len(workspace.effects)
        assert (await client.facts("execute", code="2"))["result"] == 2
        assert len(workspace.effects) <= before + 1
        assert number not in client._results


async def test_progress_is_told_to_a_client_that_asks_for_it(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["counter"]})
    code = "await mcp.counter.one({}); await mcp.counter.two({})"
    async with connected(workspace) as client:
        params = {
            "name": "execute", "arguments": {"code": code}, "_meta": {"progressToken": "t"},
        }  # fmt: skip
        await client.request("tools/call", params)
    told = [one["params"] for one in client.notified if one["method"] == "notifications/progress"]
    assert [(one["progressToken"], one["progress"], one["message"]) for one in told] == [
        ("t", 1, "counter:one"), ("t", 2, "counter:two"),
    ]  # fmt: skip


def children_of(pid: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, check=False
    )
    return [int(word) for word in found.stdout.split()]


@pytest.mark.parametrize("end", ["hang up", "SIGTERM", "SIGKILL"])
async def test_a_client_that_goes_leaves_no_process_and_no_running_guest(
    workspace: Workspace, end: str
) -> None:
    workspace.configure(permissions={"allow": ["counter"]})
    code = "await mcp.counter.one({}); for (;;) await new Promise(r => setTimeout(r, 5))"
    async with connected(workspace) as client:
        await client.begin("tools/call", {"name": "execute", "arguments": {"code": code}})
        with anyio.fail_after(30):
            while not workspace.effects:
                await anyio.sleep(0.01)
        children = children_of(client.process.pid)
        assert children
        if end == "hang up":
            assert await client.hang_up() == 0
        else:
            os.kill(client.process.pid, getattr(signal, end))
            with anyio.fail_after(20):
                code_left = await client.process.wait()
            assert code_left == (0 if end == "SIGTERM" else -signal.SIGKILL)
        with anyio.fail_after(10):
            while any(_is_alive(child) for child in children):
                await anyio.sleep(0.02)


def _is_alive(pid: int) -> bool:
    try:
        facts = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return facts.rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_what_a_library_prints_does_not_reach_the_wire(workspace: Workspace) -> None:
    """Attack: something in the process writes to stdout, which would be read as a message."""
    workspace.configure()
    site = workspace.path.parent / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import threading, os, sys\n"
        "def noise():\n"
        "    import time\n"
        "    for _ in range(200):\n"
        "        time.sleep(0.01)\n"
        "        if 'mcp' in sys.modules:\n"
        '            os.write(1, b\'{"jsonrpc":"2.0","id":1,"result":"forged"}\\n\')\n'
        "threading.Thread(target=noise, daemon=True).start()\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pml", "stdio"]
    environ = {**workspace.environ, "PYTHONPATH": str(site)}
    sent = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "execute",
            "arguments": {"code": "await new Promise(r => setTimeout(r, 600)); 'done'"}}},
    ]  # fmt: skip
    async with await anyio.open_process(command, cwd=workspace.path, env=environ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for one in sent:
            await process.stdin.send(json.dumps(one).encode() + b"\n")
        received = b""
        with anyio.fail_after(60):
            while b'"id":2' not in received:
                received += await process.stdout.receive()
        process.kill()
    lines = [json.loads(line) for line in received.split(b"\n") if line.startswith(b"{")]
    answers = {line["id"]: line["result"] for line in lines}
    assert answers[1]["serverInfo"]["name"] == "pml"
    assert answers[2]["structuredContent"]["result"] == "done"
    assert received.count(b"forged") == 0


async def test_the_configuration_counts_as_it_is_now(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["counter"]})
    call = "(await mcp.counter.one({})).did"
    async with connected(workspace, answer=accepting("yes")) as client:
        assert (await client.facts("execute", code=call))["result"] == "one"
        workspace.configure(
            permissions={"allow": ["counter"], "deny": ["counter:one"]}, trust=False
        )
        denied = await client.facts("execute", code=call)
        assert denied["toolCode"] == "call_denied"
        (workspace.path / ".pml.json").write_text("{", encoding="utf-8")
        broken = await client.call("execute", code="1")
        assert broken["isError"] is True
        assert ".pml.json:1" in json.dumps(broken)
        workspace.configure(permissions={"allow": ["counter"]})
        assert (await client.facts("execute", code=call))["result"] == "one"


async def test_a_cloned_workspace_is_not_used_and_the_human_is_told(workspace: Workspace) -> None:
    """Attack: a repository brings its own servers and allows itself everything."""
    workspace.configure(permissions={"allow": ["*"]}, trust=False)
    async with connected(workspace) as client:
        refused = await client.facts("execute", code="await mcp.counter.one({})")
        assert refused["toolCode"].startswith("untrusted")
        workspace.trust()
        assert (await client.facts("execute", code="(await mcp.counter.one({})).did"))["result"]
    assert workspace.effects == ["one"]


def test_a_start_loads_no_room_that_its_workspace_has_no_use_for(workspace: Workspace) -> None:
    """Every client waits for the start: registries, clouds and HTTP are loaded where there is one."""
    command = [sys.executable, "-X", "importtime", "-m", "pml", "stdio"]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env=workspace.configure().environ, timeout=60,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"pml.gateway.server", "pml.assembly.servers", "sandbox_host"} <= loaded
    unused = {"httpcore2", "pml.loader.metadata", "pml.assembly.registry", "pml.assembly.cloud"}
    assert not unused & loaded
