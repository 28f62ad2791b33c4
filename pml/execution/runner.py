"""The spine: request -> sandbox -> for each call the gate -> the human's word -> outcome.

`gate.py` decides and calls, `workflows.py` keeps what waits, `approvals.py` says what is asked.
When nothing can go on without the human, the program is frozen and written to disk before anyone
is asked: from then on the process may die. Knows no terminal, no wire and no server.
"""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import blake3

from pml.audit import argument_hash
from pml.execution.approvals import Approval, Verdict
from pml.execution.errors import RunAbortedError, WorkflowError
from pml.execution.frames import unpacked
from pml.execution.gate import Gate
from pml.execution.rejections import no_tools
from pml.execution.rights import Asked, Rights
from pml.execution.workflows import LIFETIME_SECONDS, RunStore, StoredRun, fresh_id
from pml.secret_files import is_secret_path
from sandbox_host import (
    SUSPEND,
    Call,
    Failed,
    Host,
    Limits,
    Mount,
    Outcome,
    Sandbox,
    SandboxError,
    Suspended,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Request:
    """What to run, and what it may use."""

    program: str | bytes
    """TypeScript or JavaScript, or the bytes of a WebAssembly module."""

    args: Any = None
    call: str | None = None
    """Of a module, the exported function to call."""

    limits: Limits = dataclasses.field(default_factory=Limits)
    mounts: tuple[Mount, ...] = ()
    name: str = "-e"
    """For people: the file."""

    raw: bool = False
    """Calls are answered with results as servers gave them, for a direct call."""

    collectable: bool = False
    """If it waits and ends elsewhere, its outcome is kept for whoever began it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended, or that waits."""

    outcome: Outcome
    refused_files: tuple[str, ...] = ()
    """What the program tried to do to protected files."""

    waiting: StoredRun | None = None
    """Of a suspended one: where it is kept and what it waits for."""

    warnings: tuple[str, ...] = ()
    """What the human should know."""


class Human(Protocol):
    """Who can be asked now."""

    async def ask(self, questions: Sequence[Approval]) -> Mapping[str, tuple[Verdict, Any]]:
        """Give verdicts by question; those without an answer are left out."""


class Nobody:
    """No one is there: every run waits."""

    async def ask(
        self,
        questions: Sequence[Approval],  # noqa: ARG002 - the port's
    ) -> Mapping[str, tuple[Verdict, Any]]:
        """Give no verdict."""
        return {}


class Shown(Protocol):
    """How a question is put to people."""

    def arguments(self, arguments: Mapping[str, Any]) -> str:
        """Give arguments as text: secrets masked, capped."""

    def level(self, tool: str) -> str:
        """Give the level of the OS sandbox around the tool's server."""


@dataclasses.dataclass(frozen=True, slots=True)
class Office:
    """Where runs wait for the human's word."""

    store: RunStore
    human: Human
    shown: Shown
    report: Callable[[Run], Mapping[str, Any]] | None = None
    """Makes what is kept of a collectable run that ends here; None where its client is."""


async def execute(
    request: Request, rights: Rights | None = None, office: Office | None = None
) -> Run:
    """Run a program in a fresh sandbox. Whatever stops it is inside the outcome."""
    stored = _new_run(fresh_id(), request)
    if rights is not None:
        rights.audit.write("run_started", {"run": stored.id, "code": stored.code_hash})
    ended = await _execute(request, rights, office, stored)
    if rights is not None:
        _audit_end(rights, stored.id, ended)
    return ended


async def _execute(
    request: Request, rights: Rights | None, office: Office | None, stored: StoredRun
) -> Run:
    gate = Gate(rights, stored.id, raw=request.raw) if rights is not None else None
    host = gate.answer if gate is not None else no_tools
    try:
        async with Sandbox(limits=request.limits, mounts=request.mounts) as sandbox:
            outcome = await _enter(sandbox, request, host)
            if not isinstance(outcome, Suspended) or gate is None or office is None:
                return Run(outcome, sandbox.refused_files)
            return await _Waiting(sandbox, gate, office, stored, _lines(request)).settle(outcome)
    except SandboxError as error:  # no mount, no guest: it never began
        return Run(Failed(error))


def _audit_end(rights: Rights, run: str, ended: Run) -> None:
    """Write how a run ended, and what it tried to do to protected files."""
    for refused in ended.refused_files:
        rights.audit.write("file_refused", {"run": run, "file": refused})
    match ended.outcome:
        case Suspended():
            rights.audit.write("run_suspended", {"run": run})
        case Failed(error=error):
            rights.audit.write("run_ended", {"run": run, "outcome": error.code})
        case _:
            rights.audit.write("run_ended", {"run": run, "outcome": "ok"})


# A direct call is a program of one line: so it can wait like any other.
_ONE_CALL = "return await mcp[args.server][args.tool](args.given)"


def one_call(tool: str, arguments: Mapping[str, Any], **more: Any) -> Request:
    """Give the program that makes one call."""
    server, _, name = tool.partition(":")
    given = {"server": server, "tool": name, "given": arguments}
    return Request(_ONE_CALL, given, name=f"call {tool}", **more)


async def call_directly(tool: str, arguments: Mapping[str, Any], rights: Rights) -> Any:
    """Make one call without a sandbox: the same policy, the same audit.

    Gives the server's result as it came, or `SUSPEND` if the human must be asked first: then
    nothing has happened, and `execute(one_call(...))` can wait for the word. Raises `ToolError`.
    """
    gate = Gate(rights, fresh_id(), raw=True)
    return await gate.answer_unasked(Call(1, tool, dict(arguments)))


async def resume(run: str, rights: Rights, office: Office) -> Run:
    """Go on with a run that waits, in this process or any later one."""
    stored = office.store.load(run)
    with office.store.hold(run):
        stored = office.store.load(run)
        limits, mounts = _granted(stored.request)
        frozen, frames = unpacked(office.store.snapshot(stored))
        gate = Gate(rights, run, raw=bool(stored.request.get("raw")))
        gate.thaw(frames)
        gate.journal = office.store.journal(stored)
        rights.audit.write("run_resumed", {"run": run, "code": stored.code_hash})
        try:
            async with Sandbox.restore(frozen, limits=limits, mounts=mounts) as sandbox:
                waiting = _Waiting(sandbox, gate, office, stored, ())
                ended = await waiting.settle(Suspended(sandbox.waiting), is_new=False)
        except SandboxError as error:
            ended = Run(Failed(error))
        _audit_end(rights, run, ended)
        return ended


class _Waiting:
    """A run from its first question to its end, or to the next that nobody answers."""

    def __init__(
        self,
        sandbox: Sandbox,
        gate: Gate,
        office: Office,
        stored: StoredRun,
        lines: Sequence[str],
    ) -> None:
        self._sandbox = sandbox
        self._gate = gate
        self._office = office
        self._stored = stored
        self._lines = lines

    async def settle(self, outcome: Outcome, *, is_new: bool = True) -> Run:
        store, run = self._office.store, self._stored.id
        with contextlib.closing(self._gate):
            if not is_new:
                return await self._settle(outcome, is_new=False)
            with store.hold(run):
                try:
                    return await self._settle(outcome, is_new=True)
                finally:
                    if self._stored.generation == 0:
                        store.remove(run)  # it could not be written: nothing is left of it

    async def _settle(self, outcome: Outcome, *, is_new: bool) -> Run:
        while isinstance(outcome, Suspended):
            if is_new:
                self._save(outcome.calls)
            answered = await self._verdicts()
            if not answered:
                warnings = tuple(self._gate.warnings)
                return Run(outcome, self._sandbox.refused_files, self._stored, warnings)
            answers = await self._answers(outcome.calls, answered)
            is_new = True
            if answers:
                outcome = await self._sandbox.resume(answers, host=self._gate.answer)
            if self._gate.stopped is not None:
                raise self._gate.stopped
        warnings = tuple(self._gate.warnings)
        ended = Run(outcome, self._sandbox.refused_files, warnings=warnings)
        self._end(ended)
        return ended

    def _save(self, calls: Sequence[Call]) -> None:
        """Freeze the program and its questions; the journal begins anew."""
        pending = tuple(self._question(*one) for one in self._gate.open_calls(calls))
        stored = dataclasses.replace(self._stored, pending=pending)
        self._gate.close()
        frozen = self._gate.frozen(self._sandbox.snapshot())
        self._stored = self._office.store.save(stored, frozen, let_go=self._gate.note_let_go)
        self._gate.journal = self._office.store.journal(self._stored)

    async def _verdicts(self) -> dict[int, Approval]:
        """Give the questions that have an answer, those just asked included."""
        store = self._office.store
        self._stored = store.load(self._stored.id)
        await self._look_for_keys()
        found = _answered(self._stored)
        if not found:
            for question, said in (await self._office.human.ask(self._stored.pending)).items():
                store.answer(question, *said)
            self._stored = store.load(self._stored.id)
            found = _answered(self._stored)
        return found

    async def _look_for_keys(self) -> None:
        """Take calls that lacked a key for answered once it is there: it needs no word."""
        missing = [one for one in self._stored.pending if one.kind == "keys" and not one.verdict]
        for one in missing:
            need = await self._gate.lacks(one.tool)
            if need is None or need.kind != "keys":
                self._office.store.answer(one.id, Verdict.YES)
                self._stored = self._office.store.load(self._stored.id)

    async def _answers(
        self, calls: Sequence[Call], answered: Mapping[int, Approval]
    ) -> dict[int, Any]:
        """Carry out what was allowed; leave out what turned out to be uncertain."""
        answers: dict[int, Any] = {}
        for call in calls:
            try:
                value = await self._gate.settled(call, answered)
            except RunAbortedError:
                self._forget()
                raise
            if value is not SUSPEND:
                answers[call.id] = value
                self._gate.uncertain.discard(call.id)
        return answers

    def _question(self, call: Call, gate: Gate) -> Approval:
        """Keep a question that is open; make one for a call that has none."""
        number = gate.number(call)
        uncertain = number in gate.uncertain
        for one in self._stored.pending:
            if one.call == number and one.verdict is None and not uncertain:
                return one
        asked = gate.asked.get(number, Asked())
        decision, need = asked.decision, asked.need
        line = None if gate.chain else call.line  # of a capability's own code nobody sees lines
        now = time.time()
        return Approval(
            fresh_id(),
            self._stored.id,
            number,
            call.tool,
            argument_hash(call.args),
            self._office.shown.arguments(call.args),
            kind="uncertain" if uncertain else need.kind if need else "call",
            rule=decision.rule if decision else None,
            place=decision.place if decision else None,
            reason=need.words if need else asked.reason,
            token=need.token if need else "",
            need=dict(need.facts) if need else None,
            within=str(gate.chain) or None,
            line=line,
            source_line=_line(self._lines, line),
            code_hash=self._stored.code_hash,
            level=self._office.shown.level(call.tool),
            created=now,
            expires=min(now + LIFETIME_SECONDS, self._stored.expires),
        )

    def _end(self, ended: Run) -> None:
        """Keep the outcome for whoever collects it, then forget the run."""
        report = self._office.report
        if report is not None and self._stored.collectable:
            self._office.store.keep(self._stored, report(ended))
        self._forget()

    def _forget(self) -> None:
        self._gate.close()
        self._office.store.remove(self._stored.id)


def _answered(run: StoredRun) -> dict[int, Approval]:
    now = time.time()
    return {
        one.call: one for one in run.pending if one.verdict is not None and not one.is_expired(now)
    }


def _new_run(run: str, request: Request) -> StoredRun:
    program = request.program
    content = program if isinstance(program, bytes) else program.encode(errors="surrogatepass")
    now = time.time()
    return StoredRun(
        run,
        0,
        now,
        now + LIFETIME_SECONDS,
        blake3.blake3(content).hexdigest(),
        request.name,
        {
            "limits": dataclasses.asdict(request.limits),
            "mounts": [
                [str(mount.path), mount.writable, mount.guest_path] for mount in request.mounts
            ],
            "raw": request.raw,
        },
        (),
        collectable=request.collectable,
    )


def _granted(facts: Mapping[str, Any]) -> tuple[Limits, tuple[Mount, ...]]:
    mounts = tuple(
        Mount(path, writable=writable, guest_path=guest, conceals=is_secret_path)
        for path, writable, guest in facts["mounts"]
    )
    return Limits(**facts["limits"]), mounts


def _lines(request: Request) -> Sequence[str]:
    return () if isinstance(request.program, bytes) else request.program.split("\n")


def _line(lines: Sequence[str], number: int | None) -> str | None:
    return lines[number - 1][:200] if number and number <= len(lines) else None


async def _enter(sandbox: Sandbox, request: Request, host: Host) -> Outcome:
    if isinstance(request.program, bytes):
        return await sandbox.run_wasm(
            request.program, host=host, args=request.args, call=request.call
        )
    return await sandbox.run(request.program, host=host, args=request.args, call=request.call)


__all__ = [
    "Human",
    "Nobody",
    "Office",
    "Request",
    "Rights",
    "Run",
    "Shown",
    "WorkflowError",
    "call_directly",
    "execute",
    "one_call",
    "resume",
]
