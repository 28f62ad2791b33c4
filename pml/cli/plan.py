"""`pml plan`: what a program would call, where that goes and what the rules say. Starts nothing.

A forecast from the source alone: each call is still decided when it is made.
"""

import dataclasses
import difflib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pml.cli.console import Console, shown
from pml.cli.excerpt import excerpt
from pml.cli.exits import APPROVAL, DONE, FAILED, process_environment
from pml.cli.opening import prepared
from pml.cli.source import Source, read_source
from pml.errors import PmlError
from pml.model import Outcome

if TYPE_CHECKING:
    from pml.analysis import Analysis, Call
    from pml.config import Config
    from pml.model import Decision

Route = Literal["local stdio", "remote http", "unusable", "unknown server"]

_WASM = "a WebAssembly module has no source to read: each of its calls is decided when it is made"
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
    from sandbox_host import SandboxError  # noqa: PLC0415 - `--help` does not pay for it

    source = read_source(file, code, sys.stdin.buffer)
    try:
        found = _analysed(source)
    except SandboxError as error:
        return _refuse(console, error, source, as_json=as_json)
    setup = prepared(console, process_environment())
    made = _plan(found, setup.config if setup else None)
    if as_json:
        console.document(_report(made))
        return made.exit_code
    if as_mermaid:
        _print_chart(console, made)
    else:
        _print(console, made)
    _tell(console, made)
    return made.exit_code


@dataclasses.dataclass(frozen=True, slots=True)
class PlannedTool:
    """A tool that the program may call, and what would become of it."""

    calls: "tuple[Call, ...]"
    decision: "Decision"
    route: Route
    problem: PmlError | None = None
    """Why its server cannot be used."""

    @property
    def id(self) -> str:
        """Give the tool's id."""
        return self.decision.tool


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What a run would touch."""

    found: "Analysis"
    tools: tuple[PlannedTool, ...]
    servers: tuple[str, ...]
    """Those that are configured."""

    @property
    def denied(self) -> list[PlannedTool]:
        """Give what may not be called."""
        return [tool for tool in self.tools if tool.decision.outcome is Outcome.DENY]

    @property
    def lost(self) -> list[PlannedTool]:
        """Give what has no server that can be used."""
        return [tool for tool in self.tools if tool.route in ("unusable", "unknown server")]

    @property
    def asked(self) -> list[str]:
        """Give what the human will be asked about: what cannot be called is not."""
        return [
            tool.id
            for tool in self.tools
            if tool.decision.outcome is Outcome.ASK and tool not in self.lost
        ]

    @property
    def exit_code(self) -> int:
        """Give the command's."""
        if self.denied or self.lost:
            return FAILED
        return APPROVAL if self.asked else DONE


def _analysed(source: Source) -> "Analysis":
    from pml.analysis import Analysis, Problem, analyse  # noqa: PLC0415 - loads the parser

    if isinstance(source.program, bytes):
        return Analysis(problem=Problem(_WASM))
    import anyio  # noqa: PLC0415 - as the sandbox

    from sandbox_host import Limits  # noqa: PLC0415 - the sandbox is loaded only to erase
    from sandbox_host.engine.runtime import shared_runtimes  # noqa: PLC0415
    from sandbox_host.programs import Erasers  # noqa: PLC0415

    erasers = Erasers(shared_runtimes().warm)
    erased = anyio.run(erasers.erase, source.program, Limits().code_bytes)
    return analyse(erased.code, erased.original)


def _plan(found: "Analysis", config: "Config | None") -> Plan:
    from pml.config import Config  # noqa: PLC0415 - `--help` does not pay for it

    known = config or Config()
    calls: dict[str, list[Call]] = {}
    for call in found.calls:
        calls.setdefault(call.tool, []).append(call)
    private = [one.name for one in known.private_mcps]
    names = (*(one.name for one in known.servers), *private, *known.unusable)
    tools = [_planned(tool, tuple(made), known) for tool, made in calls.items()]
    return Plan(found, tuple(tools), names)


def _planned(tool: str, calls: "tuple[Call, ...]", config: "Config") -> PlannedTool:
    from pml.config import HttpServerConfig  # noqa: PLC0415
    from pml.policy import decide  # noqa: PLC0415

    decision = decide(tool, config.permissions)
    try:
        server = config.server(calls[0].server)
    except PmlError as problem:
        return PlannedTool(calls, decision, "unusable", problem)
    if server is None:
        return PlannedTool(calls, decision, "unknown server")
    is_remote = isinstance(server, HttpServerConfig)
    return PlannedTool(calls, decision, "remote http" if is_remote else "local stdio")


def _report(made: Plan) -> dict[str, Any]:
    from pml.analysis import drawing  # noqa: PLC0415 - loaded by now

    problem = made.found.problem
    return {
        "tools": [_facts(tool) for tool in made.tools],
        "dynamic": drawing.as_data(made.found.dynamic),
        "denied": [tool.id for tool in made.denied],
        "asked": made.asked,
        "unusable": {tool.calls[0].server: _message(tool, made) for tool in made.lost},
        "shape": drawing.as_data(made.found.shape),
        "problem": None if problem is None else dataclasses.asdict(problem),
    }


def _facts(tool: PlannedTool) -> dict[str, Any]:
    from pml.analysis import drawing  # noqa: PLC0415

    decision = tool.decision
    return {
        "tool": tool.id,
        "routing": tool.route,
        "decision": str(decision.outcome),
        "rule": decision.rule,
        "place": decision.place,
        "calls": drawing.as_data(tool.calls),
    }


def _notes(made: Plan) -> dict[str, str]:
    return {tool.id: str(tool.decision.outcome) for tool in made.tools}


def _print_chart(console: Console, made: Plan) -> None:
    from pml.analysis import drawing  # noqa: PLC0415

    console.text(drawing.mermaid(made.found.shape, _notes(made)))


def _print(console: Console, made: Plan) -> None:
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


def _row(tool: PlannedTool) -> Sequence[str]:
    from pml.analysis.drawing import escaped  # noqa: PLC0415

    lines = list(dict.fromkeys(str(call.place.line) for call in tool.calls))
    more = ", …" if len(lines) > _LINES_SHOWN else ""
    decision = tool.decision
    rule = f"rule {shown(decision.rule)}" if decision.rule else "no rule"
    place = f" in {shown(decision.place)}" if decision.place else ""
    at = f"line {', '.join(lines[:_LINES_SHOWN])}{more}"
    return escaped(tool.id), at, tool.route, str(decision.outcome), f"{rule}{place}"


def _tell(console: Console, made: Plan) -> None:
    """Say in words what is uncertain, missing or refused."""
    problem = made.found.problem
    if problem is not None:
        place = f"line {problem.place.line}: " if problem.place else ""
        console.warning(f"{place}{problem.message}")
    from pml.analysis.drawing import escaped, whose  # noqa: PLC0415

    for spot in made.found.dynamic:
        why = f"{_REASONS[spot.reason]}: `{escaped(spot.text)}`"
        console.warning(f"line {spot.place.line}: {why} may call {whose(spot)}; {_ADVICE}")
    for tool in made.denied:
        decision = tool.decision
        where = f" in `{decision.place}`" if decision.place else ""
        console.error(f"denied `{escaped(tool.id)}` by rule `{decision.rule}`{where}")
    for server, tool in {tool.calls[0].server: tool for tool in made.lost}.items():
        hint = tool.problem.hint if tool.problem else _near(server, made)
        console.error(_message(tool, made), hint=hint)


def _message(tool: PlannedTool, made: Plan) -> str:
    from pml.analysis.drawing import escaped  # noqa: PLC0415

    if tool.problem is not None:
        return tool.problem.message
    configured = f"configured are {', '.join(made.servers)}" if made.servers else "there is none"
    return f"no server `{escaped(tool.calls[0].server)}` is configured; {configured}"


def _near(server: str, made: Plan) -> str | None:
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
