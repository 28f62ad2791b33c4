"""Every call of a program passes here: what happened before, what the policy says, then the call.

The guest is never thrown into by a question: a call that must wait is suspended, whatever the
program wrapped around it. What was done and answered since the last snapshot is answered from the
journal; what was only begun becomes a question, and nothing is repeated blindly.
"""

import dataclasses
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pml.audit import argument_hash
from pml.errors import CallDeniedError, PmlError
from pml.execution.approvals import Approval, Verdict
from pml.execution.errors import (
    JournalUnwritableError,
    RunAbortedError,
    RunDivergedError,
    WorkflowBrokenError,
)
from pml.execution.journal import Entry, Journal
from pml.execution.nesting import NestedQuestionError, Within
from pml.model import Decision, Outcome
from pml.ports import Composer, Recorder, ToolCaller
from pml.secret_files import is_secret_path
from sandbox_host import SUSPEND, Call, ToolError
from sandbox_host.errors import printable


@dataclasses.dataclass(frozen=True, slots=True)
class Rights:
    """Who carries calls out, and what they may be."""

    tools: ToolCaller
    decide: Callable[[str], Decision]
    audit: Recorder
    remember: Callable[[str], None]
    """Makes a verdict of Always last."""

    yes: bool = False
    """The human said yes to every question of this run beforehand."""

    composer: Composer | None = None
    """Carries out the tools that are programs themselves, if there are any."""


class Gate:
    """The host function of one run."""

    def __init__(
        self, rights: Rights, run: str, *, raw: bool = False, within: Within | None = None
    ) -> None:
        """Begin without a past; `raw` answers calls with results as servers gave them.

        `within` says in which capability of the run the calls are made, if in any.
        """
        self._rights = rights
        self._run = run
        self._raw = raw
        self._within = within or Within()
        self._always = self._within.always
        self.journal: Journal | None = None
        """Since the run was last written to disk; a run that never was has none."""

        self.asked: dict[int, tuple[Decision, str | None]] = {}
        """Calls that wait for the human, with the rule and any other reason to ask."""

        self.uncertain: set[int] = set()
        """Calls that may have happened when the process died."""

        self.stopped: PmlError | None = None
        """Why the program must make no call any more, whatever it catches."""

        self.warnings: list[str] = []
        """What the human should know although the run goes on."""

    async def answer(self, call: Call) -> Any:
        """Answer a call of the guest; what goes wrong rejects it there."""
        try:
            if (stopped := self._why_stopped()) is not None:
                raise stopped
            return await self._answer(call)
        except RunDivergedError as error:
            self.stopped = error
            raise as_tool_error(error) from None
        except PmlError as error:
            raise as_tool_error(error) from None

    def _why_stopped(self) -> PmlError | None:
        return self.stopped or self._within.stopped()

    async def _answer(self, call: Call) -> Any:
        arguments = argument_hash(call.args)
        entry = self.journal.known(call.id, call.tool, arguments) if self.journal else None
        if entry is not None:
            return self._from_journal(entry)
        decision = self._rights.decide(call.tool)
        if decision.outcome == Outcome.DENY:
            self._audit("call_denied", call, arguments, rule=decision.rule)
            raise CallDeniedError(call.tool, decision.rule or "?", decision.place)
        self._rights.tools.check(call.tool)  # what cannot be called is not asked about
        asks, reason = self._doubts(call, decision)
        if asks and call.tool not in self._always:
            if self._within.chain:
                self._audit("call_denied", call, arguments, rule=decision.rule, reason="nested")
                raise NestedQuestionError(call.tool, self._within.chain)
            self._audit("approval_asked", call, arguments, rule=decision.rule, reason=reason)
            self.asked[call.id] = decision, reason
            return SUSPEND
        return await self._carry_out(call, arguments, by=decision.rule)

    def must_ask(self, call: Call) -> bool:
        """Say whether a call would wait for the human; writes nothing down."""
        decision = self._rights.decide(call.tool)
        return decision.outcome != Outcome.DENY and self._doubts(call, decision)[0]

    def _doubts(self, call: Call, decision: Decision) -> tuple[bool, str | None]:
        """Say whether a call that is not denied is asked about, and why if a rule allows it."""
        if decision.outcome == Outcome.ASK:
            return not self._rights.yes, None
        if decision.rule == call.tool:  # a rule that names this very tool means it
            return False, None
        # a yes to all questions is not meant for these
        reason = _secret_file(call) or self._rights.tools.caution(call.tool)
        return reason is not None, reason

    def _from_journal(self, entry: Entry) -> Any:
        if not entry.is_done:
            self.uncertain.add(entry.call)
            return SUSPEND
        if entry.ok:
            return entry.value
        raise _rejection(entry.value)

    async def settle(self, call: Call, approval: Approval) -> Any:
        """Give what a waiting call is answered with after the human's word.

        A value; an exception as a value, to reject it with; or SUSPEND, when it turned out that
        the call may have happened already.
        """
        arguments = argument_hash(call.args)
        bound = (approval.call, approval.tool, approval.argument_hash)
        if bound != (call.id, call.tool, arguments):
            raise WorkflowBrokenError(self._run, f"`{approval.id}` is about another call")
        facts = {"approval": approval.id, "verdict": approval.verdict}
        self._audit("approval_answered", call, arguments, **facts)
        if approval.kind == "uncertain":
            return await self._settle_uncertain(call, arguments, approval)
        if approval.verdict not in (Verdict.YES, Verdict.ALWAYS):
            return as_tool_error(CallDeniedError(call.tool))
        if approval.verdict == Verdict.ALWAYS and call.tool not in self._always:
            self._always.add(call.tool)
            self._remember(call.tool)
        return await self._allowed(call, arguments, approval)

    async def _allowed(self, call: Call, arguments: str, approval: Approval) -> Any:
        """Make a call that the human allowed, unless it was made, or is denied by now."""
        entry = self.journal.known(call.id, call.tool, arguments) if self.journal else None
        if entry is not None:
            return await _as_value(lambda: self._from_journal(entry))
        decision = self._rights.decide(call.tool)
        if decision.outcome == Outcome.DENY:
            self._audit("call_denied", call, arguments, rule=decision.rule)
            return as_tool_error(CallDeniedError(call.tool, decision.rule or "?", decision.place))
        return await self._carried_out(call, arguments, approval.id)

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
            self.journal.begin(call.id, call.tool, arguments)
        try:
            value = await self._made(call)
        except (PmlError, ToolError) as error:
            rejection = error if isinstance(error, ToolError) else as_tool_error(error)
            self._end(call, arguments, ok=False, value=_rejection_facts(rejection))
            raise rejection from None
        self._end(call, arguments, ok=True, value=value)
        return value

    async def _made(self, call: Call) -> Any:
        """Have the call made: by a server, or by a program whose calls come back here."""
        composer, tools = self._rights.composer, self._rights.tools
        if composer is None or not composer.composes(call.tool):
            return await (tools.call_raw if self._raw else tools.call)(call.tool, call.args)
        make = composer.call_raw if self._raw else composer.call
        chain = self._within.chain
        within = Within(chain.entered(call.tool), self._always, self._why_stopped)
        gate = Gate(self._rights, self._run, within=within)
        return await make(call.tool, call.args, gate.answer, depth=len(chain))

    def _end(self, call: Call, arguments: str, *, ok: bool, value: Any) -> None:
        failed = not ok or (self._raw and value.get("isError") is True)
        facts = {"outcome": "error" if failed else "ok"}
        self._rights.audit.note("call_ended", {**self._about(call, arguments), **facts})
        try:
            if self.journal is not None:
                self.journal.end(call.id, ok=ok, value=value)
        except (OSError, ValueError, RecursionError) as error:
            # it happened and cannot be remembered: the program must not try again
            self.stopped = JournalUnwritableError(self._run, str(error))
            raise self.stopped from None

    def _audit(self, event: str, call: Call, arguments: str, **facts: Any) -> None:
        self._rights.audit.write(event, {**self._about(call, arguments), **facts})

    def _about(self, call: Call, arguments: str) -> Mapping[str, Any]:
        chain = self._within.chain
        return {
            "run": self._run,
            "call": call.id,
            "tool": call.tool,
            "argumentHash": arguments,
            **({"within": list(chain)} if chain else {}),
        }


def _secret_file(call: Call) -> str | None:
    """Say why a call is asked about although it is allowed: it names a file that holds secrets."""
    for name, value in call.args.items():
        for text in _texts(value):
            reason = is_secret_path(text) or is_secret_path(urllib.parse.unquote(text))
            if reason is not None:
                return f"`{printable(name, 60)}` names a file that looks secret: {reason}"
    return None


def _texts(value: Any) -> Iterator[str]:
    """Give every text inside a value; a guest's values are nested 200 levels at most."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


async def _as_value(give: Callable[[], Any]) -> Any:
    try:
        return give()
    except ToolError as error:
        return error


def as_tool_error(error: PmlError) -> ToolError:
    """Give the error that the program sees."""
    words = error.message if error.hint is None else f"{error.message}\nhint: {error.hint}"
    return ToolError(words, code=error.code, data=getattr(error, "data", None))


def _rejection_facts(error: ToolError) -> dict[str, Any]:
    return {"message": str(error), "code": error.code, "data": error.data}


def _rejection(facts: Mapping[str, Any]) -> ToolError:
    return ToolError(facts["message"], code=facts["code"], data=facts["data"])
