"""Every call of a program passes here: what happened before, what the policy says, then the call.

The guest is never thrown into by a question: a call that must wait is suspended, whatever the
program wrapped around it. What was done and answered since the last snapshot is answered from the
journal; what was only begun becomes a question, and nothing is repeated blindly.
"""

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from typing import Any

from pml.audit import argument_hash
from pml.backends.errors import ServerUnknownError, ToolUnknownError
from pml.backends.results import error_result, result_of
from pml.errors import CallDeniedError, PmlError
from pml.execution.approvals import Approval, Verdict
from pml.execution.doubts import secret_file
from pml.execution.errors import (
    JournalUnwritableError,
    NeedRefusedError,
    RunAbortedError,
    RunDivergedError,
    WorkflowBrokenError,
)
from pml.execution.frames import FrozenFrame, packed
from pml.execution.journal import Entry, Journal
from pml.execution.nesting import CapabilityGoneError, Chain
from pml.execution.rejections import as_tool_error, rejection_facts, rejection_of
from pml.execution.rights import Asked, Rights
from pml.model import Decision, Need, Outcome
from pml.ports import Paused
from sandbox_host import SUSPEND, Call, ToolError

_NUMBER_BITS = 20  # of a call's id, in the numbers of a run: more than a program may make


class Gate:
    """The host function of one run."""

    def __init__(self, rights: Rights, run: str, *, raw: bool = False) -> None:
        """Begin without a past; `raw` answers calls with results as servers gave them."""
        self._rights = rights
        self._run = run
        self._raw = raw
        self._always: set[str] = set()
        self.chain = Chain()
        """The capabilities of the run within which the calls are made."""

        self.outer: Gate | None = None
        """Through which the innermost of them was called."""

        self.base = 0
        """What is added to the numbers of calls: within a run each has its own."""

        self.frames: dict[int, Frame] = {}
        """Capabilities that wait, by the id of the call that each answers."""

        self._own_journal: Journal | None = None
        self.asked: dict[int, Asked] = {}
        """Calls that wait for the human, and why."""

        self.uncertain: set[int] = set()
        """Calls that may have happened when the process died."""

        self.stopped: PmlError | None = None
        """Why the program must make no call any more, whatever it catches."""

        self.warnings: list[str] = []
        """What the human should know although the run goes on."""

    @property
    def root(self) -> "Gate":
        """The gate of the program itself."""
        return self if self.outer is None else self.outer.root

    @property
    def journal(self) -> Journal | None:
        """Since the run was last written to disk; a run that never was has none."""
        return self._own_journal if self.outer is None else self.outer.journal

    @journal.setter
    def journal(self, journal: Journal | None) -> None:
        self._own_journal = journal

    def number(self, call: Call) -> int:
        """Give the number of a call in the whole run."""
        return self.base + call.id

    def close(self) -> None:
        """Close the journal's file, however the run was left; more than once does nothing."""
        if self.journal is not None:
            self.journal.close()

    def note_let_go(self, run: str) -> None:
        """Write down that another run, which nobody answered, made room for this one."""
        self._rights.audit.note("run_ended", {"run": run, "outcome": "expired"})

    async def answer(self, call: Call) -> Any:
        """Answer a call of the guest; what goes wrong rejects it there."""
        try:
            if self.root.stopped is not None:
                raise self.root.stopped
            return await self._answer(call)
        except RunDivergedError as error:
            self.root.stopped = error
            raise as_tool_error(error) from None
        except PmlError as error:
            raise as_tool_error(error) from None

    async def _answer(self, call: Call) -> Any:
        arguments = argument_hash(call.args)
        entry = self._known(call, arguments)
        if entry is not None:
            return self._from_journal(entry)
        decision = self._permitted(call, arguments)
        asks, reason = self._doubts(call, decision)
        asks = asks and call.tool not in self._always
        # nothing is started before the human has said yes; then it is looked at again
        need = await self.lacks(call.tool, starting=not asks)
        if need is not None or asks:
            if need is None:
                await self._check_tool(call.tool)
            self._ask(call, arguments, Asked(decision, reason, need))
            return SUSPEND
        return await self._carry_out(call, arguments, by=decision.rule)

    async def answer_unasked(self, call: Call) -> Any:
        """Answer a call that nobody is asked about; else give `SUSPEND`: nothing has happened."""
        arguments = argument_hash(call.args)
        try:
            decision = self._permitted(call, arguments)
            if self._doubts(call, decision)[0] or await self.lacks(call.tool):
                return SUSPEND
            if self._is_composed(call):  # it may wait in its midst
                return SUSPEND
            return await self._carry_out(call, arguments, by=decision.rule)
        except PmlError as error:
            raise as_tool_error(error) from None

    def _permitted(self, call: Call, arguments: str) -> Decision:
        """Give the decision on a call that is not denied."""
        decision = self._rights.decide(call.tool)
        if decision.outcome == Outcome.DENY:
            self._audit("call_denied", call, arguments, rule=decision.rule)
            raise CallDeniedError(call.tool, decision.rule or "?", decision.place)
        return decision

    async def lacks(self, tool: str, *, starting: bool = True) -> Need | None:
        """Say what a tool lacks that the human can give; raises if it cannot be called at all."""
        provisions = self._rights.provisions
        need = await provisions.need(tool, starting=starting) if provisions else None
        if need is None:
            try:
                self._rights.tools.check(tool)  # what cannot be called is not asked about
            except ServerUnknownError as error:
                raise error.among(self._is_visible) from None
        return need

    async def _check_tool(self, tool: str) -> None:
        if self._rights.check_tool is None:
            return
        try:
            await self._rights.check_tool(tool)
        except ToolUnknownError as error:
            raise error.among(self._is_visible) from None

    def _is_visible(self, tool: str) -> bool:
        """Say whether a tool may be named to the program: what is denied may not."""
        return self._rights.decide(tool).outcome != Outcome.DENY

    def _ask(self, call: Call, arguments: str, asked: Asked) -> None:
        rule = asked.decision.rule if asked.decision else None
        facts: dict[str, Any] = {"rule": rule, "reason": asked.reason}
        if asked.need is not None:
            facts |= {"need": asked.need.kind, "token": asked.need.token}
        self._audit("approval_asked", call, arguments, **facts)
        self.asked[self.number(call)] = asked

    def _is_composed(self, call: Call) -> bool:
        composer = self._rights.composer
        return composer is not None and composer.composes(call.tool)

    def _doubts(self, call: Call, decision: Decision) -> tuple[bool, str | None]:
        """Say whether a call that is not denied is asked about, and why if a rule allows it."""
        if decision.outcome == Outcome.ASK:
            return not self._rights.yes, None
        if decision.rule == call.tool:  # a rule that names this very tool means it
            return False, None
        # a yes to all questions is not meant for these
        reason = secret_file(call) or self._rights.tools.caution(call.tool)
        return reason is not None, reason

    def _from_journal(self, entry: Entry) -> Any:
        if not entry.is_done:
            self.uncertain.add(entry.call)
            return SUSPEND
        if entry.ok:
            return entry.value
        raise rejection_of(entry.value)

    async def settled(self, call: Call, answered: Mapping[int, Approval]) -> Any:
        """Give what a waiting call is answered with after the human's word about it or within it.

        A value; an exception as a value, to reject it with; or SUSPEND, when there is no word yet,
        or it turned out that the call may have happened already.
        """
        if call.id in self.frames:
            return await self._go_on(call, answered)
        approval = answered.get(self.number(call))
        return SUSPEND if approval is None else await self.settle(call, approval)

    async def settle(self, call: Call, approval: Approval) -> Any:
        """As `settled`, of a call that has its answer."""
        arguments = argument_hash(call.args)
        bound = (approval.call, approval.tool, approval.argument_hash)
        if bound != (self.number(call), call.tool, arguments):
            raise WorkflowBrokenError(self._run, f"`{approval.id}` is about another call")
        facts = {"approval": approval.id, "verdict": approval.verdict}
        self._audit("approval_answered", call, arguments, **facts)
        if approval.kind == "uncertain":
            return await self._settle_uncertain(call, arguments, approval)
        if approval.kind != "call":
            return await self._settle_need(call, arguments, approval)
        if approval.verdict not in (Verdict.YES, Verdict.ALWAYS):
            return as_tool_error(CallDeniedError(call.tool))
        if approval.verdict == Verdict.ALWAYS and call.tool not in self._always:
            self._always.add(call.tool)
            self._remember(call.tool)
        return await self._allowed(call, arguments, approval)

    async def _allowed(self, call: Call, arguments: str, approval: Approval) -> Any:
        """Make a call that the human allowed, unless it was made, is denied or lacks something."""
        entry = self._known(call, arguments)
        if entry is not None:
            return await _as_value(lambda: self._from_journal(entry))
        denied = self._denied(call, arguments)
        if denied is not None:
            return denied
        try:
            need = await self.lacks(call.tool)  # the word may be hours old
        except PmlError as error:
            return as_tool_error(error)
        if need is not None:
            self._ask(call, arguments, Asked(need=need))
            return SUSPEND
        return await self._carried_out(call, arguments, approval.id)

    def _denied(self, call: Call, arguments: str) -> ToolError | None:
        """Give why a call that waited is denied by now, if so."""
        decision = self._rights.decide(call.tool)
        if decision.outcome != Outcome.DENY:
            return None
        self._audit("call_denied", call, arguments, rule=decision.rule)
        return as_tool_error(CallDeniedError(call.tool, decision.rule or "?", decision.place))

    def _known(self, call: Call, arguments: str) -> Entry | None:
        journal = self.journal
        return journal.known(self.number(call), call.tool, arguments) if journal else None

    async def _settle_need(self, call: Call, arguments: str, approval: Approval) -> Any:
        if approval.verdict != Verdict.YES:
            return as_tool_error(NeedRefusedError(call.tool, approval.kind, approval.reason))
        try:
            return await self._provided(call, arguments, approval)
        except ToolError as error:
            return error
        except PmlError as error:
            return as_tool_error(error)

    async def _provided(self, call: Call, arguments: str, approval: Approval) -> Any:
        """Bring what a call lacks, then make it; what is lacking next is asked next."""
        provisions = self._rights.provisions
        if approval.kind == "keys" or provisions is None:
            return await self._answer(call)  # a key is no word on the call: the policy decides
        await provisions.provide(call.tool, approval.token)
        return await self._allowed(call, arguments, approval)

    def _remember(self, tool: str) -> None:
        """Make Always last; where that fails, the yes to this call holds all the same."""
        try:
            self._rights.remember(tool)
        except PmlError as error:
            self.warnings.append(f"`{tool}` was not added to `allow`: {error.message}")

    async def _settle_uncertain(self, call: Call, arguments: str, approval: Approval) -> Any:
        if approval.verdict == Verdict.SKIP:
            return approval.value
        if approval.verdict != Verdict.YES:
            raise RunAbortedError(self._run)
        return await self._allowed(call, arguments, approval)

    async def _carried_out(self, call: Call, arguments: str, by: str) -> Any:
        try:
            return await self._carry_out(call, arguments, by=by)
        except ToolError as error:
            return error
        except PmlError as error:
            return as_tool_error(error)

    async def _carry_out(self, call: Call, arguments: str, *, by: str | None) -> Any:
        """Make the call: written down before and after, in the audit and in the journal."""
        self._audit("call_executing", call, arguments, by=by)
        if self.journal is not None:
            self.journal.begin(self.number(call), call.tool, arguments)
        return await self._until_ended(call, arguments, self._made(call))

    async def _until_ended(self, call: Call, arguments: str, making: Awaitable[Any]) -> Any:
        """Give what comes of a call, written down; SUSPEND if it is a capability that waits."""
        try:
            value = await making
        except (PmlError, ToolError) as error:
            rejection = error if isinstance(error, ToolError) else as_tool_error(error)
            self._end(call, arguments, ok=False, value=rejection_facts(rejection))
            raise rejection from None
        if value is not SUSPEND:
            self._end(call, arguments, ok=True, value=value)
        return value

    async def _made(self, call: Call) -> Any:
        """Have the call made: by a server, or by a program whose calls come back here."""
        composer, tools = self._rights.composer, self._rights.tools
        if composer is None or not composer.composes(call.tool):
            try:
                return await (tools.call_raw if self._raw else tools.call)(call.tool, call.args)
            except ToolUnknownError as error:
                raise error.among(self._is_visible) from None
        gate, depth = self._within(call), len(self.chain)
        making = composer.call(call.tool, call.args, gate.answer, depth=depth)
        return await self._composed(call, gate, making)

    def _within(self, call: Call) -> "Gate":
        """Give the gate for a capability's own calls; raises `NestingError`."""
        gate = Gate(self._rights, self._run)
        gate.chain = self.chain.entered(call.tool)
        gate.outer = self
        gate.base = self.number(call) << _NUMBER_BITS
        gate._always = self._always
        return gate

    async def _composed(self, call: Call, gate: "Gate", making: Awaitable[Any]) -> Any:
        """Give the value of a capability, or SUSPEND and keep it as a frame if it waits."""
        self.frames.pop(call.id, None)
        try:
            value = await making
        except ToolError as error:
            if not self._raw:
                raise
            return error_result(error)
        if isinstance(value, Paused):
            self.frames[call.id] = Frame(call, value, gate)
            return SUSPEND
        return result_of(value) if self._raw else value

    async def _go_on(self, call: Call, answered: Mapping[int, Approval]) -> Any:
        """Go on with a capability that waits, as far as calls of its own have their answers."""
        frame, arguments = self.frames[call.id], argument_hash(call.args)
        entry = self._known(call, arguments)
        ended = await self._ended_meanwhile(call, arguments, entry)
        if ended is not SUSPEND:
            del self.frames[call.id]
            return ended
        answers = await frame.answers(answered)
        composer = self._rights.composer
        if not answers or composer is None:
            return SUSPEND
        if self.journal is not None and entry is None:
            self.journal.begin(self.number(call), call.tool, arguments)
        going = composer.resume(
            call.tool, frame.paused, answers, frame.gate.answer, depth=len(self.chain)
        )
        making = self._composed(call, frame.gate, going)
        return await _awaited_value(self._until_ended(call, arguments, making))

    async def _ended_meanwhile(self, call: Call, arguments: str, entry: Entry | None) -> Any:
        """Give what a capability that waited is answered with instead of going on, or SUSPEND."""
        if entry is not None and entry.is_done:
            return await _as_value(lambda: self._from_journal(entry))
        if (denied := self._denied(call, arguments)) is not None:
            return denied
        gone = not self._is_composed(call)
        return as_tool_error(CapabilityGoneError(call.tool)) if gone else SUSPEND

    def open_calls(self, calls: Iterable[Call]) -> Iterator[tuple[Call, "Gate"]]:
        """Give the calls that wait for a word: those of the program, or within capabilities."""
        for call in calls:
            frame = self.frames.get(call.id)
            if frame is None:
                yield call, self
            else:
                yield from frame.gate.open_calls(frame.paused.calls)

    def frozen(self, snapshot: bytes) -> bytes:
        """Give the run as bytes: the program's snapshot, and all that waits within it."""
        return packed(snapshot, [frame.frozen() for frame in self.frames.values()])

    def thaw(self, frames: Iterable[FrozenFrame]) -> None:
        """Take back the frames of a run that was frozen."""
        for frozen in frames:
            gate = self._within(frozen.call)
            gate.thaw(frozen.within)
            paused = Paused(frozen.snapshot, frozen.calls)
            self.frames[frozen.call.id] = Frame(frozen.call, paused, gate)

    def _end(self, call: Call, arguments: str, *, ok: bool, value: Any) -> None:
        failed = not ok or (self._raw and value.get("isError") is True)
        facts = {"outcome": "error" if failed else "ok"}
        self._rights.audit.note("call_ended", {**self._about(call, arguments), **facts})
        try:
            if self.journal is not None:
                self.journal.end(self.number(call), ok=ok, value=value)
        except (OSError, ValueError, RecursionError) as error:
            # it happened and cannot be remembered: the program must not try again
            self.root.stopped = JournalUnwritableError(self._run, str(error))
            raise self.root.stopped from None

    def _audit(self, event: str, call: Call, arguments: str, **facts: Any) -> None:
        self._rights.audit.write(event, {**self._about(call, arguments), **facts})

    def _about(self, call: Call, arguments: str) -> Mapping[str, Any]:
        return {
            "run": self._run,
            "call": self.number(call),
            "tool": call.tool,
            "argumentHash": arguments,
            **({"within": list(self.chain)} if self.chain else {}),
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Frame:
    """A capability that waits: the call that it answers, itself, and the gate of its own calls."""

    call: Call
    paused: Paused
    gate: Gate

    async def answers(self, answered: Mapping[int, Approval]) -> dict[int, Any]:
        """Carry out what of its own calls was allowed; give the answers by their ids."""
        answers = {}
        for call in self.paused.calls:
            value = await self.gate.settled(call, answered)
            if value is not SUSPEND:
                answers[call.id] = value
                self.gate.uncertain.discard(self.gate.number(call))
        return answers

    def frozen(self) -> FrozenFrame:
        """Give it as plain values."""
        within = tuple(frame.frozen() for frame in self.gate.frames.values())
        return FrozenFrame(self.call, self.paused.snapshot, self.paused.calls, within)


async def _awaited_value(making: Awaitable[Any]) -> Any:
    try:
        return await making
    except ToolError as error:
        return error


async def _as_value(give: Callable[[], Any]) -> Any:
    try:
        return give()
    except ToolError as error:
        return error
