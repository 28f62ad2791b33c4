"""`pml stdio`: the MCP server that a client starts.

Stdout is the wire, and stderr is for words: clients keep them in their logs.
"""

import contextlib
import dataclasses
import gc
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TextIO, cast

import typer

from pml import __version__
from pml.cli.console import Console, shown
from pml.cli.exits import DONE, process_environment
from pml.cli.opening import here
from pml.errors import ExposeInvalidError
from pml.streams import LossyText, claimed_streams


def stdio(
    context: typer.Context,
    *,
    expose: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Offer these tools by name too; repeatable."),
    ] = None,
    only: Annotated[bool, typer.Option("--only", help="Offer only what is exposed.")] = False,
    frozen: Annotated[
        bool,
        typer.Option("--frozen", help="For CI: fail where something new would be asked."),
    ] = False,
) -> int:
    """Serve an MCP client on stdin and stdout, until it hangs up.

    Clients start this themselves: `pml init` tells them to. PATTERN is a server, a tool such as
    git:git_log, or a glob of either; it is offered as git__git_log.
    """
    console: Console = context.obj
    patterns = tuple(expose or ())
    _check(patterns, only=only)
    if sys.stdin.isatty():
        console.hint("this is for MCP clients: pml init sets one up; Ctrl-D ends it")
    gc.disable()  # what is imported stays: looking for garbage in it delays the first answer
    import anyio  # noqa: PLC0415 - `--help` does not pay for it

    words = LossyText(console.stderr.fileno())
    console = dataclasses.replace(console, stderr=cast("TextIO", words))
    with claimed_streams() as streams, contextlib.redirect_stderr(words):
        anyio.run(_serve, console, streams, (patterns, only), frozen)
    return DONE


async def _serve(
    console: Console,
    streams: tuple[int, int],
    offered: tuple[tuple[str, ...], bool],
    frozen: bool,
) -> None:
    from pml.assembly.workshop import opened_workshop  # noqa: PLC0415 - half a second
    from pml.gateway import Options, serve  # noqa: PLC0415
    from pml.places import state_folder  # noqa: PLC0415
    from pml.trust.key import made_key  # noqa: PLC0415

    environ, home = process_environment(), Path.home()
    workspace = here(environ)
    if workspace.warning:
        console.warning(workspace.warning)
    key = made_key(state_folder(environ, home))
    options = Options(__version__, key, *offered)
    gc.freeze()
    gc.enable()
    opening = opened_workshop(workspace, environ, home, _Log(console), frozen=frozen)
    async with opening as workshop:
        await serve(workshop, options, console.warning, streams)


def _check(patterns: tuple[str, ...], *, only: bool) -> None:
    from pml.config.names import pattern  # noqa: PLC0415

    for text in patterns:
        found = pattern(text)
        if found is not None:
            raise ExposeInvalidError(shown(text)[:60], found.hint)
    if only and not patterns:
        raise ExposeInvalidError


class _Log:
    """Writes down what servers do, for the client's log."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def started(self, server: str, record: Mapping[str, Any]) -> None:
        if record.get("level") == "off":
            self._console.warning(f"server `{server}` runs without an OS sandbox")

    def ready(self, server: str) -> None: ...

    def logged(self, server: str, level: str, text: str) -> None:
        self._console.log(level, f"{server}: {text}")

    def stopped(self, server: str, reason: str) -> None:
        if reason not in ("closed", "idle"):
            self._console.warning(f"server `{server}` ended: {reason}")
