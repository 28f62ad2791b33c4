"""The `pml` command: its subcommands, and what becomes of all that they do not handle.

Exit codes: 0 done, 1 refused or failed, 2 usage or internal, 3 approval needed, 130 interrupted.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from pml import __version__
from pml.cli import (
    adding,
    audit,
    bench,
    cloud,
    doctor,
    exits,
    init,
    lock,
    plan,
    publishing,
    run,
    servers,
    stdio,
    trust,
    workflows,
)
from pml.cli.console import Console
from pml.errors import PmlError, UsageError

# what typer raises about a command line: of its exceptions only the leaves are public
_UsageProblem: Any = typer.BadParameter.__mro__[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command line; give the process's exit code."""
    console = Console.standard(sys.stdout, sys.stderr, os.environ)  # noqa: TID251 - the edge
    try:
        code = _app()(arguments, prog_name="pml", obj=console, standalone_mode=False)
    except _UsageProblem as problem:
        command = problem.ctx.command_path if problem.ctx else "pml"
        message = problem.format_message().rstrip(".")
        console.error(f"{message[:1].lower()}{message[1:]}", hint=f"{command} --help")
        return exits.USAGE
    except PmlError as error:
        console.error(error.message, hint=error.hint)
        if error.code.startswith("untrusted"):  # its class would be slow to import
            return exits.APPROVAL
        return exits.USAGE if isinstance(error, UsageError) else exits.FAILED
    except Exception as error:  # noqa: BLE001 - a bug of ours, whatever it is
        console.bug(error)
        return exits.USAGE
    if code == exits.INTERRUPTED:
        console.error("interrupted")
    return int(code or exits.DONE)


def _app() -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback(invoke_without_command=True)(_pml)
    app.command("init")(init.init)
    app.command("stdio")(stdio.stdio)
    app.command("run")(run.run)
    app.command("plan")(plan.plan)
    app.add_typer(servers.app(), name="servers")
    app.command("tools")(servers.tools)
    app.command("call")(servers.call)
    app.command("approvals")(workflows.approvals)
    app.command("approve")(workflows.approve)
    app.add_typer(workflows.workflows_app(), name="workflows")
    app.command("trust")(trust.trust)
    app.command("add")(adding.add)
    app.command("remove")(adding.remove)
    app.command("list")(adding.list_all)
    app.command("publish")(publishing.publish)
    app.add_typer(lock.app(), name="lock")
    app.add_typer(audit.app(), name="audit")
    app.add_typer(cloud.app(), name="cloud")
    app.command("doctor")(doctor.doctor)
    app.command("bench")(bench.bench)
    return app


def _pml(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Run agent-written code in a sandbox whose only exit is your tools."""
    if version:
        context.obj.text(f"pml {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        context.obj.text(context.get_help())
        raise typer.Exit(exits.USAGE)


if __name__ == "__main__":
    sys.exit(main())
