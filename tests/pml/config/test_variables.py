"""Variables of servers: where they are filled in, and whom a missing one stops."""

import json
from typing import Any

import pytest

from pml.config import HttpServerConfig, MissingVariablesError, StdioServerConfig
from pml.config.errors import InvalidValueError

from .conftest import Folder


def servers(**named: Any) -> str:
    return json.dumps({"mcpServers": named})


def test_variables_are_filled_in_wherever_they_may_stand(folder: Folder) -> None:
    text = servers(
        a={"command": "~/bin/${N}", "args": ["--dir=${workspace}", "$${N}", "${M:-m}"],
           "env": {"X": "<${N}>"}},
        b={"url": "https://${N}.example.com", "headers": {"Authorization": "Bearer ${N}"}},
    )  # fmt: skip
    local, remote = folder.load(text, N="node").servers
    assert isinstance(local, StdioServerConfig)
    assert isinstance(remote, HttpServerConfig)
    assert local.command == f"{folder.home}/bin/node"
    assert dict(local.env) == {"X": "<node>"}
    assert local.args == (f"--dir={folder.path}", "${N}", "m")
    assert remote.url == "https://node.example.com"
    assert dict(remote.headers) == {"Authorization": "Bearer node"}


def test_a_missing_variable_stops_only_the_server_that_needs_it(folder: Folder) -> None:
    text = """{
  "mcpServers": {
    "bad": {
      "command": "c",
      "args": ["${ONE}"],
      "env": {"A": "${TWO}", "B": "${TWO}", "C": "your-key-here", "D": "${THERE}"},
      "sandbox": {"env": ["THREE"], "fs_read": ["${FOUR}/x"]}
    },
    "good": {"command": "c"}
  }
}"""
    config = folder.load(text, THERE="secret", THREE="xxx")
    assert [server.name for server in config.servers] == ["good"]
    assert list(config.unusable) == ["bad"]
    with pytest.raises(MissingVariablesError) as caught:
        config.server("bad")
    error = caught.value
    assert error.names == ("ONE", "TWO", "C", "FOUR", "THREE")
    assert {(m.name, m.reason, m.spot.line, m.spot.column) for m in error.missing} == {
        ("ONE", "unset", 5, 16),
        ("TWO", "unset", 6, 20),
        ("TWO", "unset", 6, 35),
        ("C", "unfilled", 6, 50),
        ("FOUR", "unset", 7, 49),
        ("THREE", "placeholder", 7, 27),
    }
    assert "server `bad` requires ONE, TWO, C, FOUR, THREE" in error.message
    assert "C has a placeholder in the file, not a real value" in error.message
    assert "(`mcpServers.bad.env.C`, 6:50)" in error.message
    assert "set ONE, TWO, FOUR, THREE where pml is started" in (error.hint or "")
    assert "in place of the placeholder" in (error.hint or "")
    assert "`mcpServers.bad.sandbox.fs_read[0]`" in error.message
    for hidden in ("secret", "your-key-here", "xxx"):
        assert hidden not in error.message


def test_asking_again_and_again_for_an_unusable_server_keeps_nothing(folder: Folder) -> None:
    config = folder.load(servers(s={"command": "${NONE}"}))
    depths = []
    for _ in range(3):
        with pytest.raises(MissingVariablesError) as caught:
            config.server("s")
        depths.append(len(caught.traceback))
    assert depths[0] == depths[2]


def test_the_env_block_serves_all_servers_and_gives_them_nothing_by_itself(folder: Folder) -> None:
    text = """{
  "env": {"TOKEN": "${MINE}", "PLAIN": "p", "LOST": "${NONE}"},
  "mcpServers": {
    "a": {"command": "c", "env": {"T": "${TOKEN}"}, "sandbox": {"env": ["PLAIN"]}},
    "b": {"command": "c", "args": ["${LOST}"]},
    "c": {"command": "c"}
  }
}"""
    config = folder.load(text, MINE="m", PLAIN="not this one")
    a, c = config.servers
    assert isinstance(a, StdioServerConfig)
    assert isinstance(c, StdioServerConfig)
    assert dict(a.environment) == {"T": "m", "PLAIN": "p"}
    assert dict(c.environment) == {}
    assert dict(config.env) == {"TOKEN": "m", "PLAIN": "p"}
    [problem] = config.unusable.values()
    assert isinstance(problem, MissingVariablesError)
    assert (problem.names, problem.line, problem.column) == (("NONE",), 2, 53)


def test_a_wrong_value_from_a_variable_is_the_servers_problem_not_the_files(
    folder: Folder,
) -> None:
    text = servers(
        url={"url": "${U}"}, header={"url": "https://x", "headers": {"K": "${H}"}},
        command={"command": "${E:-}"}, path={"command": "c", "sandbox": {"fsRead": ["${P}"]}},
        good={"command": "c"},
    )  # fmt: skip
    config = folder.load(text, U="not an address", H="a\nInjected: b", P="~root")
    assert list(config.unusable) == ["url", "header", "command", "path"]
    assert all(isinstance(error, InvalidValueError) for error in config.unusable.values())
    assert "Injected" not in "".join(error.message for error in config.unusable.values())
    with pytest.raises(InvalidValueError, match="line breaks"):
        config.server("header")
