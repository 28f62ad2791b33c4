"""Locked capabilities through the real `pml stdio`: found, called, and waiting with the whole run."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pml.assembly.locking import locking_of, now
from pml.fqdn import Fqdn
from pml.loader.capabilities import CapabilityLoader
from pml.loader.metadata import metadata_of_code
from pml.loader.needs import Checks
from pml.loader.registry import Described, Registries, Registry

from .conftest import Workspace, accepting, connected

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from terminal import Terminal  # type: ignore[import-not-found]

ERAS = pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
COUNTS = "await mcp.counter.one({}); return [(await mcp.counter.two({to: args.to})).did, args.to]"
CALL = "return await mcp.jobs.run({to: 'ada'})"


class Offline:
    """Whoever asks a registry here has failed."""

    async def get(self, url: str, headers: Any, *, most_bytes: int) -> Any:
        raise AssertionError(url)


def lock(workspace: Workspace, name: str, code: str) -> None:
    """Lock a capability as `pml add` does, of a registry that is gone since."""
    base = Fqdn.parse(f"acme.tools.{name}")
    meta = {"fqdn": str(base), "description": "Runs the nightly job"}
    content = f"// __meta__: {json.dumps(meta)}\n{code}".encode()
    found = metadata_of_code(content, base)
    locking = locking_of(workspace.path, workspace.environ, Path.home(), writes=True)
    kept = locking.cache.put(base, Described(found, "https://gone.example", "{}", code=content))
    checks = Checks(locking.rules, lambda _: True, lambda _: True)
    registries = Registries([Registry("https://gone.example")], Offline())
    loader = CapabilityLoader(registries, locking.cache, locking.store, checks, now)
    entry = loader._entry(kept)
    locking.store.update(lambda there: there.add(found.fqdn, entry))


async def test_a_capability_that_is_locked_meanwhile_is_found_and_called(
    workspace: Workspace,
) -> None:
    workspace.configure(permissions={"allow": ["counter:*", "jobs:*"]})
    async with connected(workspace, modern=True) as client:
        before = await client.facts("execute", code=CALL)
        assert "no server `jobs`" in before["message"]
        lock(workspace, "jobs.run", COUNTS)
        found = await client.call("discover", query="nightly job")
        assert "jobs" in found["content"][0]["text"]
        after = await client.facts("execute", code=CALL)
    assert after["result"] == ["two", "ada"]
    assert workspace.effects == ["one", "two"]


@ERAS
async def test_a_question_within_a_capability_is_put_to_the_human(
    workspace: Workspace, modern: bool
) -> None:
    workspace.configure(permissions={"allow": ["counter:one", "jobs:*"]})
    lock(workspace, "jobs.run", COUNTS)
    async with connected(workspace, modern=modern, answer=accepting("yes")) as client:
        facts = await client.facts("execute", code=CALL)
    assert facts["result"] == ["two", "ada"]
    (asked,) = client.asked
    assert "the call counter:two wants to be made" in asked["message"]
    assert "within     jobs:run" in asked["message"]
    assert workspace.effects == ["one", "two"]


async def test_it_waits_over_a_restart_for_the_word_of_a_terminal(workspace: Workspace) -> None:
    workspace.configure(permissions={"allow": ["counter:one", "jobs:*"]})
    lock(workspace, "jobs.run", COUNTS)
    async with connected(workspace, modern=True) as client:
        facts = await client.facts("execute", code=CALL)
    assert facts["status"] == "approval_required"
    (approval,) = facts["approvals"]
    assert (approval["tool"], approval["within"]) == ("counter:two", "jobs:run")
    assert workspace.effects == ["one"]
    terminal = Terminal(workspace.path, "approve", facts["workflowId"])
    assert terminal.read_until("allow?")
    terminal.answer("y\n")
    assert terminal.end()[0] == 0
    async with connected(workspace, modern=True) as client:
        facts = await client.facts("continue_workflow", workflowId=facts["workflowId"])
    assert facts["result"] == ["two", "ada"]
    assert workspace.effects == ["one", "two"]
