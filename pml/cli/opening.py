"""From a command line to open servers: workspace, configuration, progress, and a clean end.

Shared by all commands that use servers. What it imports late costs 200 ms: a program without
servers must not pay for it.
"""

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pml.cli.console import Console
from pml.cli.exits import process_environment
from pml.errors import NoConfigurationError
from pml.workspace import CONFIG_NAME, Workspace, resolve_workspace

if TYPE_CHECKING:
    from pml.assembly import Opened, Setup
    from pml.execution.rights import Rights
    from pml.execution.runner import Human, Office, Run
    from pml.execution.workflows import RunStore
    from pml.trust import Effective


class ConsoleObserver:
    """Shows on a terminal which servers are starting; tells what went wrong only if asked to."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        """Begin with nothing under way."""
        self._console = console
        self._verbose = verbose
        self._starting: list[str] = []

    def started(self, server: str, record: Mapping[str, Any]) -> None:
        """Show it; warn of a server without an OS sandbox: never silently."""
        if record.get("level") == "off":
            self._console.warning(f"server `{server}` runs without an OS sandbox")
        self._starting.append(server)
        self._show()

    def ready(self, server: str) -> None:
        """Take it from the screen."""
        self._starting = [one for one in self._starting if one != server]
        self._show()

    def logged(self, server: str, level: str, text: str) -> None:
        """Show a server's own words, if asked to."""
        if self._verbose:
            self._console.log(level, f"{server}: {text}")

    def stopped(self, server: str, reason: str) -> None:  # noqa: ARG002 - the port's
        """Take it from the screen; whoever called has the error."""
        if server in self._starting:
            self.ready(server)

    def _show(self) -> None:
        names = ", ".join(self._starting)
        self._console.status(f"starting {names} ..." if names else "")


def prepared(
    console: Console,
    environ: Mapping[str, str],
    *,
    needs_trust: bool = False,
    frozen: bool = False,
) -> "Setup | None":
    """Give what of the workspace's configuration may be used now; None if there never was one.

    What waits for the human is told; with `needs_trust`, a workspace that nobody has trusted yet
    raises `UntrustedWorkspaceError`.
    """
    from pml.places import state_folder, workspace_state  # noqa: PLC0415 - see above

    workspace, home = here(environ), Path.home()
    state = workspace_state(state_folder(environ, home), workspace.path)
    # a link to nowhere is an error; where a trusted file is gone, its denials still hold
    if not any(map(os.path.lexists, (workspace.path / CONFIG_NAME, state / "trust.json"))):
        return None
    from pml.assembly import prepare  # noqa: PLC0415 - see above

    made = prepare(workspace, environ, home, frozen=frozen)
    if needs_trust:
        made.effect.raise_if_untrusted()
    for warning in made.warnings:
        console.warning(warning)
    _tell_waiting(console, made.effect)
    return made.setup


def _tell_waiting(console: Console, effect: "Effective") -> None:
    if effect.waiting:
        count = len(effect.waiting)
        words = "1 change" if count == 1 else f"{count} changes"
        console.warning(f"{words} of {CONFIG_NAME} wait for you, and are not used")
        console.hint("pml trust")


def here(environ: Mapping[str, str]) -> Workspace:
    """Give the workspace of the current folder."""
    return resolve_workspace(environ=environ, cwd=Path.cwd())


@contextlib.asynccontextmanager
async def servers_of(
    setup: "Setup", console: Console, *, verbose: bool = False
) -> "AsyncIterator[Opened]":
    """Open the servers; none is started yet."""
    from pml.assembly import opened_servers  # noqa: PLC0415 - see above

    observer = ConsoleObserver(console, verbose=verbose)
    async with opened_servers(setup, observer) as opened:
        yield opened


def rights_of(
    setup: "Setup", opened: "Opened", human: "Human", *, yes: bool = False
) -> "tuple[Rights, Office]":
    """Say what programs may call, and who is asked."""
    from pml import assembly  # noqa: PLC0415 - see above
    from pml.execution.masking import masked  # noqa: PLC0415
    from pml.execution.report import run_report  # noqa: PLC0415
    from pml.execution.runner import Office  # noqa: PLC0415

    def report(run: "Run") -> Mapping[str, Any]:
        return run_report(masked(run, opened.redactor))

    store, words = assembly.store_of(setup), assembly.QuestionWords(opened)
    office = Office(store, human, words, report)
    return assembly.rights_of(setup, opened, yes=yes), office


def store_of(setup: "Setup") -> "RunStore":
    """Give the runs that wait."""
    from pml import assembly  # noqa: PLC0415 - see above

    return assembly.store_of(setup)


def required(console: Console) -> "Setup":
    """Read the configuration that must be there."""
    environ = process_environment()
    setup = prepared(console, environ, needs_trust=True)
    if setup is None:
        raise NoConfigurationError(here(environ).path / CONFIG_NAME)
    return setup


def human_of(console: Console) -> "Human":
    """Give who can be asked: the human at the terminal, or nobody."""
    from pml.cli.asking import TerminalHuman  # noqa: PLC0415 - see above
    from pml.execution.runner import Nobody  # noqa: PLC0415 - see above

    return TerminalHuman(console) if is_terminal() else Nobody()


def is_terminal() -> bool:
    """Say whether a human can be asked: a screen to write to and a terminal to read from."""
    if not sys.stderr.isatty():
        return False
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
