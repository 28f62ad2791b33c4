"""`pml audit`: what happened in this workspace, and whether the account of it is whole.

Facts may be words of guests and servers: they are escaped and capped for people, exact as JSON.
"""

import datetime
import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.console import Console, shown
from pml.cli.exits import DONE, FAILED, process_environment
from pml.cli.opening import here
from pml.errors import UsageError

if TYPE_CHECKING:
    from pml.audit import Entry

_SPAN = re.compile(r"(?P<number>[0-9]{1,6})(?P<unit>[smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_FACT_CHARACTERS = 160
_SUBJECTS = ("tool", "server", "run")  # what a line is about: the first that it has


class SinceInvalidError(UsageError):
    """`--since` is no time."""

    code = "since_invalid"

    def __init__(self) -> None:
        """Show what it may be."""
        super().__init__(
            "--since is no time", hint="--since 30m, 2h, 7d, 2026-11-18 or 2026-11-18T06:00:00Z"
        )


def app() -> typer.Typer:
    """Give the subcommands."""
    commands = typer.Typer(rich_markup_mode=None)
    commands.callback(invoke_without_command=True)(_audit)
    commands.command("tail")(tail)
    commands.command("show")(show)
    commands.command("verify")(verify)
    return commands


def _audit(context: typer.Context) -> int:
    """Show what happened in this workspace: calls, refusals, approvals, servers.

    Without a subcommand, the last lines.
    """
    return tail(context) if context.invoked_subcommand is None else DONE


def tail(
    context: typer.Context,
    *,
    lines: Annotated[int, typer.Option("-n", min=1, metavar="N", help="So many lines.")] = 20,
) -> int:
    """Show the last lines."""
    from pml.audit import newest  # noqa: PLC0415 - `--help` does not pay for it

    console: Console = context.obj
    found = newest(_folder(), lines)
    for entry in found:
        console.text(_human(entry))
    if not found:
        console.hint("nothing has been written down yet in this workspace")
    return DONE


def show(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="From a time on, or so long ago: 2h.")
    ] = None,
    event: Annotated[
        str | None, typer.Option(metavar="EVENT", help="Such as call_ended; a glob.")
    ] = None,
    tool: Annotated[
        str | None, typer.Option(metavar="TOOL", help="Such as filesystem:read_file; a glob.")
    ] = None,
) -> int:
    """Show all lines, or those that fit."""
    console: Console = context.obj
    earliest = _earliest(since)
    for entry in _fitting(earliest, event, tool):
        if as_json:
            console.document(_facts(entry))
        else:
            console.text(_human(entry))
    return DONE


def verify(context: typer.Context) -> int:
    """Check that nothing was changed; name the first line.

    Lines that were changed, removed, moved or added by anybody but pml; exit code 1 if there are.
    """
    from pml.audit import verify as verified  # noqa: PLC0415 - `--help` does not pay for it

    console: Console = context.obj
    folder = _folder()
    report = verified(
        folder, lambda done, total: console.status(f"checking {100 * done // total} % ...")
    )
    console.status("")
    for place in report.partial:
        console.warning(str(place))
    if report.broken is not None:
        console.error(
            f"the audit was changed: {report.broken}",
            hint=f"{_lines(report.count)} before it as written; the files are in {folder}",
        )
        return FAILED
    console.text(f"{_lines(report.count)}, all as written")
    return DONE


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


def _folder() -> Path:
    from pml.places import state_folder, workspace_state  # noqa: PLC0415 - see above

    environ = process_environment()
    return workspace_state(state_folder(environ, Path.home()), here(environ).path)


def _fitting(earliest: str, event: str | None, tool: str | None) -> "Iterator[Entry]":
    from pml.audit import entries  # noqa: PLC0415 - see above

    for entry in entries(_folder()):
        if (
            entry.at >= earliest
            and (event is None or fnmatchcase(entry.event, event))
            and (tool is None or fnmatchcase(str(entry.facts.get("tool", "")), tool))
        ):
            yield entry


def _earliest(since: str | None) -> str:
    """Give the time in the form that lines have, which sorts as text."""
    if since is None:
        return ""
    span = _SPAN.fullmatch(since)
    try:
        if span:
            ago = datetime.timedelta(**{_UNITS[span["unit"]]: int(span["number"])})
            time = datetime.datetime.now(datetime.UTC) - ago
        else:
            time = datetime.datetime.fromisoformat(since).astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        raise SinceInvalidError from None
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _facts(entry: "Entry") -> dict[str, Any]:
    return {
        "n": entry.number,
        "at": entry.at,
        "event": entry.event,
        "facts": dict(entry.facts),
        "authentic": entry.authentic,
    }


def _human(entry: "Entry") -> str:
    facts = dict(entry.facts)
    subject = next((facts.pop(name) for name in _SUBJECTS if facts.get(name)), "")
    words = " ".join(f"{name}={_brief(value)}" for name, value in facts.items())
    mark = "" if entry.authentic else "NOT AUTHENTIC "
    line = f"{entry.number:>6}  {entry.at}  {mark}{entry.event:18}  {_brief(subject)}  {words}"
    return _one_line(line.rstrip())


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _FACT_CHARACTERS else f"{text[:_FACT_CHARACTERS]}…"


def _one_line(text: str) -> str:
    """Escape line breaks too: a fact must not be able to look like a line."""
    return shown(text).replace("\n", "\\n").replace("\t", "\\t")
