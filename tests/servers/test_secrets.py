"""A server has the variables that were declared for it, and no others.

Attack: a server looks through its environment for another server's key, for the gateway's own
settings, and for what would let it reach further (an agent's socket, preloaded code).
"""

import json
import os
import sys
from pathlib import Path

from pml.assembly import opened_servers

from .conftest import block
from .test_core_set import Silent, setup_of

BAD = Path(__file__).parent.parent / "pml" / "backends" / "stdio" / "bad_server.py"
KNOWN = {"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "PWD"}
GATEWAY = {
    "ONE_KEY": "key of one", "OTHER_KEY": "key of the other", "HANDED": "by name",
    "PML_API_KEY": "of the gateway", "SSH_AUTH_SOCK": "/run/agent", "NODE_OPTIONS": "--require=x",
    "LD_PRELOAD": "", "PYTHONPATH": "/evil", "AWS_SECRET_ACCESS_KEY": "of the user",
}  # fmt: skip


async def test_a_key_that_a_server_prints_when_it_dies_is_masked(
    workspace: Path, tmp_path: Path
) -> None:
    script = tmp_path / "dying" / "dying.py"
    script.parent.mkdir()
    script.write_text("import os, sys; sys.exit('bad key ' + os.environ['API_KEY'])")
    server = block(sys.executable, str(script), env={"API_KEY": "${ONE_KEY}"})
    (workspace / ".pml.json").write_text(json.dumps({"mcpServers": {"one": server}}))
    environ = {**os.environ, "ONE_KEY": "sk-9f8e7d6c5b4a39281706"}
    async with opened_servers(setup_of(workspace, tmp_path / "state", environ), Silent()) as all_:
        _, problems = await all_.servers.list_all()
    assert "bad key [secret API_KEY]" in problems["one"].message


async def test_each_server_sees_its_own_keys_and_nothing_else(
    workspace: Path, tmp_path: Path
) -> None:
    servers = {
        "one": block(sys.executable, str(BAD), "environment", env={"KEY": "${ONE_KEY}"}),
        "other": block(
            sys.executable, str(BAD), "environment", env={"TOKEN": "${OTHER_KEY}", "PLAIN": "x"},
            sandbox={"env": ["HANDED"]},
        ),
    }  # fmt: skip
    (workspace / ".pml.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    environ = {**os.environ, **GATEWAY}
    setup = setup_of(workspace, tmp_path / "state", environ)
    async with opened_servers(setup, Silent()) as all_opened:
        opened = all_opened.servers
        one = await opened.call("one:good", {})
        other = await opened.call("other:good", {})
    assert {key: value for key, value in one.items() if key not in KNOWN} == {"KEY": "key of one"}
    assert {key: value for key, value in other.items() if key not in KNOWN} == {
        "TOKEN": "key of the other", "PLAIN": "x", "HANDED": "by name",
    }  # fmt: skip
    assert one["HOME"] != other["HOME"]
    assert one["TMPDIR"] != other["TMPDIR"]
    for found in (one, other):
        assert not found["HOME"].startswith(str(workspace))
    secrets = [value for value in GATEWAY.values() if "of " in value]
    audit = (setup.state / "audit.jsonl").read_text(encoding="utf-8")
    assert not [secret for secret in secrets if secret in audit]
