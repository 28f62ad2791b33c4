"""`pml plan`: what a program would call, where that goes and what the rules say. Starts nothing.

A forecast from the source alone: each call is still decided when it is made.
"""

import difflib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.console import Console, shown
from pml.cli.excerpt import excerpt
from pml.cli.exits import APPROVAL, DONE, FAILED, process_environment
from pml.cli.opening import prepared
from pml.cli.source import Source, read_source

if TYPE_CHECKING:
    from pml.execution.planning import Plan, PlannedTool

_ADVICE = "which tool it is, is decided when it is called"
_REASONS = {
    "computed": "a name that is computed",
    "escapes": "handed to other code",
    "evaluates": "code made from text",
}
_LINES_SHOWN = 5  # of one tool's calls, in a row of the table

File = Annotated[str | None, typer.Argument(metavar="FILE", hidden=True)]
Code = Annotated[
    str | None, typer.Option("-e", "--eval", metavar="CODE", help="The program, instead of FILE.")
]


def plan(
    context: typer.Context,
    *,
    file: File = None,
    code: Code = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print data for machines.")] = False,
    as_mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print a Mermaid flowchart.")
    ] = False,
) -> int:
    """Show what a program would call, without running it or starting a server.

    FILE is TypeScript or JavaScript; - reads stdin. Shows each tool with its lines, where its
    calls go, the rule that decides, missing keys, what will be asked, and the shape of the
    program. Names that the program computes are told as warnings. Exit code 1 if a tool is denied
    or its server is unknown or cannot be used, 3 if you will be asked, 0 otherwise.
    """
    console: Console = context.obj
    import anyio  # noqa: PLC0415 - `--help` does not pay for it

    from pml.execution import planning  # noqa: PLC0415 - as above
    from sandbox_host import SandboxError  # noqa: PLC0415 - as above

    source = read_source(file, code, sys.stdin.buffer)
    try:
        found = anyio.run(planning.analysed, source.program)
    except SandboxError as error:
        return _refuse(console, error, source, as_json=as_json)
    setup = prepared(console, process_environment())
    if setup is None:
        made = planning.plan_of(found)
    else:
        from pml.assembly.capabilities import locked_namespaces  # noqa: PLC0415 - as above
        from pml.assembly.cloud import cloud_namespaces  # noqa: PLC0415 - as above

        capabilities, servers = locked_namespaces(setup)
        routes = planning.routes_of(capabilities, servers, cloud_namespaces(setup))
        made = planning.plan_of(found, setup.config, routes)
    if as_json:
        console.document(planning.plan_report(made))
        return _exit_code(made)
    if as_mermaid:
        _print_chart(console, made)
    else:
        _print(console, made)
    _tell(console, made)
    return _exit_code(made)


def _exit_code(made: "Plan") -> int:
    if made.denied or made.lost:
        return FAILED
    return APPROVAL if made.asked else DONE


def _notes(made: "Plan") -> dict[str, str]:
    return {tool.id: str(tool.decision.outcome) for tool in made.tools}


def _print_chart(console: Console, made: "Plan") -> None:
    from pml.analysis import drawing  # noqa: PLC0415

    console.text(drawing.mermaid(made.found.shape, _notes(made)))


def _print(console: Console, made: "Plan") -> None:
    from pml.analysis import drawing  # noqa: PLC0415

    if not made.tools:
        console.text("calls no tool that is named in the source")
    rows = [_row(tool) for tool in made.tools]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)]
        console.text("  ".join(cells).rstrip())
    if made.asked:
        console.text(f"\nyou will be asked about {', '.join(map(drawing.escaped, made.asked))}")
    if made.found.shape:
        console.text("")
    for line in drawing.tree(made.found.shape, _notes(made)):
        console.text(line)


def _row(tool: "PlannedTool") -> Sequence[str]:
    from pml.analysis.drawing import escaped  # noqa: PLC0415

    lines = list(dict.fromkeys(str(call.place.line) for call in tool.calls))
    more = ", …" if len(lines) > _LINES_SHOWN else ""
    decision = tool.decision
    rule = f"rule {shown(decision.rule)}" if decision.rule else "no rule"
    place = f" in {shown(decision.place)}" if decision.place else ""
    at = f"line {', '.join(lines[:_LINES_SHOWN])}{more}"
    return escaped(tool.id), at, tool.route, str(decision.outcome), f"{rule}{place}"


def _tell(console: Console, made: "Plan") -> None:
    """Say in words what is uncertain, missing or refused."""
    problem = made.found.problem
    if problem is not None:
        place = f"line {problem.place.line}: " if problem.place else ""
        console.warning(f"{place}{problem.message}")
    from pml.analysis.drawing import escaped, whose  # noqa: PLC0415
    from pml.execution.planning import message_of  # noqa: PLC0415

    for spot in made.found.dynamic:
        why = f"{_REASONS[spot.reason]}: `{escaped(spot.text)}`"
        console.warning(f"line {spot.place.line}: {why} may call {whose(spot)}; {_ADVICE}")
    for tool in made.denied:
        decision = tool.decision
        where = f" in `{decision.place}`" if decision.place else ""
        console.error(f"denied `{escaped(tool.id)}` by rule `{decision.rule}`{where}")
    for server, tool in {tool.calls[0].server: tool for tool in made.lost}.items():
        hint = tool.problem.hint if tool.problem else _near(server, made)
        console.error(message_of(tool, made), hint=hint)


def _near(server: str, made: "Plan") -> str | None:
    near = difflib.get_close_matches(server[:64], made.servers, n=1)
    return f"did you mean `{near[0]}`?" if near else None


def _refuse(console: Console, error: Any, source: Source, *, as_json: bool) -> int:
    """Print why there is no plan: the program cannot even be read."""
    if as_json:
        facts = {"status": "error", "code": error.code, "message": error.message,
                 "line": error.line, "column": error.column, "hint": error.hint}  # fmt: skip
        console.document(facts)
    else:
        place = excerpt(source.name, source.text, error.line, error.column)
        console.error(error.message, excerpt=place, hint=error.hint)
    return FAILED
