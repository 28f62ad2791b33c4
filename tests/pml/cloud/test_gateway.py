"""Tools of a cloud through the real `pml`: configured, trusted, permitted, audited, away."""

import datetime
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pml.trust import trust_workspace

KEY = "tvly-7Gh2kW9sQ4eR8"
PROGRAM = "const {sum} = await mcp.near.add({a: 1, b: 2}); return sum"
SEARCH = "return await mcp.found.search({query: 'x'})"


@pytest.fixture
def cloud(one_cloud: Any) -> Any:
    """Which database is behind it makes no difference on this side."""
    return one_cloud


class Workspace:
    """A project whose human trusts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.home = folder / "home"
        self.home.mkdir()
        kept = {
            name: os.environ[name] for name in ("PATH", "XDG_CACHE_HOME") if name in os.environ
        }
        cache = {"XDG_CACHE_HOME": str(Path.home() / ".cache")}
        own = {"HOME": str(self.home), "PML_STATE": str(folder / "state")}
        self.environ = {**cache, **kept, **own, "PML_WORKSPACE": str(self.folder)}

    def configure(self, cloud: dict[str, Any], allow: list[str]) -> None:
        facts = {"cloud": cloud, "permissions": {"allow": allow}, "builtins": False}
        (self.folder / ".pml.json").write_text(json.dumps(facts))
        now = datetime.datetime.now(datetime.UTC)
        trust_workspace(self.folder, self.environ, self.home, now)

    def pml(self, *arguments: str, **environ: str) -> Any:
        return subprocess.run(
            [sys.executable, "-m", "pml", *arguments],
            cwd=self.folder,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    def run(self, code: str, **environ: str) -> Any:
        return json.loads(self.pml("run", "-e", code, "--json", **environ).stdout)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def _publish(cloud: Any, upstream: str) -> None:
    code = '// __meta__: {"fqdn": "a.b.near.add", "routing": "server"}\n'
    cloud.publish("a.b.near.add", code + "export const add = ({a, b}) => ({sum: a + b});\n")
    facts = {"type": "http", "proxyTo": upstream, "envRequired": ["TAVILY_API_KEY"]}
    cloud.publish("pml.mcp.found.server", {**facts, "tools": ["found:search"]})


def test_a_tool_of_the_cloud_is_called_under_the_users_permissions_and_audited(
    cloud: Any, upstream: str, workspace: Workspace
) -> None:
    _publish(cloud, upstream)
    access = {"url": cloud.url, "apiKey": "${PML_API_KEY}"}
    workspace.configure(access, ["near:add"])
    told = workspace.run(PROGRAM, PML_API_KEY=cloud.key("call"))
    assert told["result"] == 3, told
    asked = workspace.run(SEARCH, PML_API_KEY=cloud.key("call"))
    assert asked["status"] == "approval_required"
    audit = workspace.pml("audit", "show", "--json", "--tool", "near:add").stdout
    assert '"call_ended"' in audit
    assert cloud.key("call")[-20:] not in audit


def test_a_program_mixes_tools_of_both_sides(
    cloud: Any, upstream: str, workspace: Workspace
) -> None:
    _publish(cloud, upstream)
    (workspace.folder / "numbers.json").write_text('{"a": 20, "b": 22}')
    access = {"url": cloud.url, "apiKey": "${PML_API_KEY}"}
    workspace.configure(access, ["near:add", "filesystem:read_text_file"])
    facts = json.loads((workspace.folder / ".pml.json").read_text())
    (workspace.folder / ".pml.json").write_text(json.dumps({**facts, "builtins": True}))
    now = datetime.datetime.now(datetime.UTC)
    trust_workspace(workspace.folder, workspace.environ, workspace.home, now)
    code = """const {content} = await mcp.filesystem.read_text_file({path: 'numbers.json'});
return (await mcp.near.add(JSON.parse(content))).sum"""
    assert workspace.run(code, PML_API_KEY=cloud.key("call"))["result"] == 42


def test_a_key_of_the_users_goes_with_a_call_only_if_it_is_named(
    cloud: Any, upstream: str, workspace: Workspace
) -> None:
    _publish(cloud, upstream)
    access = {"url": cloud.url, "apiKey": "${PML_API_KEY}"}
    keys = {"PML_API_KEY": cloud.key("call"), "TAVILY_API_KEY": KEY}
    workspace.configure(access, ["found:search"])
    refused = workspace.run(SEARCH, **keys)
    assert refused["toolCode"] == "keys_missing"
    assert "TAVILY_API_KEY" in refused["message"]
    workspace.configure({**access, "keys": ["TAVILY_API_KEY"]}, ["found:search"])
    told = workspace.run(SEARCH, **keys)
    assert told["result"]["found"] == "x", told
    assert told["result"]["headers"]["authorization"] == "Bearer [secret TAVILY_API_KEY]"
    assert KEY not in json.dumps(told)


def test_without_an_api_key_local_tools_work_and_the_cloud_says_what_it_needs(
    cloud: Any, upstream: str, workspace: Workspace
) -> None:
    _publish(cloud, upstream)
    workspace.configure({"url": cloud.url, "apiKey": "${PML_API_KEY}"}, ["near:add"])
    told = workspace.run(PROGRAM)
    assert told["message"].startswith("McpError: Cloud mode requires PML_API_KEY"), told
    assert workspace.run("return 1 + 1")["result"] == 2


def test_a_cloud_that_is_away_is_told_and_local_tools_go_on(
    new_database: Callable[[str], str], new_cloud: Any, upstream: str, workspace: Workspace
) -> None:
    cloud = new_cloud(new_database("sqlite"))
    _publish(cloud, upstream)
    key = {"PML_API_KEY": cloud.key("call")}
    workspace.configure({"url": cloud.url, "apiKey": "${PML_API_KEY}"}, ["near:add"])
    assert workspace.run(PROGRAM, **key)["result"] == 3
    cloud.process.kill()
    cloud.process.wait(30)
    told = workspace.run(PROGRAM, **key)
    assert told["toolCode"] == "cloud_offline"
    assert "local tools go on working" in told["message"]
    assert workspace.run("return 1 + 1", **key)["result"] == 2


def test_an_untrusted_file_cannot_name_keys_for_the_cloud(
    cloud: Any, upstream: str, workspace: Workspace
) -> None:
    """Attack: a program rewrites `.pml.json` so that more keys go to the cloud."""
    _publish(cloud, upstream)
    access = {"url": cloud.url, "apiKey": "${PML_API_KEY}"}
    workspace.configure(access, ["found:search"])
    facts = json.loads((workspace.folder / ".pml.json").read_text())
    facts["cloud"]["keys"] = ["TAVILY_API_KEY"]
    (workspace.folder / ".pml.json").write_text(json.dumps(facts))
    told = workspace.run(SEARCH, PML_API_KEY=cloud.key("call"), TAVILY_API_KEY=KEY)
    assert told["status"] == "error"
    assert "bearer" not in json.dumps(told).lower()
