"""Runs that wait for the human's word: nothing lost, nothing repeated, nothing forged."""

import dataclasses
from typing import Any

import pytest

from pml.backends.errors import ServerUnknownError
from pml.config import Permissions
from pml.execution import workflows
from pml.execution.approvals import Verdict
from pml.execution.errors import (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    ApprovalUnknownError,
    JournalBrokenError,
    JournalUnwritableError,
    RunAbortedError,
    RunDivergedError,
    TooManyWorkflowsError,
    VerdictUnfitError,
    WorkflowBrokenError,
    WorkflowBusyError,
    WorkflowExpiredError,
    WorkflowTooLargeError,
    WorkflowUnknownError,
)
from pml.execution.journal import Journal
from pml.execution.runner import Request, Run, execute, resume
from pml.execution.workflows import LIFETIME_SECONDS, RunStore
from sandbox_host import Completed, Failed, Suspended

from .conftest import KEY, Desk, Tools

THREE = """
const [a, b, c] = await Promise.all([
  mcp.free.one({n: 1}), mcp.asked.two({n: 2}), mcp.free.three({n: 3}),
]);
const after = await mcp.free.four({n: 4});
return [a.tool, b.tool, c.tool, after.tool];
"""
ALL = ["free:one", "asked:two", "free:three", "free:four"]


async def begun(desk: Desk, code: str = THREE) -> str:
    """Run a program until it waits; give the run's id."""
    run = await execute(Request(code), desk.rights, desk.office)
    assert isinstance(run.outcome, Suspended)
    assert run.waiting is not None
    return run.waiting.id


async def gone_on(desk: Desk, run: str) -> Run:
    return await resume(run, desk.rights, desk.office)


def question(desk: Desk, tool: str) -> str:
    [found] = [one.id for run in desk.store.all()[0] for one in run.pending if one.tool == tool]
    return found


async def test_what_is_allowed_is_called_and_what_is_denied_is_not(desk: Desk) -> None:
    code = """const said = [];
        for (const tool of [mcp.free.a, mcp.never.b]) {
            try { said.push((await tool({})).tool) } catch (error) { said.push(error.code) }
        }
        return said"""
    run = await execute(Request(code), desk.rights, desk.office)
    assert run.outcome.value == ["free:a", "call_denied"]  # type: ignore[union-attr]
    assert [tool for tool, _ in desk.tools.effects] == ["free:a"]


async def test_a_yes_on_the_spot_finishes_the_run(desk: Desk) -> None:
    desk.human.verdicts = {"asked:two": Verdict.YES}
    run = await execute(Request(THREE), desk.rights, desk.office)
    assert isinstance(run.outcome, Completed)
    assert run.outcome.value == ALL
    assert sorted(tool for tool, _ in desk.tools.effects) == sorted(ALL)
    assert desk.store.all() == ((), {})  # nothing is kept of it


async def test_a_question_says_what_it_is_about(desk: Desk) -> None:
    await begun(desk)
    [one] = desk.human.asked
    assert (one.tool, one.arguments, one.rule, one.line) == ("asked:two", "{'n': 2}", "asked", 3)
    assert (
        one.source_line == "  mcp.free.one({n: 1}), mcp.asked.two({n: 2}), mcp.free.three({n: 3}),"
    )
    assert (one.level, len(one.code_hash)) == ("full", 64)


async def test_a_later_yes_goes_on_where_it_stopped_and_repeats_nothing(desk: Desk) -> None:
    run = await begun(desk)
    assert sorted(tool for tool, _ in desk.tools.effects) == ["free:one", "free:three"]
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    ended = await gone_on(desk, run)
    assert isinstance(ended.outcome, Completed)
    assert ended.outcome.value == ALL
    assert sorted(tool for tool, _ in desk.tools.effects) == sorted(ALL)


async def test_a_no_is_a_rejection_that_the_program_may_handle(desk: Desk) -> None:
    code = """try { await mcp.asked.two({}) } catch (error) { return [error.name, error.code] }"""
    run = await begun(desk, code)
    desk.store.answer(question(desk, "asked:two"), Verdict.NO)
    ended = await gone_on(desk, run)
    assert ended.outcome.value == ["McpError", "call_denied"]  # type: ignore[union-attr]
    assert desk.tools.effects == []


async def test_always_makes_the_call_and_is_remembered_once(desk: Desk) -> None:
    desk.permissions = Permissions()
    desk.human.verdicts = {"asked:two": Verdict.ALWAYS}
    code = "for (let i = 0; i < 3; i++) await mcp.asked.two({i}); return 1"
    run = await execute(Request(code), desk.rights, desk.office)
    assert isinstance(run.outcome, Completed)
    assert desk.remembered == ["asked:two"]
    assert len(desk.tools.effects) == 3
    assert len(desk.human.asked) == 1


async def test_what_cannot_be_called_is_not_asked_about(desk: Desk) -> None:
    run = await execute(Request("await mcp.missing.tool({})"), desk.rights, desk.office)
    assert isinstance(run.outcome, Failed)
    assert desk.human.asked == []


async def test_a_yes_is_for_one_call_alone(desk: Desk) -> None:
    """Approve A, then the arguments differ: asked again."""
    desk.human.verdicts = {"asked:two": Verdict.YES}
    code = "for (const to of ['ada', 'eve']) await mcp.asked.two({to}); return 1"
    await execute(Request(code), desk.rights, desk.office)
    assert [one.arguments for one in desk.human.asked] == ["{'to': 'ada'}", "{'to': 'eve'}"]
    assert len({one.argument_hash for one in desk.human.asked}) == 2


async def test_answers_in_another_order_reach_the_right_calls(desk: Desk) -> None:
    code = """return (await Promise.allSettled([mcp.asked.one({n: 1}), mcp.asked.two({n: 2})]))
        .map((one) => one.value?.n ?? one.reason.code)"""
    run = await begun(desk, code)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    half = await gone_on(desk, run)
    assert isinstance(half.outcome, Suspended)
    desk.store.answer(question(desk, "asked:one"), Verdict.NO)
    ended = await gone_on(desk, run)
    assert ended.outcome.value == ["call_denied", 2]  # type: ignore[union-attr]
    assert desk.tools.effects == [("asked:two", {"n": 2})]


@pytest.mark.parametrize(
    "code",
    [
        "try { await mcp.asked.two({}) } catch { return 'swallowed' } return 'went on'",
        "const [one] = await Promise.allSettled([mcp.asked.two({})]); return one.status",
        "return await Promise.race([mcp.asked.two({}), new Promise((r) => setTimeout(r, 5))])",
        "for (let i = 0; i < 5; i++) try { return await mcp.asked.two({}) } catch {}",
    ],
)
async def test_a_program_cannot_swallow_repeat_or_forge_an_approval(code: str, desk: Desk) -> None:
    """Attack: whatever stands around the call, it is made once, after a yes, or never."""
    run = await execute(Request(code), desk.rights, desk.office)
    assert desk.tools.effects == []
    if isinstance(run.outcome, Suspended):
        assert run.waiting is not None
        desk.store.answer(question(desk, "asked:two"), Verdict.YES)
        ended = await gone_on(desk, run.waiting.id)
        assert isinstance(ended.outcome, Completed)
        assert ended.outcome.value != "swallowed"
        assert len(desk.tools.effects) == 1
    assert len(desk.human.asked) <= 1


class Dies(BaseException):
    """The process ends."""


async def killed_while(desk: Desk, run: str, tool: str) -> None:
    """Go on with a run in a process that dies during a call."""

    async def call(tool_id: str, arguments: Any) -> Any:
        if tool_id == tool:
            desk.tools.effects.append((tool_id, dict(arguments)))
            raise Dies
        return await desk.tools.call(tool_id, arguments)

    mortal = Tools()
    mortal.call = call  # type: ignore[method-assign]
    rights = dataclasses.replace(desk.rights, tools=mortal)
    with pytest.raises(BaseException):  # noqa: B017, PT011 - a group, with the end inside
        await resume(run, rights, desk.office)


async def test_after_a_death_what_was_answered_is_not_repeated(desk: Desk) -> None:
    code = """await mcp.asked.two({}); await mcp.free.a({}); const b = await mcp.free.b({}); return b.tool"""
    run = await begun(desk, code)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    await killed_while(desk, run, "free:b")
    assert [tool for tool, _ in desk.tools.effects] == ["asked:two", "free:a", "free:b"]
    ended = await gone_on(desk, run)
    assert isinstance(ended.outcome, Suspended)  # free:b may have happened
    assert len(desk.tools.effects) == 3
    assert [(one.tool, one.kind) for one in desk.store.load(run).pending] == [
        ("free:b", "uncertain")
    ]


@pytest.mark.parametrize(
    ("verdict", "value", "result", "effects"),
    [(Verdict.YES, None, "free:b", 4), (Verdict.SKIP, {"tool": "mine"}, "mine", 3)],
)
async def test_a_call_that_may_have_happened_is_made_again_or_skipped_as_the_human_says(
    verdict: Verdict, value: Any, result: str, effects: int, desk: Desk
) -> None:
    code = """await mcp.asked.two({}); await mcp.free.a({}); return (await mcp.free.b({})).tool"""
    run = await begun(desk, code)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    await killed_while(desk, run, "free:b")
    await gone_on(desk, run)
    desk.store.answer(question(desk, "free:b"), verdict, value)
    ended = await gone_on(desk, run)
    assert ended.outcome.value == result  # type: ignore[union-attr]
    assert len(desk.tools.effects) == effects


async def test_the_human_may_end_a_run_instead(desk: Desk) -> None:
    run = await begun(desk, "await mcp.asked.two({}); return 1")
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    await killed_while(desk, run, "asked:two")
    ended = await gone_on(desk, run)
    assert isinstance(ended.outcome, Suspended)
    [one] = desk.store.load(run).pending
    assert one.kind == "uncertain"
    desk.store.answer(one.id, Verdict.NO)
    with pytest.raises(RunAbortedError):
        await gone_on(desk, run)
    assert not desk.store.exists(run)


async def test_a_rejection_is_not_repeated_either(desk: Desk) -> None:
    code = """await mcp.asked.two({});
        try { await mcp.free.fail({}) } catch (error) { await mcp.free.b({}); return error.data }"""
    run = await begun(desk, code)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    await killed_while(desk, run, "free:b")
    await gone_on(desk, run)
    desk.store.answer(question(desk, "free:b"), Verdict.SKIP, None)
    ended = await gone_on(desk, run)
    assert isinstance(ended.outcome, Completed | Failed)
    assert [tool for tool, _ in desk.tools.effects].count("free:fail") == 1


async def test_a_program_that_takes_another_way_is_stopped_whatever_it_catches(desk: Desk) -> None:
    """Attack: a program that depends on chance makes another call under the same number."""
    code = """await mcp.asked.two({});
        const name = crypto.randomUUID();
        try { await mcp.free[name]({}) } catch {}
        await mcp.free.last({}); return 1"""
    run = await begun(desk, code)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    await killed_while(desk, run, "free:last")
    before = list(desk.tools.effects)
    journal = desk.folder / run / "1.journal"
    assert journal.exists()
    try:
        ended = await gone_on(desk, run)
    except RunDivergedError:
        assert desk.tools.effects == before
    else:  # the guest's randomness is part of its frozen state: it went the same way
        assert isinstance(ended.outcome, Suspended)
        assert desk.tools.effects == before


async def test_a_journal_of_other_calls_stops_the_run(desk: Desk) -> None:
    code = """await mcp.asked.two({});
        try { await mcp.free.a({}) } catch {}
        await mcp.free.b({}); return 1"""
    run = await begun(desk, code)
    stored = desk.store.load(run)
    journal = desk.store.journal(stored)
    [one] = stored.pending
    journal.begin(one.call + 1, "free:other", "0" * 64)
    journal.end(one.call + 1, ok=True, value=1)
    journal.close()
    desk.store.answer(one.id, Verdict.YES)
    with pytest.raises(RunDivergedError):
        await gone_on(desk, run)
    assert [tool for tool, _ in desk.tools.effects] == ["asked:two"]


async def test_a_yes_holds_although_always_cannot_be_written(desk: Desk) -> None:
    desk.permissions = Permissions()
    desk.human.verdicts = {"asked:two": Verdict.ALWAYS}

    def refuse(tool: str) -> None:
        raise ServerUnknownError(tool, [])

    rights = dataclasses.replace(desk.rights, remember=refuse)
    run = await execute(Request("await mcp.asked.two({}); return 1"), rights, desk.office)
    assert isinstance(run.outcome, Completed)
    assert "was not added to `allow`" in run.warnings[0]


async def test_a_retry_that_died_is_a_question_again(desk: Desk) -> None:
    run = await begun(desk, "await mcp.asked.two({}); return 1")
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    await killed_while(desk, run, "asked:two")
    await gone_on(desk, run)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)  # retry
    await killed_while(desk, run, "asked:two")
    ended = await gone_on(desk, run)
    assert isinstance(ended.outcome, Suspended)
    assert len(desk.tools.effects) == 2


async def test_a_deny_that_came_later_holds_for_an_approved_call(desk: Desk) -> None:
    run = await begun(desk, "try { await mcp.asked.two({}) } catch (error) { return error.code }")
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    desk.permissions = Permissions(deny=("asked",))
    ended = await gone_on(desk, run)
    assert ended.outcome.value == "call_denied"  # type: ignore[union-attr]
    assert desk.tools.effects == []


async def test_what_cannot_be_written_down_stops_the_program(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: a full disk, and a program that tries again whatever it catches."""
    code = """await mcp.asked.two({});
        for (let i = 0; i < 5; i++) try { return await mcp.free.pay({}) } catch {}"""
    run = await begun(desk, code)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    real = Journal.end

    def end(self: Journal, call: int, *, ok: bool, value: Any) -> None:
        if self.entries[call].tool == "free:pay":
            raise OSError(28, "No space left on device")
        real(self, call, ok=ok, value=value)

    monkeypatch.setattr(Journal, "end", end)
    with pytest.raises(JournalUnwritableError):
        await gone_on(desk, run)
    assert [tool for tool, _ in desk.tools.effects].count("free:pay") == 1


async def test_a_run_that_cannot_be_kept_leaves_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflows, "MOST_SNAPSHOT_BYTES", 10)
    with pytest.raises(WorkflowTooLargeError):
        await execute(Request(THREE), desk.rights, desk.office)
    assert list(desk.folder.iterdir()) == []


async def test_the_oldest_run_without_an_answer_makes_room_for_a_new_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attack: programs that ask and are never answered keep every later question from the human."""
    monkeypatch.setattr(workflows, "MOST_RUNS", 3)
    answered = await begun(desk)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    first, second, third, fourth = [await begun(desk) for _ in range(4)]
    waiting = {run.id for run in desk.store.all()[0]}
    assert waiting == {answered, third, fourth}
    assert {path.name for path in desk.folder.iterdir()} == waiting
    ended = [facts for event, facts in desk.lines if event == "run_ended"]
    assert ended == [{"run": run, "outcome": "expired"} for run in (first, second)]
    with pytest.raises(WorkflowUnknownError):
        await gone_on(desk, first)
    assert isinstance((await gone_on(desk, answered)).outcome, Completed)


async def test_no_run_that_is_answered_or_held_makes_room(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workflows, "MOST_RUNS", 2)
    await begun(desk)
    desk.store.answer(question(desk, "asked:two"), Verdict.NO)
    held = await begun(desk)
    with desk.store.hold(held), pytest.raises(TooManyWorkflowsError):
        await execute(Request(THREE), desk.rights, desk.office)
    assert len(list(desk.folder.iterdir())) == 2
    assert "run_ended" not in [event for event, _ in desk.lines]


async def test_twice_late_unknown_and_unfit_have_errors_of_their_own(desk: Desk) -> None:
    run = await begun(desk)
    one = question(desk, "asked:two")
    for unfit in (Verdict.SKIP, Verdict.ALWAYS):  # an ask rule would ask again
        with pytest.raises(VerdictUnfitError):
            desk.store.answer(one, unfit)
    with pytest.raises(ApprovalUnknownError):
        desk.store.answer("aaaaaaaaaa", Verdict.YES)
    desk.store.answer(one, Verdict.NO)
    with pytest.raises(ApprovalAnsweredError):
        desk.store.answer(one, Verdict.YES)
    for unknown in ("aaaaaaaaaa", "../../etc", "", run + "x"):
        with pytest.raises(WorkflowUnknownError):
            await gone_on(desk, unknown)
    later = RunStore(desk.folder, KEY, clock=lambda: __import__("time").time() + LIFETIME_SECONDS)
    with pytest.raises(WorkflowExpiredError):
        later.load(run)
    assert later.clean() == 1
    assert not later.exists(run)


async def test_a_question_expires_by_itself(desk: Desk) -> None:
    run = await begun(desk)
    stored = desk.store.load(run)
    [one] = stored.pending
    past = dataclasses.replace(stored, pending=(dataclasses.replace(one, expires=1.0),))
    desk.store.save(past, desk.store.snapshot(stored))
    with pytest.raises(ApprovalExpiredError):
        desk.store.answer(one.id, Verdict.YES)


async def test_two_processes_cannot_carry_out_one_run(desk: Desk) -> None:
    run = await begun(desk)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    with desk.store.hold(run), pytest.raises(WorkflowBusyError):
        await gone_on(desk, run)
    assert isinstance((await gone_on(desk, run)).outcome, Completed)


async def test_a_verdict_of_another_run_or_without_the_key_is_refused(desk: Desk) -> None:
    """Attack: copy the yes of one run into another, or write one without the user's key."""
    first, second = await begun(desk), await begun(desk)
    [mine] = desk.store.load(first).pending
    [other] = desk.store.load(second).pending
    desk.store.answer(mine.id, Verdict.YES)
    verdict = (desk.folder / first / f"{mine.id}.verdict").read_bytes()
    (desk.folder / second / f"{other.id}.verdict").write_bytes(verdict)
    with pytest.raises(WorkflowBrokenError, match="forged"):
        await gone_on(desk, second)
    forger = RunStore(desk.folder, b"x" * 32)
    with pytest.raises(ApprovalUnknownError):
        forger.answer(other.id, Verdict.YES)
    assert [tool for tool, _ in desk.tools.effects].count("asked:two") == 0


@pytest.mark.parametrize("file", ["run.json", "1.snapshot"])
async def test_a_run_that_was_changed_on_disk_does_not_go_on(file: str, desk: Desk) -> None:
    """Attack: rewrite a suspended run, or put another program in its place."""
    run = await begun(desk)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    path = desk.folder / run / file
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(content)
    effects = list(desk.tools.effects)
    with pytest.raises(WorkflowBrokenError):
        await gone_on(desk, run)
    assert desk.tools.effects == effects
    assert run in desk.store.all()[1] or file == "1.snapshot"


async def test_a_journal_that_was_changed_does_not_go_on(desk: Desk) -> None:
    run = await begun(desk, "await mcp.asked.two({}); await mcp.free.a({}); return 1")
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    await killed_while(desk, run, "free:a")
    path = desk.folder / run / "1.journal"
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join(lines[2:]))
    with pytest.raises(JournalBrokenError, match="line 1"):
        await gone_on(desk, run)


async def test_half_a_line_of_a_journal_counts_as_not_written(desk: Desk) -> None:
    run = await begun(desk, "await mcp.asked.two({}); await mcp.free.a({}); return 1")
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    await killed_while(desk, run, "free:a")
    path = desk.folder / run / "1.journal"
    path.write_bytes(path.read_bytes() + b"abc")
    assert isinstance((await gone_on(desk, run)).outcome, Suspended)


async def test_files_of_a_run_are_for_the_user_alone(desk: Desk) -> None:
    run = await begun(desk)
    desk.store.answer(question(desk, "asked:two"), Verdict.YES)
    assert (desk.folder / run).stat().st_mode & 0o777 == 0o700
    for path in (desk.folder / run).iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path


async def test_the_audit_has_a_line_before_and_after_each_call(desk: Desk) -> None:
    desk.human.verdicts = {"asked:two": Verdict.YES}
    await execute(Request("await mcp.asked.two({}); return 1"), desk.rights, desk.office)
    assert [event for event, _ in desk.lines] == [
        "run_started", "approval_asked", "approval_answered", "call_executing", "call_ended",
        "run_ended",
    ]  # fmt: skip
    assert {facts["tool"] for _, facts in desk.lines if "tool" in facts} == {"asked:two"}
