"""The `pml` command: its subcommands, and what becomes of all that they do not handle.

Exit codes: 0 done, 1 refused or failed, 2 usage or internal, 130 interrupted.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from pml import __version__
from pml.cli import run
from pml.cli.console import Console
from pml.errors import PmlError

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
        return run.USAGE
    except PmlError as error:
        console.error(error.message, hint=error.hint)
        return run.FAILED
    except Exception as error:  # noqa: BLE001 - a bug of ours, whatever it is
        console.bug(error)
        return run.USAGE
    if code == run.INTERRUPTED:
        console.error("interrupted")
    return int(code or run.DONE)


def _app() -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback(invoke_without_command=True)(_pml)
    app.command("run")(run.run)
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
        raise typer.Exit(run.USAGE)


if __name__ == "__main__":
    sys.exit(main())
