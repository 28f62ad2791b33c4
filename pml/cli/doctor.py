"""`pml doctor`: how machine, sandboxes and workspace are, and what to repair."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.console import Console
from pml.cli.exits import DONE, FAILED, process_environment

if TYPE_CHECKING:
    from pml.diagnosis import Finding

_MARGIN = " " * len("warning  ")


def doctor(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print data for machines.")] = False,
    no_servers: Annotated[
        bool, typer.Option("--no-servers", help="Start no server; only read what is configured.")
    ] = False,
) -> int:
    """Check this machine, the sandboxes and the workspace; say what to repair, and how.

    Tries to break out of the sandboxes, and starts each trusted server to see whether it works.
    Repairs and ends nothing. Exit code 1 if there is an error.
    """
    console: Console = context.obj
    findings = _examined(console, start_servers=not no_servers)
    if as_json:
        console.document(_facts(findings))
    else:
        _print(console, findings)
    return FAILED if any(one.level == "error" for one in findings) else DONE


def _examined(console: Console, *, start_servers: bool) -> "Sequence[Finding]":
    import anyio  # noqa: PLC0415 - `--help` does not pay for it

    from pml.diagnosis import Surroundings, examine  # noqa: PLC0415 - loads every room

    around = Surroundings(Path.cwd(), process_environment(), Path.home())

    async def look() -> "Sequence[Finding]":
        return await examine(
            around,
            start_servers=start_servers,
            watch=lambda subject: console.status(f"looking at {subject} ..."),
        )

    try:
        return anyio.run(look)
    finally:
        console.status("")


def _facts(findings: "Sequence[Finding]") -> dict[str, object]:
    counts = Counter(one.level for one in findings)
    return {
        "status": "error" if counts["error"] else "warning" if counts["warning"] else "ok",
        "findings": [
            {"level": one.level, "subject": one.subject, "fact": one.fact, "fix": one.fix}
            for one in findings
        ],
    }


def _print(console: Console, findings: "Sequence[Finding]") -> None:
    """Print one line for each, and below it the fix; a finding is escaped already."""
    width = max(len(one.subject) for one in findings)
    for one in findings:
        console.text(f"{one.level:7}  {one.subject:{width}}  {one.fact}")
        if one.fix:
            console.text(f"{_MARGIN}{'':{width}}  fix: {one.fix}")
    counts = Counter(one.level for one in findings)
    console.text(
        f"{counts['ok']} ok, {_counted(counts['warning'], 'warning')},"
        f" {_counted(counts['error'], 'error')}"
    )


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
