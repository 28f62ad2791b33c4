"""A call that lacks something waits for exactly that, and a yes is worth nothing for anything else."""

import pytest

from pml.config import Permissions
from pml.execution.approvals import Verdict
from pml.execution.errors import VerdictUnfitError
from pml.execution.report import run_report
from pml.execution.runner import Request, call_directly, execute, resume
from pml.model import Need
from sandbox_host import SUSPEND, Completed, Suspended

from .conftest import Desk, Shelf

INSTALL = Need("install", "Install memory@1.2.3?", "memory@1.2.3", {"version": "1.2.3"})
CHANGED = Need("integrity", "Hash changed for a.b.c.d. Old: 1, New: 2.", "new", {"newHash": "2"})
KEY = Need("keys", "free requires API_KEY", facts={"missingKeys": ["API_KEY"]})
CODE = """try { return (await mcp.free.one({n: 1})).tool } catch (error) { return error.code }"""


def lacking(desk: Desk, *needs: Need) -> Shelf:
    desk.shelf = Shelf({"free:one": list(needs)})
    return desk.shelf


async def test_a_yes_brings_what_is_lacking_and_makes_the_call(desk: Desk) -> None:
    shelf = lacking(desk, INSTALL)
    desk.human.verdicts = {"free:one": Verdict.YES}
    run = await execute(Request(CODE), desk.rights, desk.office)
    assert isinstance(run.outcome, Completed)
    assert run.outcome.value == "free:one"
    assert shelf.brought == [("free:one", "memory@1.2.3")]
    assert [(one.kind, one.reason) for one in desk.human.asked] == [("install", INSTALL.words)]


@pytest.mark.parametrize("need", [INSTALL, CHANGED], ids=["install", "integrity"])
async def test_a_no_brings_nothing_and_calls_nothing(desk: Desk, need: Need) -> None:
    shelf = lacking(desk, need)
    desk.human.verdicts = {"free:one": Verdict.NO}
    run = await execute(Request(CODE), desk.rights, desk.office)
    assert run.outcome.value == f"{need.kind}_refused"  # type: ignore[union-attr]
    assert (shelf.brought, desk.tools.effects) == ([], [])


async def test_a_yes_to_all_questions_is_not_meant_for_it(desk: Desk) -> None:
    shelf = lacking(desk, INSTALL)
    desk.yes = True
    run = await execute(Request(CODE), desk.rights, desk.office)
    assert isinstance(run.outcome, Suspended)
    assert (shelf.brought, desk.tools.effects) == ([], [])


async def test_always_is_no_answer_to_it(desk: Desk) -> None:
    lacking(desk, INSTALL)
    run = await execute(Request(CODE), desk.rights, desk.office)
    assert run.waiting is not None
    [question] = run.waiting.pending
    with pytest.raises(VerdictUnfitError):
        desk.store.answer(question.id, Verdict.ALWAYS)


async def test_a_yes_is_for_what_was_shown_and_nothing_else(desk: Desk) -> None:
    # Attack: between the question and the yes, another package takes the name.
    lacking(desk, INSTALL)
    run = await execute(Request(CODE), desk.rights, desk.office)
    assert run.waiting is not None
    [question] = run.waiting.pending
    desk.store.answer(question.id, Verdict.YES)
    shelf = lacking(desk, Need("install", "Install memory@6.6.6?", "memory@6.6.6"))
    ended = await resume(run.waiting.id, desk.rights, desk.office)
    assert ended.outcome.value == "server_unknown"  # type: ignore[union-attr]
    assert (shelf.brought, desk.tools.effects) == ([], [])


async def test_what_is_lacking_next_is_asked_next(desk: Desk) -> None:
    shelf = lacking(desk, INSTALL, CHANGED)
    desk.human.verdicts = {"free:one": Verdict.YES}
    run = await execute(Request(CODE), desk.rights, desk.office)
    assert run.outcome.value == "free:one"  # type: ignore[union-attr]
    assert [one.kind for one in desk.human.asked] == ["install", "integrity"]
    assert [token for _, token in shelf.brought] == ["memory@1.2.3", "new"]
    assert len(desk.tools.effects) == 1


async def test_a_deny_that_came_meanwhile_holds(desk: Desk) -> None:
    lacking(desk, INSTALL)
    run = await execute(Request(CODE), desk.rights, desk.office)
    assert run.waiting is not None
    desk.store.answer(run.waiting.pending[0].id, Verdict.YES)
    desk.permissions = Permissions(deny=("free",))
    ended = await resume(run.waiting.id, desk.rights, desk.office)
    assert ended.outcome.value == "call_denied"  # type: ignore[union-attr]
    assert desk.tools.effects == []


async def test_a_key_that_came_needs_no_word(desk: Desk) -> None:
    shelf = lacking(desk, KEY)
    run = await execute(Request(CODE), desk.rights, desk.office)
    assert run.waiting is not None
    again = await resume(run.waiting.id, desk.rights, desk.office)
    assert isinstance(again.outcome, Suspended)  # still missing
    shelf.needs.clear()
    ended = await resume(run.waiting.id, desk.rights, desk.office)
    assert ended.outcome.value == "free:one"  # type: ignore[union-attr]
    assert len(desk.tools.effects) == 1


async def test_a_key_that_came_is_no_word_on_the_call(desk: Desk) -> None:
    shelf = lacking(desk, KEY)
    desk.permissions = Permissions(ask=("free",))
    run = await execute(Request(CODE), desk.rights, desk.office)
    assert run.waiting is not None
    shelf.needs.clear()
    again = await resume(run.waiting.id, desk.rights, desk.office)
    assert again.waiting is not None
    assert [one.kind for one in again.waiting.pending if one.verdict is None] == ["call"]
    assert desk.tools.effects == []


async def test_a_direct_call_waits_too(desk: Desk) -> None:
    lacking(desk, INSTALL)
    assert await call_directly("free:one", {}, desk.rights) is SUSPEND
    assert desk.tools.effects == []


async def test_a_machine_is_told_what_kind_of_word_is_wanted(desk: Desk) -> None:
    lacking(desk, INSTALL)
    run = await execute(Request(CODE), desk.rights, desk.office)
    [told] = run_report(run)["approvals"]
    assert told["approvalType"] == "dependency"
    assert (told["version"], told["description"]) == ("1.2.3", "Install memory@1.2.3?")
    assert run.waiting is not None
    assert told["workflowId"] == run.waiting.id
