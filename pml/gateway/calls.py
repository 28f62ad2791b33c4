"""What each tool does: `execute`, `discover`, `continue_workflow`, `abort_workflow`, exposed ones.

From a client's request to its result, by way of the runner. A run that must wait is presented in
the way of the client's era (`asking`), or answered with how the human can give their word.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from pml.errors import PmlError
from pml.execution.gate import Rights
from pml.execution.masking import masked
from pml.execution.runner import (
    Human,
    Nobody,
    Request,
    Run,
    call_directly,
    execute,
    one_call,
    resume,
)
from pml.gateway import answering, wanted
from pml.gateway.asking import (
    AnsweredHuman,
    Context,
    ElicitingHuman,
    ModelHuman,
    can_ask,
    input_required,
    is_modern,
    is_open,
)
from pml.gateway.bench import Bench
from pml.gateway.definitions import ABORT, CONTINUE
from pml.gateway.discovering import discover
from pml.gateway.progress import (
    CountingCalls,
    ForwardingCalls,
    TellingProvisions,
    forwarded,
    wants_progress,
)
from sandbox_host import SUSPEND, Failed, SandboxError, ToolError

Result = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One `tools/call`: who asks, with what, on which bench."""

    context: Context
    bench: Bench
    arguments: Mapping[str, Any]

    @property
    def state(self) -> str | None:
        """The run that a 2026 client's retry is about; unsealed, so it is ours."""
        return (self.context.params or {}).get("requestState")

    @property
    def responses(self) -> Mapping[str, Any]:
        """What its human said."""
        given = (self.context.params or {}).get("inputResponses")
        return given if isinstance(given, Mapping) else {}

    def human(self) -> Human:
        """Give who can be asked while the call is open."""
        if self.state is not None:
            return AnsweredHuman(self.responses)
        if is_modern(self.context) or not can_ask(self.context):
            return Nobody()
        return ElicitingHuman(self.context)

    def rights(self) -> Rights:
        """Give what may be called; a client that asked for progress is told of it."""
        rights = self.bench.rights
        if not wants_progress(self.context):
            return rights
        tools, provisions = CountingCalls(rights.tools, self.context), rights.provisions
        if provisions is not None:
            mask = self.bench.redactor.text
            provisions = TellingProvisions(provisions, tools, self.context, mask)
        return dataclasses.replace(rights, tools=tools, provisions=provisions)

    def presented(self, run: Run, *, direct: bool = False) -> Result:
        """Give a run as a result; one that waits asks the human, where the client can."""
        run = masked(run, self.bench.redactor)
        if run.waiting is not None and is_modern(self.context) and can_ask(self.context):
            asked = [
                one for one in run.waiting.pending
                if is_open(one) and one.id not in self.responses
            ]  # fmt: skip
            if asked:  # what was cancelled is not asked again
                return input_required(asked, run.waiting.id)
        form = answering.of_direct if direct else answering.of_run
        return form(run, self.bench.workspace)


async def run_program(call: Call) -> Result:
    """Do `execute`."""
    if call.state is not None:
        return await _go_on(call, call.state, call.human())
    asked = wanted.execution(call.arguments)
    if asked.dry_run:
        return await _plan(call, asked.code)
    limits = call.bench.limits(asked.timeout_seconds)
    request = Request(asked.code, asked.args, limits=limits, name="execute", collectable=True)
    return call.presented(await execute(request, call.rights(), call.bench.office(call.human())))


async def _plan(call: Call, code: str) -> Result:
    from pml.execution import planning  # noqa: PLC0415 - its parser would delay every start

    try:
        names = call.bench.catalog.names
        made = planning.plan_of(await planning.analysed(code), call.bench.config, names)
    except SandboxError as error:
        return answering.of_run(Run(Failed(error)), call.bench.workspace)
    return answering.of_facts({"status": "plan", **planning.plan_report(made)})


async def find_tools(call: Call) -> Result:
    """Do `discover`."""
    return await discover(call.bench, call.arguments)


async def continue_run(call: Call) -> Result:
    """Do `continue_workflow`: collect what ended elsewhere, or go on with what was answered."""
    checks = {"workflowId": wanted.is_text}
    if call.bench.config.approvals == "model":
        checks["approved"] = wanted.is_flag
    given = wanted.checked(CONTINUE, call.arguments, checks, "workflowId")
    human = call.human()
    if "approved" in given:
        human = ModelHuman(approved=given["approved"])
    return await _go_on(call, given["workflowId"], human)


async def _go_on(call: Call, run: str, human: Human, *, direct: bool = False) -> Result:
    kept = call.bench.store.collect(run)
    if kept is not None:  # the human answered elsewhere, and there it ended
        return answering.of_kept(kept, direct=direct)
    ended = await resume(run, call.rights(), call.bench.office(human))
    return call.presented(ended, direct=direct)


async def abort_run(call: Call) -> Result:
    """Do `abort_workflow`."""
    checks = {"workflowId": wanted.is_text}
    run = wanted.checked(ABORT, call.arguments, checks, "workflowId")["workflowId"]
    store = call.bench.store
    if store.collect(run) is None:
        store.load(run)  # raises what is wrong with it
        with store.hold(run):
            store.remove(run)
        call.bench.rights.audit.note("run_ended", {"run": run, "outcome": "aborted"})
    return answering.of_facts({"status": "aborted", "workflowId": run})


async def call_exposed(call: Call, tool: str) -> Result:
    """Call an exposed tool: the same policy, the same audit, the server's own result."""
    if call.state is not None:
        return await _go_on(call, call.state, call.human(), direct=True)
    try:
        result = await _direct(call, tool)
    except ToolError as error:
        result = answering.of_rejection(error)
    if result is not SUSPEND:
        masked_result: Result = call.bench.redactor.value(result)
        return masked_result
    request = one_call(
        tool, call.arguments, limits=call.bench.limits(), raw=True, collectable=True
    )
    ended = await execute(request, call.bench.rights, call.bench.office(call.human()))
    return call.presented(ended, direct=True)


async def _direct(call: Call, tool: str) -> Any:
    rights = call.bench.rights
    if not wants_progress(call.context):
        return await call_directly(tool, call.arguments, rights)
    async with forwarded(call.context, call.bench.redactor.text) as on_progress:
        tools = ForwardingCalls(call.bench.catalog.servers, on_progress)
        return await call_directly(tool, call.arguments, dataclasses.replace(rights, tools=tools))


def failed(error: PmlError) -> Result:
    """Give an error of ours as the result of a tool, so that the model can act on it."""
    return answering.of_error(error)
