"""`pml approvals`, `pml approve` and `pml workflows`: runs that wait, and the human's word.

Giving a word needs a terminal: what an agent runs without one cannot approve anything.
"""

import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.console import Console, shown
from pml.cli.ending import print_run
from pml.cli.exits import DONE, FAILED
from pml.cli.opening import human_of, is_terminal, required, rights_of, servers_of, store_of
from pml.cli.source import Source
from pml.errors import PmlError, TerminalNeededError

if TYPE_CHECKING:
    from pml.assembly import Setup
    from pml.execution.runner import Human, Run
    from pml.execution.workflows import StoredRun

AsJson = Annotated[bool, typer.Option("--json", help="Print data for machines.")]
Id = Annotated[str | None, typer.Argument(metavar="ID", hidden=True)]
RunId = Annotated[str, typer.Argument(metavar="RUN", hidden=True)]


def approvals(context: typer.Context, *, as_json: AsJson = False) -> int:
    """List the questions that wait for your word."""
    console: Console = context.obj
    setup = required(console)
    runs, problems = store_of(setup).all()
    waiting = [one for run in runs for one in run.pending if one.verdict is None]
    if as_json:
        console.document([one.facts() for one in waiting])
    from pml.execution.wording import described  # noqa: PLC0415 - loads the sandbox

    for one in () if as_json else waiting:
        console.text(described(one))
    for problem in problems.values():
        console.warning(problem.message)
    return DONE


def approve(context: typer.Context, *, question: Id = None) -> int:
    """Answer a question, or all of them, and let the run go on.

    ID is a question or a run, from `pml approvals`; without it all are asked. Needs a terminal.
    """
    console: Console = context.obj
    if not is_terminal():
        raise TerminalNeededError("approve")
    from pml.cli.asking import TerminalHuman  # noqa: PLC0415 - as above

    setup = required(console)
    store = store_of(setup)
    chosen = [
        run for run in store.all()[0]
        if question in (None, run.id) or any(one.id == question for one in run.pending)
    ]  # fmt: skip
    if question is not None and not chosen:
        store.find(question)  # raises what is wrong with it
    code = DONE
    for run in chosen:
        code = max(code, _go_on(console, setup, run.id, TerminalHuman(console)))
    return code


def list_workflows(context: typer.Context, *, as_json: AsJson = False) -> int:
    """List the runs that wait, and those that cannot go on."""
    console: Console = context.obj
    runs, problems = store_of(required(console)).all()
    if as_json:
        console.document([_facts(run) for run in runs])
    for run in () if as_json else runs:
        open_questions = sum(one.verdict is None for one in run.pending)
        console.text(
            f"{run.id}  {_when(run.created)}  {shown(run.name)}  {open_questions} questions"
        )
    for problem in problems.values():
        console.warning(problem.message)
    return DONE


def show_workflow(context: typer.Context, *, run: RunId, as_json: AsJson = False) -> int:
    """Show a run and what it waits for."""
    console: Console = context.obj
    stored = store_of(required(console)).load(run)
    if as_json:
        console.document(_facts(stored))
        return DONE
    from pml.execution.wording import described  # noqa: PLC0415 - loads the sandbox

    console.text(f"run      {stored.id} of {shown(stored.name)}")
    console.text(f"began    {_when(stored.created)}")
    console.text(f"expires  {_when(stored.expires)}")
    for one in stored.pending:
        console.text(described(one) + (f"\n  verdict    {one.verdict}" if one.verdict else ""))
    return DONE


def resume_workflow(context: typer.Context, *, run: RunId, as_json: AsJson = False) -> int:
    """Go on with a run whose questions are answered; on a terminal, open ones are asked."""
    console: Console = context.obj
    human = human_of(console)
    return _go_on(console, required(console), run, human, as_json=as_json)


def abort_workflow(context: typer.Context, *, run: RunId) -> int:
    """End a run that waits; what it did stays done."""
    console: Console = context.obj
    store = store_of(required(console))
    if not store.exists(run):
        store.load(run)  # raises what is wrong with it
    with store.hold(run):
        store.remove(run)
    console.text(f"ended {run}")
    return DONE


def workflows_app() -> typer.Typer:
    """Give the subcommands of `pml workflows`."""
    app = typer.Typer(rich_markup_mode=None, help="Runs that wait for your word.")
    app.command("list")(list_workflows)
    app.command("show")(show_workflow)
    app.command("resume")(resume_workflow)
    app.command("abort")(abort_workflow)
    return app


def _go_on(
    console: Console, setup: "Setup", run: str, human: "Human", *, as_json: bool = False
) -> int:
    import anyio  # noqa: PLC0415 - `--help` does not pay for it

    from pml.execution.masking import masked  # noqa: PLC0415 - as above
    from pml.execution.runner import resume  # noqa: PLC0415

    async def go_on() -> "Run":
        async with servers_of(setup, console) as opened:
            rights, office = rights_of(setup, opened, human)
            return masked(await resume(run, rights, office), opened.redactor)

    try:
        ended = anyio.run(go_on)
    except PmlError as error:
        console.error(error.message, hint=error.hint)
        return FAILED
    return print_run(console, ended, Source(f"run {run}", ""), as_json=as_json)


def _facts(run: "StoredRun") -> dict[str, Any]:
    return {
        "workflowId": run.id,
        "name": run.name,
        "created": _when(run.created),
        "expires": _when(run.expires),
        "codeHash": run.code_hash,
        "approvals": [one.facts() for one in run.pending],
    }


def _when(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.isoformat(timespec="seconds")
