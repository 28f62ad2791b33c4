"""Servers: kinds, names, grants, variables; what is wrong with one stops no other."""

import json
from pathlib import Path
from typing import Any

import pytest

from pml.config import (
    ConfigError,
    HttpServerConfig,
    SandboxConfig,
    SandboxLimits,
    StdioServerConfig,
)
from pml.config.errors import InvalidValueError, MissingKeyError

from .conftest import Folder


def servers(**named: Any) -> str:
    return json.dumps({"mcpServers": named})


def stdio(folder: Folder, text: str, **environ: str) -> StdioServerConfig:
    [server] = folder.load(text, **environ).servers
    assert isinstance(server, StdioServerConfig)
    return server


def test_a_command_makes_a_local_server_that_is_granted_nothing(folder: Folder) -> None:
    server = stdio(folder, servers(s={"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}}))
    assert (server.name, server.command, server.args) == ("s", "npx", ("-y", "x"))
    assert dict(server.env) == {"A": "b"}
    assert server.sandbox == SandboxConfig()
    assert server.sandbox == SandboxConfig(
        mode="on", require=None, fs_read=(), fs_write=(), net=False, env=(), spawn=False,
        limits=SandboxLimits(None, None, None),
    )  # fmt: skip


@pytest.mark.parametrize("kind", [None, "http", "streamable-http", "streamableHttp"])
def test_an_address_makes_a_remote_server(folder: Folder, kind: str | None) -> None:
    entry = {"url": "https://x.y/mcp", "headers": {"X-Key": "k"}}
    text = servers(s={"type": kind, **entry} if kind else entry)
    [server] = folder.load(text).servers
    assert isinstance(server, HttpServerConfig)
    assert (server.name, server.url, dict(server.headers)) == (
        "s",
        "https://x.y/mcp",
        {"X-Key": "k"},
    )


def test_servers_keep_the_order_of_the_file(folder: Folder) -> None:
    config = folder.load(servers(z={"command": "c"}, a={"url": "https://x"}, m={"command": "c"}))
    assert [server.name for server in config.servers] == ["z", "a", "m"]


@pytest.mark.parametrize(
    ("entry", "kind", "words"),
    [
        ({"type": "sse", "url": "https://x"}, InvalidValueError, "SSE transport is not supported"),
        ({"type": "websocket", "url": "x"}, InvalidValueError, 'must be "stdio" or "http"'),
        ({"type": ["http"], "url": "x"}, InvalidValueError, 'must be "stdio" or "http"'),
        ({"command": "c", "url": "https://x"}, InvalidValueError, "not both"),
        ({}, MissingKeyError, "`command` (a local server) or `url` (a remote one) is missing"),
        ({"type": "stdio"}, MissingKeyError, "`command` is missing"),
        ({"type": "http"}, MissingKeyError, "`url` is missing"),
        ({"command": ""}, InvalidValueError, "is empty"),
        ({"command": "a\0b"}, InvalidValueError, "NUL"),
        ({"command": "c", "args": ["\0"]}, InvalidValueError, "NUL"),
        ({"command": "c", "env": {"A=B": "x"}}, InvalidValueError, "variable's name"),
        ({"command": "c", "env": {"1A": "x"}}, InvalidValueError, "variable's name"),
        ({"command": "${C:-}x${"}, InvalidValueError, "begins no variable"),
        ({"url": "localhost:80"}, InvalidValueError, "not an address"),
        ({"url": "https://user:pw@x"}, InvalidValueError, "no user or password"),
        ({"url": "https://x", "headers": {"A B": "x"}}, InvalidValueError, "HTTP header"),
        ({"url": "https://x", "headers": {"A": "b\r\nC: d"}}, InvalidValueError, "line breaks"),
    ],
)
def test_entries_that_are_no_server(
    folder: Folder, entry: dict[str, Any], kind: type[ConfigError], words: str
) -> None:
    error = folder.error(servers(s=entry))
    assert isinstance(error, kind)
    assert words in error.message


@pytest.mark.parametrize("name", ["a", "GitHub", "my-server_2", "x" * 64, "then", "constructor"])
def test_names(folder: Folder, name: str) -> None:
    assert stdio(folder, servers(**{name: {"command": "c"}})).name == name


@pytest.mark.parametrize(
    "name", ["", "a.b", "a:b", "a b", "é", "x" * 65, "a__b", "pml", "PML", "std", "mcp", "a\n"]
)
def test_names_that_no_server_may_have_are_told_at_the_key(folder: Folder, name: str) -> None:
    text = '{"mcpServers":\n  {' + json.dumps(name) + ': {"command": "c"}}}'
    error = folder.error(text)
    assert isinstance(error, InvalidValueError)
    assert (error.line, error.column) == (2, 4)


def test_two_servers_differ_in_more_than_letter_case(folder: Folder) -> None:
    text = (
        '{"mcpServers": {"git": {"command": "c"}},\n "privateMcps": {"Git": {"url": "https://x"}}}'
    )
    error = folder.error(text)
    assert (error.line, error.column) == (2, 18)
    assert "the server on line 1 has this name" in error.message


def test_grants_are_read_with_real_paths(folder: Folder) -> None:
    (folder.home / "real").mkdir()
    (folder.home / "linked").symlink_to("real")
    block = {
        "mode": "off",
        "require": "partial",
        "fsRead": ["~/linked", "~", "/etc/hosts", "${DATA}/x", "../beside"],
        "fsWrite": ["${workspace}", "out/new", "."],
        "net": ["API.example.com", "127.0.0.1:8080", "localhost"],
        "env": ["LANG"],
        "spawn": True,
        "limits": {"memoryMb": 512, "procs": 4, "openFiles": 64},
    }
    server = stdio(
        folder, servers(s={"command": "c", "sandbox": block}), LANG="C", DATA="/srv/data"
    )
    home, work = folder.home, folder.path
    assert server.sandbox == SandboxConfig(
        mode="off",
        require="partial",
        fs_read=(home / "real", home, Path("/etc/hosts"), Path("/srv/data/x"), home / "beside"),
        fs_write=(work, work / "out" / "new", work),
        net=("api.example.com", "127.0.0.1:8080", "localhost"),
        env=("LANG",),
        spawn=True,
        limits=SandboxLimits(512, 4, 64),
    )
    assert dict(server.handed) == {"LANG": "C"}


def test_all_or_no_network(folder: Folder) -> None:
    for value in (True, False):
        text = servers(s={"command": "c", "sandbox": {"net": value}})
        assert stdio(folder, text).sandbox.net is value


@pytest.mark.parametrize(
    "host",
    ["", "https://x", "x/y", "*.x.com", "x:", "x:0", "x:65536", "x:1:2", "a b", "-x", "x-", "é.fr",
     "a..b", "x" * 64, ".x", "${HOST}"],
)  # fmt: skip
def test_hosts_that_are_none(folder: Folder, host: str) -> None:
    text = servers(s={"command": "c", "sandbox": {"net": ["ok", host]}})
    assert folder.error(text).spot.path == ("mcpServers", "s", "sandbox", "net", 1)


def test_a_link_in_the_workspace_does_not_widen_a_grant(folder: Folder) -> None:
    # attack: a server replaces a granted folder by a link, and is granted the target next time
    (folder.home / ".ssh").mkdir()
    (folder.path / "data").symlink_to(folder.home / ".ssh")
    (folder.home / "alias").symlink_to(folder.path)
    for written in ("data", "${workspace}/data", "data/../data/key", "~/alias/data"):
        text = servers(s={"command": "c", "sandbox": {"fsWrite": [written]}})
        with pytest.raises(ConfigError, match="a link leads out of the workspace"):
            folder.load(text).server("s")


def test_a_link_that_stays_in_the_workspace_is_followed(folder: Folder) -> None:
    (folder.path / "v2").mkdir()
    (folder.path / "now").symlink_to("v2")
    text = servers(s={"command": "c", "sandbox": {"fsWrite": ["now"]}})
    assert stdio(folder, text).sandbox.fs_write == (folder.path / "v2",)


def test_the_home_of_others_is_not_known(folder: Folder) -> None:
    text = servers(s={"command": "c", "sandbox": {"fsRead": ["~root/x"]}})
    assert "another user's home" in folder.error(text).message


def test_a_server_is_found_by_name(folder: Folder) -> None:
    text = '{"mcpServers": {"a": {"command": "c"}}, "privateMcps": {"b": {"url": "https://x"}}}'
    config = folder.load(text)
    assert config.server("a") is config.servers[0]
    assert config.server("b") is config.private_mcps[0].server
    assert config.server("c") is None


def test_private_servers_are_defined_as_a_registry_does(folder: Folder) -> None:
    text = """{
  "private_mcps": {
    "internal-db": {
      "type": "stdio",
      "description": "Ours",
      "install": {"command": "npx", "args": ["@company/db"], "env_required": ["DB_URL"]},
      "tools": ["internal-db:query", "internal-db:migrate"],
      "sandbox": {"net": true}
    },
    "remote": {"type": "http", "url": "https://x", "tools": ["remote:t"]}
  }
}"""
    config = folder.load(text, DB_URL="postgres://")
    database, remote = config.private_mcps
    assert isinstance(database.server, StdioServerConfig)
    assert (database.name, database.description) == ("internal-db", "Ours")
    assert database.tools == ("internal-db:query", "internal-db:migrate")
    assert dict(database.server.environment) == {"DB_URL": "postgres://"}
    assert database.server.sandbox.net is True
    assert isinstance(remote.server, HttpServerConfig)
    problem = folder.load(text).unusable["internal-db"]
    assert "server `internal-db` requires DB_URL" in problem.message
    assert (problem.line, problem.column) == (6, 79)


def test_a_private_servers_tools_are_its_own(folder: Folder) -> None:
    text = '{"privateMcps": {"a": {"url": "https://x", "tools": ["b:t"]}}}'
    assert folder.error(text).spot.path == ("privateMcps", "a", "tools", 0)


def test_what_was_loaded_cannot_be_changed(folder: Folder) -> None:
    server = stdio(folder, servers(s={"command": "c", "env": {"A": "b"}}))
    with pytest.raises(TypeError):
        server.env["A"] = "c"  # type: ignore[index]
    with pytest.raises(AttributeError):
        server.command = "d"  # type: ignore[misc]
