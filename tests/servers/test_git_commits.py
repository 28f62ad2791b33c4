"""A server that may write a repository commits to it, and cannot change what git runs.

Attack: a program lets the git server do its work and then plants a hook through it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pml.assembly import opened_servers
from pml.confinement import Level

from .conftest import block
from .test_core_set import Silent, setup_of

WRITER = """
import sys
for line in sys.stdin:
    try:
        open(line.strip(), "a").write("#!/bin/sh\\n"); print("written", flush=True)
    except OSError as error:
        print(error.strerror, flush=True)
"""


async def test_it_commits_where_git_was_granted_by_name(
    workspace: Path, tmp_path: Path, installed: Any
) -> None:
    repository = workspace / "repo"
    for key, value in (("user.name", "a"), ("user.email", "a@example.com")):
        config = repository / ".git" / "config"
        section, name = key.split(".")
        config.write_text(config.read_text() + f"[{section}]\n\t{name} = {value}\n")
    (repository / "new.txt").write_text("new", encoding="utf-8")
    grants = {"fs_write": ["${workspace}/repo", "${workspace}/repo/.git"], "spawn": True}
    git = block(
        installed.python("mcp-server-git"), "--repository", "${workspace}/repo", sandbox=grants
    )
    (workspace / ".pml.json").write_text(json.dumps({"mcpServers": {"git": git}}))
    setup = setup_of(workspace, tmp_path / "state")
    async with opened_servers(setup, Silent()) as opened:
        path = str(repository)
        await opened.servers.call("git:git_add", {"repo_path": path, "files": ["new.txt"]})
        said = await opened.servers.call(
            "git:git_commit", {"repo_path": path, "message": "second"}
        )
        assert "committed" in said.lower()
        log = await opened.servers.call("git:git_log", {"repo_path": path})
        assert "second" in log


async def test_hooks_and_config_stay_as_they_are(workspace: Path, tmp_path: Path) -> None:
    import anyio  # noqa: PLC0415 - here alone

    from pml.assembly import confined  # noqa: PLC0415

    script = tmp_path / "writer" / "writer.py"
    script.parent.mkdir()
    script.write_text(WRITER, encoding="utf-8")
    grants = {"fs_write": ["${workspace}/repo", "${workspace}/repo/.git"]}
    writer = block(sys.executable, str(script), sandbox=grants)
    (workspace / ".pml.json").write_text(json.dumps({"mcpServers": {"writer": writer}}))
    setup = setup_of(workspace, tmp_path / "state")
    if setup.support.best is not Level.FULL:
        pytest.skip("only level full protects files inside a writable folder")
    plan = confined(setup, setup.servers[0])  # type: ignore[arg-type]
    git = workspace / "repo" / ".git"
    wanted = f"{git}/description\n{git}/config\n{git}/hooks/post-commit\n"
    done = await anyio.run_process(
        plan.argv, input=wanted.encode(), env=plan.environment, cwd=plan.cwd
    )
    assert done.stdout.decode().splitlines() == [
        "written", "Read-only file system", "Read-only file system",
    ]  # fmt: skip
