"""`pml servers install`: packages of servers, shown, asked about and installed.

Those of the configuration, and those that locked names of registries bring.

The answer is typed on the terminal. `--yes` says it beforehand, but never to a name that looks
like another's: that is what such names are made for.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.console import Console, shown
from pml.cli.exits import DONE, FAILED
from pml.cli.opening import is_terminal, required
from pml.cli.trust import answer_to
from pml.errors import PmlError, TerminalNeededError
from pml.model import Progress

if TYPE_CHECKING:
    from pml.assembly import Setup
    from pml.assembly.installable import Installable
    from pml.loader.installer import Approved, InstallQuestion

_BAR_CHARACTERS = 20


def install(
    context: typer.Context,
    *,
    name: Annotated[str | None, typer.Argument(metavar="NAME", hidden=True)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before installing.")] = False,
    update: Annotated[
        bool, typer.Option("--update", help="Also those that are installed: look for newer ones.")
    ] = False,
) -> int:
    """Install the packages of servers that are started by npx, uvx and their like.

    NAME is one server; without it all are meant. Shows what will be installed and asks. Scripts of
    packages are not run; what is installed is hashed, and checked at each start.
    """
    console: Console = context.obj
    setup = required(console)
    from pml.assembly.installable import installable  # noqa: PLC0415 - `--help` does not pay

    code = DONE
    servers = installable(setup, name)
    for server in servers:
        if server.is_installed() and not (update and server.can_change):
            console.text(f"{server.name} is installed")
        elif not _one(console, setup, server, yes=yes):
            code = FAILED
    if not servers:
        console.hint("no package is to be installed: these servers are started directly")
    return code


def _one(console: Console, setup: "Setup", server: "Installable", *, yes: bool) -> bool:
    """Ask about one package and install it; say whether it was."""
    import anyio  # noqa: PLC0415 - `--help` does not pay for it

    try:
        question = anyio.run(server.question, lambda progress: _show(console, progress))
        if not _agreed(console, question, server.details, yes=yes):
            console.error(f"{server.name} was not installed")
            return False
        approved = anyio.run(_install, setup, server, question, console)
    except TerminalNeededError:
        raise
    except PmlError as error:
        console.error(error.message, hint=error.hint)
        return False
    finally:
        console.status("")
    console.text(f"installed {server.name}: {shown(str(approved.package))} {approved.integrity}")
    return True


async def _install(
    setup: "Setup", server: "Installable", question: "InstallQuestion", console: Console
) -> "Approved":
    from pml.assembly import redactor_of  # noqa: PLC0415 - as above
    from pml.assembly.packages import install as do  # noqa: PLC0415

    redactor = redactor_of(setup, shapes=True)
    return await do(setup, question, redactor, lambda one: _show(console, one), server.promise)


def _agreed(
    console: Console, question: "InstallQuestion", details: Sequence[str], *, yes: bool
) -> bool:
    told = [f"  {shown(one)}" for one in details]
    lines = "\n".join([*_described(question), *told])
    looks_alike = any(doubt.kind == "look_alike" for doubt in question.doubts)
    if yes and not looks_alike:
        return True
    if not is_terminal():
        for doubt in question.doubts:
            console.warning(f"{question.server}: {doubt.words}")
        raise TerminalNeededError("servers install")  # noqa: TRY003 - its name
    answer = answer_to(console, f"{lines}\n{shown(question.words)} [y/N] ")
    return answer.strip().lower() in ("y", "yes")


def _described(question: "InstallQuestion") -> list[str]:
    facts = question.facts()
    where = {"npm": "npm", "pypi": "PyPI"}[facts["registry"]]
    name = f"{facts['package']}, version {facts['version']}, from {where}"
    lines = [f"server {question.server} needs the package {shown(name)}"]
    return [*lines, *(f"  careful: {shown(doubt.words)}" for doubt in question.doubts)]


def _show(console: Console, progress: Progress) -> None:
    full = round(_BAR_CHARACTERS * progress.done / (progress.total or 1))
    bar = "#" * full + "." * (_BAR_CHARACTERS - full)
    console.status(f"[{bar}] {progress.message or ''}")
