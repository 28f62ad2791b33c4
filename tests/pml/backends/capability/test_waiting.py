"""A call within a capability that must be asked about: the whole run waits, and goes on from there."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pml.config import Permissions
from pml.execution.approvals import Approval, Verdict
from pml.execution.errors import WorkflowBrokenError
from pml.execution.frames import FrozenFrame, packed, unpacked
from pml.execution.rights import Rights
from pml.execution.runner import Nobody, Office, call_directly, resume
from pml.execution.wording import described
from pml.execution.workflows import RunStore
from pml.policy import decide
from sandbox_host import SUSPEND, Call, Completed, Failed, Suspended

KEY = b"k" * 32
ASKS = "const n = await mcp.free.one({n: 1}); return [n.n, (await mcp.asked.two({n: 2})).n]"


class Shown:
    def arguments(self, arguments: Mapping[str, Any]) -> str:
        return str(dict(arguments))

    def level(self, tool: str) -> str:
        return "full"


@dataclasses.dataclass
class Script:
    """A human who gives these verdicts by tool, and none otherwise."""

    verdicts: dict[str, Verdict]
    asked: list[Approval] = dataclasses.field(default_factory=list)

    async def ask(self, questions: Sequence[Approval]) -> Mapping[str, tuple[Verdict, Any]]:
        self.asked += questions
        return {
            one.id: (self.verdicts[one.tool], None)
            for one in questions
            if one.tool in self.verdicts
        }


def office(shelf: Any, human: Any = None) -> Office:
    return Office(RunStore(shelf.folder / "runs", KEY), human or Nobody(), Shown())


def says(**verdicts: str) -> Script:
    return Script({name.replace("__", ":"): Verdict(word) for name, word in verdicts.items()})


async def waiting(shelf: Any, program: str, **more: Any) -> Any:
    run = await shelf.run(program, office(shelf), **more)
    assert isinstance(run.outcome, Suspended), run.outcome
    return run.waiting


async def test_the_question_is_about_the_call_within(shelf: Any) -> None:
    await shelf.put("text.inner", ASKS)
    await shelf.put("text.outer", "return await mcp.text.inner({})")
    stored = await waiting(shelf, "return await mcp.text.outer({})")
    (question,) = stored.pending
    assert (question.tool, question.arguments) == ("asked:two", "{'n': 2}")
    assert question.within == "text:outer > text:inner"
    assert (question.line, question.source_line) == (None, None)
    assert "within     text:outer > text:inner" in described(question)
    assert shelf.counter.effects == [("free:one", {"n": 1})]


@pytest.mark.parametrize("verdict", ["yes", "always"])
async def test_after_a_yes_it_goes_on_where_it_was(shelf: Any, verdict: str) -> None:
    shelf.permissions = Permissions(allow=("free", "text"))
    await shelf.put("text.inner", ASKS)
    await shelf.put("text.outer", "return {inner: await mcp.text.inner({})}")
    human = says(asked__two=verdict)
    run = await shelf.run("return await mcp.text.outer({})", office(shelf, human))
    assert isinstance(run.outcome, Completed), run.outcome
    assert run.outcome.value == {"inner": [1, 2]}
    assert shelf.counter.effects == [("free:one", {"n": 1}), ("asked:two", {"n": 2})]
    ended = [
        (facts["tool"], facts["outcome"]) for event, facts in shelf.lines if event == "call_ended"
    ]
    assert ended == [
        ("free:one", "ok"), ("asked:two", "ok"), ("text:inner", "ok"), ("text:outer", "ok"),
    ]  # fmt: skip


async def test_always_within_a_capability_holds_for_the_whole_run(shelf: Any) -> None:
    shelf.permissions = Permissions(allow=("text",))
    await shelf.put("text.one", "return (await mcp.asked.two({n: args.n})).n")
    program = "return [await mcp.text.one({n: 1}), await mcp.text.one({n: 2}), (await mcp.asked.two({n: 3})).n]"
    human = says(asked__two="always")
    run = await shelf.run(program, office(shelf, human))
    assert run.outcome.value == [1, 2, 3]
    assert len(human.asked) == 1


async def test_after_a_no_the_capability_sees_a_refusal(shelf: Any) -> None:
    code = "try { return await mcp.asked.two({}) } catch (error) { return `caught ${error.code}` }"
    await shelf.put("text.tries", code)
    human = says(asked__two="no")
    run = await shelf.run("return await mcp.text.tries({})", office(shelf, human))
    assert run.outcome.value == "caught call_denied"
    assert shelf.counter.effects == []


async def test_it_goes_on_in_another_process_and_nothing_happens_twice(shelf: Any) -> None:
    await shelf.put("text.inner", ASKS)
    await shelf.put("text.outer", "await mcp.free.zero({}); return await mcp.text.inner({})")
    stored = await waiting(shelf, "return await mcp.text.outer({})")
    before = list(shelf.counter.effects)
    later = office(shelf)
    later.store.answer(stored.pending[0].id, Verdict.YES)
    run = await resume(stored.id, shelf.rights(), later)
    assert isinstance(run.outcome, Completed), run.outcome
    assert run.outcome.value == [1, 2]
    assert before == [("free:zero", {}), ("free:one", {"n": 1})]
    assert shelf.counter.effects == [("asked:two", {"n": 2})]
    assert not later.store.exists(stored.id)


async def test_it_asks_again_and_again_each_time_from_the_disk(shelf: Any) -> None:
    await shelf.put(
        "text.thrice",
        "let n = 0; for (const i of [1, 2, 3]) n += (await mcp.asked.two({n: i})).n; return n",
    )
    stored = await waiting(shelf, "return await mcp.text.thrice({})")
    effects: list[Any] = []
    for number in (1, 2, 3):
        later = office(shelf)
        stored = later.store.load(stored.id)
        (question,) = stored.pending
        assert question.arguments == f"{{'n': {number}}}"
        later.store.answer(question.id, Verdict.YES)
        run = await resume(stored.id, shelf.rights(), later)
        effects += shelf.counter.effects
    assert run.outcome.value == 6
    assert [arguments["n"] for _, arguments in effects] == [1, 2, 3]


async def test_several_that_wait_side_by_side_are_several_questions(shelf: Any) -> None:
    await shelf.put("text.one", "return (await mcp.asked.two({n: args.n})).n")
    program = "return await Promise.all([mcp.text.one({n: 1}), mcp.text.one({n: 2}), mcp.asked.two({n: 3})])"
    stored = await waiting(shelf, program)
    found = {question.arguments: question for question in stored.pending}
    assert sorted(found) == ["{'n': 1}", "{'n': 2}", "{'n': 3}"]
    assert len({question.call for question in stored.pending}) == 3
    later = office(shelf)
    later.store.answer(found["{'n': 2}"].id, Verdict.YES)
    run = await resume(stored.id, shelf.rights(), later)
    assert isinstance(run.outcome, Suspended)
    assert [question.arguments for question in run.waiting.pending] == ["{'n': 1}", "{'n': 3}"]
    for question in run.waiting.pending:
        later.store.answer(question.id, Verdict.YES)
    run = await resume(stored.id, shelf.rights(), later)
    assert [one if isinstance(one, int) else one["n"] for one in run.outcome.value] == [1, 2, 3]


async def test_a_yes_is_worth_nothing_for_the_same_call_within_another(shelf: Any) -> None:
    """Attack: an answer about one call, taken for one that looks the same."""
    await shelf.put("text.one", "return (await mcp.asked.two({n: 1})).n")
    stored = await waiting(shelf, "return await mcp.text.one({})")
    other = await waiting(shelf, "return (await mcp.asked.two({n: 1})).n")
    later = office(shelf)
    answered = later.store.answer(other.pending[0].id, Verdict.YES)
    gate_question = stored.pending[0]
    assert answered.call != gate_question.call
    run = await resume(stored.id, shelf.rights(), later)
    assert isinstance(run.outcome, Suspended)
    assert shelf.counter.effects == []


async def test_what_is_denied_by_now_does_not_go_on(shelf: Any) -> None:
    await shelf.put("text.inner", ASKS)
    for deny in (("asked",), ("text",)):
        stored = await waiting(shelf, "return await mcp.text.inner({})")
        later = office(shelf)
        later.store.answer(stored.pending[0].id, Verdict.YES)
        rules = Permissions(allow=("free", "text"), deny=deny)
        rights = dataclasses.replace(
            shelf.rights(), decide=lambda tool, rules=rules: decide(tool, rules)
        )
        run = await resume(stored.id, rights, later)
        assert isinstance(run.outcome, Failed), run.outcome
        assert run.outcome.error.tool_code == "call_denied"
        assert shelf.counter.effects == []


async def test_a_capability_that_was_removed_while_it_waited_is_gone(shelf: Any) -> None:
    await shelf.put("text.inner", ASKS)
    stored = await waiting(shelf, "return await mcp.text.inner({})")
    later = office(shelf)
    later.store.answer(stored.pending[0].id, Verdict.YES)
    run = await resume(stored.id, dataclasses.replace(shelf.rights(), composer=None), later)
    assert isinstance(run.outcome, Failed)
    assert run.outcome.error.tool_code == "capability_gone"
    assert shelf.counter.effects == []


async def test_a_process_that_dies_after_the_yes_repeats_nothing(shelf: Any) -> None:
    """The call within was made and written down; the capability had not ended yet."""
    await shelf.put(
        "text.slow", "await mcp.asked.two({n: 1}); return (await mcp.free.last({n: 2})).n"
    )
    stored = await waiting(shelf, "return await mcp.text.slow({})")
    later = office(shelf)
    later.store.answer(stored.pending[0].id, Verdict.YES)
    rights = shelf.rights()
    effects = shelf.counter.effects

    class Dies(BaseException):
        """As if the process was killed."""

    class Dying:
        def __getattr__(self, name: str) -> Any:
            return getattr(rights.tools, name)

        async def call(self, tool: str, arguments: Mapping[str, Any]) -> Any:
            if tool == "free:last":
                raise Dies
            return await rights.tools.call(tool, arguments)

    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever the group is called
        await resume(stored.id, dataclasses.replace(rights, tools=Dying()), later)  # type: ignore[arg-type]
    assert "Dies" in repr(caught.value) or isinstance(caught.value, Dies)
    assert [tool for tool, _ in effects] == ["asked:two"]
    run = await resume(stored.id, rights, later)
    assert isinstance(run.outcome, Suspended)
    (question,) = run.waiting.pending
    assert (question.tool, question.kind) == ("free:last", "uncertain")
    later.store.answer(question.id, Verdict.YES)
    run = await resume(stored.id, rights, later)
    assert run.outcome.value == 2
    assert [tool for tool, _ in effects] == ["asked:two", "free:last"]


async def test_a_direct_call_waits_as_a_run_before_anything_happens(shelf: Any) -> None:
    await shelf.put("text.inner", ASKS)
    rights: Rights = shelf.rights()
    assert await call_directly("text:inner", {}, rights) is SUSPEND
    assert shelf.counter.effects == []
    human = says(asked__two="yes")
    run = await shelf.run("return await mcp.text.inner({})", office(shelf, human), raw=True)
    assert run.outcome.value["content"][0]["text"] == "[1, 2]"


async def test_frames_that_were_changed_on_disk_are_refused(shelf: Any) -> None:
    await shelf.put("text.inner", ASKS)
    stored = await waiting(shelf, "return await mcp.text.inner({})")
    path: Path = next((shelf.folder / "runs").rglob("*.snapshot"))
    path.write_bytes(path.read_bytes().replace(b"asked:two", b"never:two"))
    later = office(shelf)
    later.store.answer(stored.pending[0].id, Verdict.YES)
    with pytest.raises(WorkflowBrokenError):
        await resume(stored.id, shelf.rights(), later)


def test_frames_come_back_as_they_were() -> None:
    leaf = FrozenFrame(Call(1, "a:b", {"x": [1]}, 2, 3), b"leaf", (Call(4, "c:d", {}),))
    tree = (
        FrozenFrame(Call(2, "e:f", {}), b"outer", (Call(1, "a:b", {"x": [1]}, 2, 3),), (leaf,)),
        FrozenFrame(Call(3, "g:h", {}), b"", (Call(9, "i:j", {"t": "\u00fc"}),)),
    )
    assert unpacked(packed(b"program", tree)) == (b"program", tree)
    assert packed(b"program", ()) == b"program"
    assert unpacked(b"program") == (b"program", ())
