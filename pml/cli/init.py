"""`pml init`: a workspace and its client, ready to use."""

import datetime
import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.console import Console, shown
from pml.cli.exits import APPROVAL, DONE, FAILED, process_environment
from pml.cli.opening import here, is_terminal
from pml.cli.trust import answer_to
from pml.errors import TerminalNeededError

if TYPE_CHECKING:
    from pml.onboarding import FileChange, SetupPlan

ClientName = Annotated[
    str, typer.Option("--client", metavar="NAME", help="claude, cursor, vscode or codex.")
]


def init(
    context: typer.Context,
    *,
    client: ClientName = "claude",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before writing.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written, and write nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print data for machines.")] = False,
) -> int:
    """Set this workspace up: .pml.json, the client's own file, .gitignore.

    A client's file keeps all that is in it; what changes is backed up beside it. A .pml.json that
    was there before is not changed, and counts once you trust it: pml trust. Running it again
    changes nothing. Exit code 3 if something waits for your trust.
    """
    console: Console = context.obj
    from pml.onboarding import (  # noqa: PLC0415 - `--help` does not pay for it
        Client,
        Surroundings,
        find_program,
        next_step,
        plan_setup,
        trust_created,
        write_all,
    )

    if client not in list(Client):
        raise typer.BadParameter(f"{client} is none of {', '.join(Client)}")  # noqa: TRY003
    environ = process_environment()
    around = Surroundings(here(environ).path, environ, Path.home(), sys.platform)
    program = find_program(sys.argv[0], sys.executable, environ)
    plan = plan_setup(around, Client(client), program)
    if dry_run:
        _show(console, plan, as_json=as_json)
        return DONE
    if plan.is_needed and not yes and not _agreed(console, plan):
        console.error("nothing was written")
        return FAILED
    write_all(plan.changes)
    trust_created(plan, datetime.datetime.now(datetime.UTC))
    waits = _waits(plan)
    if as_json:
        console.document(_facts(plan, trusted=not waits))
    else:
        for change in plan.changes:
            console.text(f"{change.action:9}  {shown(str(change.path))}")
    if program.note:
        console.warning(program.note)
    if waits:
        console.warning(f"{plan.config.path} was there before, and is not used as it is")
        console.hint("look at it, then: pml trust")
        return APPROVAL
    console.hint(next_step(Client(client), around.workspace))
    return DONE


def _agreed(console: Console, plan: "SetupPlan") -> bool:
    """Ask; Enter means yes only where no file that exists would be changed."""
    if not is_terminal():
        raise TerminalNeededError("init")
    lines = [f"  {change.action:9}  {shown(str(change.path))}" for change in plan.changes]
    lines += [f"  backup     {shown(str(one.backup))}" for one in plan.changes if one.backup]
    choice = "[y/N]" if plan.changes_existing else "[Y/n]"
    said = answer_to(console, "\n".join([*lines, f"write these files? {choice} "])).strip().lower()
    return said in ("y", "yes") or (not said and not plan.changes_existing)


def _waits(plan: "SetupPlan") -> bool:
    """Say whether something of the configuration waits for the human."""
    from pml.keys import Keys, environ_with  # noqa: PLC0415 - as above
    from pml.trust import load_trusted  # noqa: PLC0415

    around = plan.around
    keys = Keys(around.environ, around.workspace)
    _, effect = load_trusted(around.workspace, environ_with(keys), around.home, keys)
    return bool(effect.waiting)


def _show(console: Console, plan: "SetupPlan", *, as_json: bool) -> None:
    if as_json:
        console.document(_facts(plan, trusted=False))
        return
    for change in plan.changes:
        if change.is_written:
            console.text(shown("".join(_diff(change))).rstrip("\n"))
    if not plan.is_needed:
        console.text("nothing to do")


def _diff(change: "FileChange") -> list[str]:
    old = (change.before or b"").decode(errors="replace").splitlines(keepends=True)
    new = (change.after or b"").decode(errors="replace").splitlines(keepends=True)
    name = str(change.path)
    return list(difflib.unified_diff(old, new, name if change.before else "/dev/null", name))


def _facts(plan: "SetupPlan", *, trusted: bool) -> dict[str, Any]:
    return {
        "workspace": str(plan.around.workspace),
        "files": [
            {
                "path": str(change.path),
                "action": change.action,
                "backup": str(change.backup) if change.backup else None,
            }
            for change in plan.changes
        ],
        "trusted": trusted,
    }
