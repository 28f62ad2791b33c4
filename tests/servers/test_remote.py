"""A remote server of the configuration: the same face, the same values, the same errors."""

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .conftest import trusted
from .test_cli import pml


@pytest.fixture
def url(installed: Any) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = installed.node("@modelcontextprotocol/server-everything")
    process = subprocess.Popen(
        [*command, "streamableHttp"], env={"PORT": str(port)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait(10)


def test_it_is_called_like_a_local_one(url: str, workspace: Path) -> None:
    servers = {
        "far": {"type": "http", "url": url},
        "plain": {"type": "http", "url": "http://example.com/mcp"},
    }
    (workspace / ".pml.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    trusted(workspace)
    code = """const said = [await mcp.far.echo({message: "hi"})];
        said.push(await mcp.far["get-structured-content"]({location: "New York"}));
        try { await mcp.plain.echo({}) } catch (error) { said.push(error.code) }
        return said"""
    done = pml(workspace, "run", "--yes", "--json", "-e", code)
    echoed, structured, refused = json.loads(done.stdout)["result"]
    assert echoed == "Echo: hi"
    assert set(structured) == {"temperature", "conditions", "humidity"}
    assert refused == "remote_refused"
    shown = {one["name"]: one for one in json.loads(pml(workspace, "servers", "--json").stdout)}
    assert (shown["far"]["kind"], shown["far"]["level"]) == ("http", "remote")
    assert shown["far"]["tools"] > 10
