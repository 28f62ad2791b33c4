"""Story 14.8 through the real `pml stdio`, with a real cloud: local, cloud, mixed, away, refused."""

import contextlib
import datetime
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from pml.keys import Keys, environ_with
from pml.trust import trust_workspace

KEY = "tvly-5Tg1nB8vD3cX7"
ADD = '// __meta__: {"fqdn": "a.b.near.add", "routing": "server"}\nexport const add = ({a, b}) => ({sum: a + b});\n'
LOCAL = "return (await mcp.filesystem.read_text_file({path: 'numbers.json'})).content"
CLOUD = "return (await mcp.near.add({a: 1, b: 2})).sum"
MIXED = """const {content} = await mcp.filesystem.read_text_file({path: 'numbers.json'});
return (await mcp.near.add(JSON.parse(content))).sum"""
SEARCH = "return (await mcp.found.search({query: 'x'})).found"


@pytest.fixture
def cloud(one_cloud: Any) -> Any:
    """Which database is behind it makes no difference on this side."""
    return one_cloud


class Gateway:
    """`pml stdio` and a client of it."""

    def __init__(self, process: anyio.abc.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._reading = process.stdin, BufferedByteReceiveStream(process.stdout)
        self._number = 0

    async def request(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        await self._stdin.send(json.dumps(message).encode() + b"\n")
        with anyio.fail_after(60):
            while True:
                answer = json.loads(await self._reading.receive_until(b"\n", 1 << 24))
                if answer.get("id") == self._number:
                    return answer["result"]

    async def call(self, tool: str, **arguments: Any) -> Any:
        result = await self.request("tools/call", {"name": tool, "arguments": arguments})
        return result["structuredContent"]

    async def execute(self, code: str) -> Any:
        return await self.call("execute", code=code)


@contextlib.asynccontextmanager
async def _gateway(
    folder: Path, cloud: Any, allow: list[str], keys: tuple[str, ...] = ()
) -> AsyncIterator[Gateway]:
    project = folder / "project"
    project.mkdir()
    (project / "numbers.json").write_text('{"a": 20, "b": 22}')
    access = {"url": cloud.url, "apiKey": "${PML_API_KEY}", "keys": list(keys)}
    config = {"cloud": access, "permissions": {"allow": allow}}
    (project / ".pml.json").write_text(json.dumps(config))
    environ = _environ(folder) | {"PML_API_KEY": cloud.key("call")}
    _trust(project, environ)
    async with _served(project, environ) as client:
        yield client


def _environ(folder: Path) -> dict[str, str]:
    environ = {**os.environ, "PML_STATE": str(folder / "state")}
    for name in ("TAVILY_API_KEY", "PML_API_KEY"):
        environ.pop(name, None)
    return environ


def _trust(project: Path, environ: dict[str, str]) -> None:
    found = Keys(environ, project)
    now = datetime.datetime.now(datetime.UTC)
    trust_workspace(project, environ_with(found), Path.home(), now, found)


@contextlib.asynccontextmanager
async def _served(project: Path, environ: dict[str, str]) -> AsyncIterator[Gateway]:
    command = [sys.executable, "-m", "pml", "stdio"]
    async with await anyio.open_process(command, env=environ, cwd=project, stderr=None) as process:
        client = Gateway(process)
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
        await client.request("initialize", {**hello, "clientInfo": {"name": "t", "version": "1"}})
        yield client
        await client._stdin.aclose()


def _publish(cloud: Any, upstream: str) -> None:
    cloud.publish("a.b.near.add", ADD)
    facts = {"type": "http", "proxyTo": upstream, "envRequired": ["TAVILY_API_KEY"]}
    cloud.publish("pml.mcp.found.server", {**facts, "tools": ["found:search"]})


async def test_local_cloud_and_mixed_programs_run_each_where_it_should(
    cloud: Any, upstream: str, tmp_path: Path
) -> None:
    _publish(cloud, upstream)
    allow = ["near:add", "filesystem:read_text_file"]
    async with _gateway(tmp_path, cloud, allow) as gateway:
        assert (await gateway.execute(LOCAL))["result"] == '{"a": 20, "b": 22}'
        assert (await gateway.execute(CLOUD))["result"] == 3
        assert (await gateway.execute(MIXED))["result"] == 42
        found = await gateway.call("discover", query="add", pattern="near:*")
        assert [tool["id"] for tool in found["tools"]] == ["near:add"]
        planned = await gateway.call("execute", code=CLOUD, dryRun=True)
        assert planned["tools"][0]["decision"] == "allow"
    assert '"path":"/mcp"' in cloud.log.read_text()


async def test_from_init_to_calls_of_local_and_cloud_tools(
    cloud: Any, upstream: str, tmp_path: Path
) -> None:
    _publish(cloud, upstream)
    project, environ = tmp_path / "project", _environ(tmp_path)
    (project / ".git").mkdir(parents=True)
    (project / "numbers.json").write_text('{"a": 20, "b": 22}')
    command = [sys.executable, "-m", "pml", "init", "--yes", "--cloud", cloud.url]
    made = subprocess.run(
        [*command, "--api-key-stdin"], input=cloud.key("call"), env=environ, cwd=project,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert made.returncode == 3, made.stderr  # where calls go to, only the human says
    config = json.loads((project / ".pml.json").read_text())
    config["permissions"]["allow"].append("near:add")
    (project / ".pml.json").write_text(json.dumps(config))
    _trust(project, environ)
    async with _served(project, environ) as gateway:
        assert (await gateway.execute(LOCAL))["result"] == '{"a": 20, "b": 22}'
        assert (await gateway.execute(MIXED))["result"] == 42


async def test_a_cloud_that_goes_away_leaves_local_tools_as_they_are(
    new_database: Callable[[str], str], new_cloud: Any, upstream: str, tmp_path: Path
) -> None:
    cloud = new_cloud(new_database("sqlite"))
    _publish(cloud, upstream)
    allow = ["near:add", "filesystem:read_text_file"]
    async with _gateway(tmp_path, cloud, allow) as gateway:
        assert (await gateway.execute(CLOUD))["result"] == 3
        cloud.process.kill()
        cloud.process.wait(30)
        told = await gateway.execute(CLOUD)
        assert told["toolCode"] == "cloud_offline"
        assert "cannot be reached" in told["message"]
        assert (await gateway.execute(LOCAL))["status"] == "success"


async def test_a_file_outside_the_workspace_is_refused_and_the_attempt_is_audited(
    cloud: Any, tmp_path: Path
) -> None:
    async with _gateway(tmp_path, cloud, ["filesystem:read_text_file"]) as gateway:
        code = "return await mcp.filesystem.read_text_file({path: '/etc/hostname'})"
        told = await gateway.execute(code)
        assert told["status"] == "error"
        assert "outside" in told["message"]
    shown = subprocess.run(
        [sys.executable, "-m", "pml", "audit", "show", "--json", "--event", "call_ended"],
        cwd=tmp_path / "project",
        env={**os.environ, "PML_STATE": str(tmp_path / "state")},
        capture_output=True,
        check=True,
    )
    [line] = [json.loads(line)["facts"] for line in shown.stdout.splitlines()]
    assert (line["tool"], line["outcome"]) == ("filesystem:read_text_file", "error"), line


async def test_a_missing_key_is_named_and_found_in_env_without_a_restart(
    cloud: Any, upstream: str, tmp_path: Path
) -> None:
    _publish(cloud, upstream)
    async with _gateway(tmp_path, cloud, ["found:search"], ("TAVILY_API_KEY",)) as gateway:
        told = await gateway.execute(SEARCH)
        assert told["toolCode"] == "keys_missing"
        assert "TAVILY_API_KEY" in told["message"]
        (tmp_path / "project" / ".env").write_text(f"TAVILY_API_KEY={KEY}\n")
        assert (await gateway.execute(SEARCH))["result"] == "x"


@pytest.mark.parametrize("code", [LOCAL, MIXED])
async def test_nothing_of_a_program_with_local_tools_reaches_the_cloud_but_its_calls(
    cloud: Any, upstream: str, tmp_path: Path, code: str
) -> None:
    _publish(cloud, upstream)
    before = cloud.get("/metrics", x_api_key=cloud.key("metrics")).body.decode()
    allow = ["near:add", "filesystem:read_text_file"]
    async with _gateway(tmp_path, cloud, allow) as gateway:
        assert (await gateway.execute(code))["status"] == "success"
    after = cloud.get("/metrics", x_api_key=cloud.key("metrics")).body.decode()
    runs = [
        [line for line in text.splitlines() if line.startswith("pml_cloud_runs_total{")]
        for text in (before, after)
    ]
    assert runs[0] == runs[1]
