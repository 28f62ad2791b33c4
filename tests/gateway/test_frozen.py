"""`--frozen`: what is new fails by name; nobody is asked, and nothing is written down."""

import json
import subprocess
import sys
from typing import Any

import pytest

from pml.assembly import rights_of
from pml.errors import FrozenError
from pml.execution.runner import call_directly
from sandbox_host import ToolError

from .conftest import Workspace, accepting, connected
from .notes import TOOLS, Notes, changed, opened, use

READ = "return (await mcp.notes.read({id: 'a'})).did"


@pytest.fixture
def notes(workspace: Workspace) -> Notes:
    made = Notes(workspace)
    made.configure()
    return made


def pml(notes: Notes, *arguments: str) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "pml", *arguments],
        cwd=notes.workspace.path,
        env=notes.workspace.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


async def refused(notes: Notes) -> ToolError:
    async with opened(notes, frozen=True) as (setup, servers):
        with pytest.raises(ToolError) as caught:
            await call_directly("notes:read", {"id": "a"}, rights_of(setup, servers))
    return caught.value


async def test_what_is_pinned_is_called(notes: Notes) -> None:
    await use(notes)
    ended = pml(notes, "run", "--frozen", "-e", READ)
    assert (ended.returncode, ended.stdout) == (0, "read\n")


async def test_what_was_never_pinned_is_not_called_and_not_pinned(notes: Notes) -> None:
    ended = pml(notes, "run", "--frozen", "--json", "-e", READ)
    facts = json.loads(ended.stdout)
    assert (ended.returncode, facts["status"], facts["toolCode"]) == (1, "error", "frozen")
    assert "notes:read is not pinned" in facts["message"]
    assert (notes.pins, notes.workspace.effects) == ([], [])


@pytest.mark.parametrize("tools", [changed("title", to="Other"), None], ids=["changed", "new"])
async def test_what_changed_or_is_new_fails_and_stays_as_it_was_pinned(
    notes: Notes, tools: Any
) -> None:
    if tools is None:
        notes.lists(TOOLS[1:])
        async with opened(notes) as (_, servers):
            await servers.pinned["notes"].list_tools()
    else:
        await use(notes)
    before = [path.read_bytes() for path in notes.pins]
    assert len(before) == 1
    notes.lists(tools or TOOLS)
    assert (await refused(notes)).code == "frozen"
    assert [path.read_bytes() for path in notes.pins] == before


async def test_a_package_that_is_not_installed_is_named_and_not_looked_up(notes: Notes) -> None:
    package = {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}
    notes.workspace.servers["notes"] = package
    notes.configure()
    assert (await refused(notes)).code == "not_installed"


async def test_a_client_of_a_frozen_gateway_is_told_instead_of_asked(notes: Notes) -> None:
    await use(notes)
    notes.lists(changed("title", to="Other"))
    code = f"try {{ {READ} }} catch (error) {{ return error.code }}"
    async with connected(notes.workspace, "--frozen", answer=accepting("yes")) as client:
        assert (await client.facts("execute", code=code))["result"] == "frozen"
    assert client.asked == []


async def test_a_yes_of_before_is_not_carried_out_either(notes: Notes) -> None:
    await use(notes)
    notes.lists(changed("title", to="Other"))
    async with opened(notes) as (setup, servers):
        need = await rights_of(setup, servers).provisions.need("notes:read")  # type: ignore[union-attr]
    assert need is not None
    async with opened(notes, frozen=True) as (setup, servers):
        provisions = rights_of(setup, servers).provisions
        assert provisions is not None
        with pytest.raises(FrozenError):
            await provisions.provide("notes:read", need.token)
