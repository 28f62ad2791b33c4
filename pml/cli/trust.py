"""`pml trust`: shows what of the workspace's configuration waits for the human, and asks.

The answer is typed on the terminal itself, never read from stdin, an option or the environment:
see the docstring of `pml.trust` for why. What is trusted is what was shown, whatever becomes of
the file meanwhile.
"""

import datetime
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.console import Console, shown
from pml.cli.exits import APPROVAL, DONE, FAILED, process_environment
from pml.cli.opening import here, is_terminal

if TYPE_CHECKING:
    from pml.trust import Change, Effective

_TERMINAL = Path("/dev/tty")
_GREEN, _RED, _PLAIN = "\x1b[32m", "\x1b[31m", "\x1b[0m"


def trust(
    context: typer.Context,
    *,
    show: Annotated[
        bool, typer.Option("--show", help="Only show what waits; ask and trust nothing.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="As --show, as data for machines.")
    ] = False,
) -> int:
    """Trust the workspace's configuration, after showing what that would allow.

    Until you do, servers that are new or changed do not start and rules that allow more do not
    count; what forbids more counts at once. Asks on the terminal; there is no way to answer
    beforehand. With --show or --json: exit code 3 if something waits for you.
    """
    console: Console = context.obj
    if show or as_json:
        return _show(console, as_json=as_json)
    return _ask(console)


def _show(console: Console, *, as_json: bool) -> int:
    from pml.keys import Keys, environ_with  # noqa: PLC0415 - `--help` does not pay for it
    from pml.trust import load_trusted  # noqa: PLC0415

    environ = process_environment()
    workspace = here(environ).path
    keys = Keys(environ, workspace)
    _, effect = load_trusted(workspace, environ_with(keys), Path.home(), keys)
    if as_json:
        console.document(_facts(effect, workspace))
    else:
        console.text("\n".join(_described(effect, workspace, colour=False)))
    return APPROVAL if effect.waiting else DONE


def _ask(console: Console) -> int:
    from pml.keys import Keys, environ_with  # noqa: PLC0415 - as above
    from pml.trust import (  # noqa: PLC0415
        TrustNeedsHumanError,
        effective,
        load,
        store_of,
        trust_loaded,
    )

    environ, home = process_environment(), Path.home()
    workspace = here(environ).path
    if not is_terminal():
        error = TrustNeedsHumanError()
        console.error(error.message, hint=error.hint)
        return APPROVAL
    store = store_of(workspace, environ, home)
    keys = Keys(environ, workspace)
    loaded = load(workspace, environ_with(keys), home, store.made_key(), keys)
    effect = effective(loaded, store.load())
    lines = "\n".join(_described(effect, workspace, colour=console.has_colour))
    if not effect.changes:
        console.text(lines)
        return DONE
    answer = answer_to(console, f"{lines}\ntrust this configuration? [y/N] ")
    if answer.strip().lower() not in ("y", "yes"):
        console.error("nothing was trusted")
        return FAILED
    trust_loaded(store, loaded, datetime.datetime.now(datetime.UTC))
    console.text(f"trusted {shown(str(workspace))}")
    return DONE


def _described(effect: "Effective", workspace: Path, *, colour: bool) -> Iterator[str]:
    """Say in lines what is trusted and what waits; all of it is escaped."""
    where = shown(str(workspace))
    if effect.is_trusted or not effect.waiting:
        yield f"workspace {where}"
    else:
        yield f"workspace {where}: not trusted yet"
    if effect.problem:
        yield f"what was trusted does not count: {shown(effect.problem)}"
    if not effect.changes:
        yield "the configuration is as you trusted it" if effect.is_trusted else "nothing to trust"
        return
    for title, waits in (
        ("waits for you, and is not used until you trust it:", True),
        ("applies already; trust it, or whoever writes the file can undo it:", False),
    ):
        chosen = [change for change in effect.changes if change.waits is waits]
        if chosen:
            yield title
        for change in chosen:
            yield from _lines(change, colour=colour)


def _lines(change: "Change", *, colour: bool) -> Iterator[str]:
    green, red, plain = (_GREEN, _RED, _PLAIN) if colour else ("", "", "")
    yield f"  {change.path}: {change.sentence}"
    if change.old is not None:
        yield f"    {red}- {change.old}{plain}"
    if change.new is not None:
        yield f"    {green}+ {change.new}{plain}"


def _facts(effect: "Effective", workspace: Path) -> dict[str, Any]:
    return {
        "workspace": str(workspace),
        "trusted": effect.is_trusted,
        "problem": effect.problem,
        "changes": [
            {
                "path": change.path,
                "kind": change.kind,
                "waits": change.waits,
                "old": change.old,
                "new": change.new,
                "sentence": change.sentence,
            }
            for change in effect.changes
        ],
    }


def answer_to(console: Console, question: str) -> str:
    """Ask, and read a line from the terminal; what was typed before is no answer."""
    try:
        with _TERMINAL.open(encoding="utf-8", errors="replace") as terminal:
            termios.tcflush(terminal.fileno(), termios.TCIFLUSH)
            console.ask(question)
            return terminal.readline()
    except (OSError, termios.error):
        return ""
