"""The SDK's own client drives `pml stdio` over real servers, in both eras of the protocol."""

import importlib.util
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import Client, StdioServerParameters

_SERVERS = Path(__file__).parents[1] / "servers" / "conftest.py"
_SPEC = importlib.util.spec_from_file_location("servers_conftest", _SERVERS)
assert _SPEC is not None
assert _SPEC.loader is not None
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
core_set, trusted, workspace = _MODULE.core_set, _MODULE.trusted, _MODULE.workspace

ERAS = pytest.mark.parametrize(
    ("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")], ids=["2025", "2026"]
)
THREE = """
await mcp.memory.create_entities({entities: [{name: 'ada', entityType: 'person', observations: []}]});
const [graph, time, log] = await Promise.all([
  mcp.memory.read_graph({}),
  mcp.time.convert_time({source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo'}),
  mcp.git.git_log({repo_path: args.repo}),
]);
return {
  names: graph.entities.map((one) => one.name),
  tokyo: time.target.datetime.slice(11, 16),
  first: JSON.stringify(log).includes('first'),
}"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def project(workspace: Path, installed: Any) -> Path:
    servers = {
        name: one for name, one in core_set(installed).items() if name in ("memory", "time", "git")
    }
    config = {
        "mcpServers": servers,
        "permissions": {"allow": ["memory", "time:convert_time", "git:git_log"]},
        "expose": ["time:*"],
    }
    (workspace / ".pml.json").write_text(json.dumps(config), encoding="utf-8")
    path: Path = trusted(workspace)
    return path


@asynccontextmanager
async def connected(project: Path, mode: str, **more: Any) -> AsyncIterator[Client]:
    environ = {"PML_STATE": str(project.parent / "state"), "PML_WORKSPACE": str(project)}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "pml", "stdio"], cwd=str(project), env=environ
    )
    async with Client(server, mode=mode, **more) as client:
        yield client


@ERAS
async def test_tools_are_listed_found_and_run_over_three_servers(
    project: Path, mode: str, version: str
) -> None:
    async with connected(project, mode) as client:
        assert client.protocol_version == version
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names[:4] == ["execute", "discover", "continue_workflow", "abort_workflow"]
        assert sorted(names[4:]) == ["time__convert_time", "time__get_current_time"]
        found = await client.call_tool(
            "discover", {"query": "convert a time to another time zone"}
        )
        assert found.structured_content["tools"][0]["id"] == "time:convert_time"
        assert "convert_time(" in found.content[0].text
        ran = await client.call_tool(
            "execute", {"code": THREE, "args": {"repo": str(project / "repo")}}
        )
        assert not ran.is_error, ran
        assert ran.structured_content["result"] == {
            "names": ["ada"], "tokyo": "21:00", "first": True,
        }  # fmt: skip
        outcomes = {call["tool"]: call["outcome"] for call in ran.structured_content["calls"]}
        assert set(outcomes.values()) == {"ok"}
        assert len(outcomes) == 4


@ERAS
async def test_an_exposed_tool_is_called_directly(project: Path, mode: str, version: str) -> None:
    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    async with connected(project, mode) as client:
        result = await client.call_tool("time__convert_time", arguments)
    assert not result.is_error
    assert json.loads(result.content[0].text)["target"]["datetime"][11:16] == "21:00"


@ERAS
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
async def test_the_clients_human_is_asked(
    project: Path, mode: str, version: str, action: Any
) -> None:
    asked: list[str] = []

    async def answer(_: Any, params: Any) -> mcp_types.ElicitResult:
        asked.append(params.message)
        content = {"verdict": "yes"} if action == "accept" else None
        return mcp_types.ElicitResult(action=action, content=content)

    code = "try { return (await mcp.time.get_current_time({timezone: 'UTC'})).timezone } catch (e) { return e.code }"
    async with connected(project, mode, elicitation_callback=answer) as client:
        facts = (await client.call_tool("execute", {"code": code})).structured_content
    assert len(asked) == 1
    assert "the call time:get_current_time wants to be made" in asked[0]
    expected = {"accept": "UTC", "decline": "call_denied", "cancel": None}[action]
    assert facts.get("result") == expected
    assert (facts["status"] == "approval_required") is (action == "cancel")
