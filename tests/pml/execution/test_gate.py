"""What is asked although a rule allows it, and what nobody sees."""

import dataclasses

import pytest

from pml.config import Permissions
from pml.execution.approvals import Verdict
from pml.execution.masking import masked
from pml.execution.runner import Request, execute
from pml.redaction import Redactor
from sandbox_host import Completed, Failed, Suspended

from .conftest import Desk

SECRET = "tok-3f9a77c1e2"


@pytest.mark.parametrize("path", [".env", "/home/ada/.ssh/id_ed25519", "deploy/server.pem"])
async def test_a_file_that_looks_secret_is_asked_about_although_all_files_are_allowed(
    path: str, desk: Desk
) -> None:
    desk.permissions = Permissions(allow=("files:*",))
    code = "return (await mcp.files.read({path: args})).path"
    run = await execute(Request(code, args=path), desk.rights, desk.office)
    assert isinstance(run.outcome, Suspended)
    [one] = desk.human.asked
    assert one.reason is not None
    assert "`path` names a file that looks secret" in one.reason
    assert desk.tools.effects == []


@pytest.mark.parametrize(
    "arguments", ["{paths: ['a.txt', '/h/.ssh/id_rsa']}", "{o: {uri: '/h/.s%73h/id_rsa'}}"]
)
async def test_it_is_found_inside_lists_and_objects_and_encoded(
    arguments: str, desk: Desk
) -> None:
    desk.permissions = Permissions(allow=("files:*",))
    ended = await execute(Request(f"await mcp.files.read({arguments})"), desk.rights, desk.office)
    assert isinstance(ended.outcome, Suspended)


async def test_yes_to_all_is_not_meant_for_secrets(desk: Desk) -> None:
    desk.permissions = Permissions(allow=("files:*",))
    rights = dataclasses.replace(desk.rights, yes=True)
    ended = await execute(Request("await mcp.files.read({path: '.env'})"), rights, desk.office)
    assert isinstance(ended.outcome, Suspended)


async def test_a_rule_that_names_the_tool_itself_means_it(desk: Desk) -> None:
    desk.permissions = Permissions(allow=("files:read",))
    run = await execute(Request("await mcp.files.read({path: '.env'})"), desk.rights, desk.office)
    assert isinstance(run.outcome, Completed)


async def test_an_ordinary_file_is_not_asked_about(desk: Desk) -> None:
    desk.permissions = Permissions(allow=("files:*",))
    code = "await mcp.files.read({path: 'docs/environment.md', note: 'read the .env later'})"
    run = await execute(Request(code), desk.rights, desk.office)
    assert isinstance(run.outcome, Completed)


async def test_a_yes_reads_it(desk: Desk) -> None:
    desk.permissions = Permissions(allow=("files:*",))
    desk.human.verdicts = {"files:read": Verdict.YES}
    run = await execute(Request("await mcp.files.read({path: '.env'})"), desk.rights, desk.office)
    assert isinstance(run.outcome, Completed)
    assert desk.tools.effects == [("files:read", {"path": ".env"})]


async def test_known_secrets_are_in_nothing_that_is_shown(desk: Desk) -> None:
    redactor = Redactor({"TOKEN": SECRET})
    code = f"console.log('{SECRET}'); return {{a: ['x{SECRET}y'], b: btoa('{SECRET}')}}"
    run = masked(await execute(Request(code), desk.rights, desk.office), redactor)
    assert isinstance(run.outcome, Completed)
    assert SECRET not in str(run.outcome)
    assert run.outcome.value["a"] == ["x[secret TOKEN]y"]
    assert run.outcome.logs[0].text == "[secret TOKEN]"
    failed = masked(
        await execute(Request(f"throw new Error('{SECRET}')"), desk.rights, desk.office), redactor
    )
    assert isinstance(failed.outcome, Failed)
    assert SECRET not in failed.outcome.error.message
