"""`pml servers`, `pml tools` and `pml call`: what is configured, what it offers, one call.

Each starts what it needs, shows which servers it waits for, and leaves none behind.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from pml.cli.arguments import parse_args
from pml.cli.console import Console, shown
from pml.cli.ending import print_run
from pml.cli.exits import DONE, FAILED
from pml.cli.installing import install
from pml.cli.opening import human_of, required, rights_of, servers_of
from pml.cli.source import Source
from pml.errors import LimitInvalidError, PmlError
from pml.model import ServerStatus, Tool

if TYPE_CHECKING:
    from pml.assembly import Opened, Setup
    from pml.execution.runner import Run

Result = TypeVar("Result")
_DESCRIPTION_CHARACTERS = 100

AsJson = Annotated[bool, typer.Option("--json", help="Print data for machines.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Show what servers log.")]


def app() -> typer.Typer:
    """Give `pml servers` and its subcommands."""
    commands = typer.Typer(rich_markup_mode=None)
    commands.callback(invoke_without_command=True)(servers)
    commands.command("install")(install)
    return commands


def servers(
    context: typer.Context,
    *,
    as_json: AsJson = False,
    verbose: Verbose = False,
    start: Annotated[
        bool, typer.Option(help="Start them and ask for their tools, or only read the file.")
    ] = True,
) -> int:
    """Show the configured servers: state, OS sandbox, tools, process, last error.

    Starts each to see whether it works, and stops it again. Exit code 1 if one does not.
    """
    if context.invoked_subcommand is not None:
        return DONE
    console: Console = context.obj
    setup = required(console)

    async def look(opened: "Opened") -> Sequence[ServerStatus]:
        if start:
            await opened.servers.list_all()
        return [one for one in opened.servers.status() if one.kind != "builtin"]

    statuses = _with_servers(setup, console, look, verbose=verbose)
    if as_json:
        console.document([_facts(status) for status in statuses])
    else:
        _print_servers(console, setup, statuses)
    return FAILED if any(status.error for status in statuses) else DONE


def tools(
    context: typer.Context,
    *,
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", hidden=True)] = "*",
    as_json: AsJson = False,
    schema: Annotated[bool, typer.Option("--schema", help="With their JSON Schemas.")] = False,
    verbose: Verbose = False,
) -> int:
    """List the tools of the configured servers.

    PATTERN is a server, a tool id such as filesystem:read_file, or a glob of either.
    """
    console: Console = context.obj
    from pml.backends.servers import matches  # noqa: PLC0415 - only needed here
    from pml.policy import visible  # noqa: PLC0415

    setup = required(console)
    names = _servers_for(pattern, [server.name for server in setup.servers])
    listings, problems = _with_servers(
        setup, console, lambda opened: opened.servers.list_all(names), verbose=verbose
    )
    found = [
        tool
        for listing in listings.values()
        for tool in visible(listing.tools, setup.config.permissions)
        if matches(pattern, tool.id)
    ]
    _print_tools(console, found, as_json=as_json, schema=schema)
    for listing in listings.values():
        for skipped in listing.skipped:
            console.warning(f"{skipped.server}: skipped {skipped.name}: {skipped.reason}")
    for problem in problems.values():
        console.error(problem.message, hint=problem.hint)
    return FAILED if problems else DONE


def call(
    context: typer.Context,
    *,
    tool: Annotated[str, typer.Argument(metavar="TOOL", hidden=True)],
    args: Annotated[
        str | None, typer.Option(metavar="JSON", help="The arguments.  [default: {}]")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the call.")] = False,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Wait so long for the answer.")
    ] = None,
    verbose: Verbose = False,
) -> int:
    """Call one tool and print its result.

    TOOL is an id such as filesystem:read_file. Asks on the terminal first, unless --yes is given.
    """
    console: Console = context.obj
    arguments = parse_args(args) or {}
    setup = required(console)
    ended = _call(setup, console, tool, arguments, _Options(yes, timeout, verbose))
    return print_run(console, ended, Source(tool, ""), as_json=False)


class _Options(NamedTuple):
    yes: bool
    timeout: float | None
    verbose: bool


def _call(setup: "Setup", console: Console, tool: str, arguments: Any, options: _Options) -> "Run":
    from pml.execution.masking import masked  # noqa: PLC0415 - `--help` does not pay
    from pml.execution.runner import execute, one_call  # noqa: PLC0415 - as above
    from sandbox_host import Failed, Limits, UncaughtToolError  # noqa: PLC0415 - as above

    if options.timeout is not None and not options.timeout > 0:
        raise LimitInvalidError("--timeout", options.timeout, "more than 0")
    limits = Limits() if options.timeout is None else Limits(wall_seconds=options.timeout)
    request = one_call(tool, arguments, limits=limits)
    human = human_of(console)

    async def carry_out(opened: "Opened") -> "Run":
        await opened.servers.tool(tool)  # a tool that is not there is not asked about
        rights, office = rights_of(setup, opened, human, yes=options.yes)
        return masked(await execute(request, rights, office), opened.redactor)

    ended = _with_servers(setup, console, carry_out, verbose=options.verbose)
    outcome = ended.outcome
    if isinstance(outcome, Failed) and isinstance(outcome.error, UncaughtToolError):
        raise PmlError(outcome.error.message.removeprefix("McpError: "))
    return ended


def _with_servers(
    setup: "Setup",
    console: Console,
    work: "Callable[[Opened], Awaitable[Result]]",
    *,
    verbose: bool,
) -> Result:
    import anyio  # noqa: PLC0415 - `--help` does not pay for it

    async def run() -> Result:
        async with servers_of(setup, console, verbose=verbose) as opened:
            try:
                return await work(opened)
            except PmlError as error:
                error.message = opened.redactor.text(error.message)
                raise

    try:
        return anyio.run(run)
    finally:
        console.status("")


def _servers_for(pattern: str, names: Sequence[str]) -> list[str] | None:
    """Give the servers to ask: one named exactly is enough."""
    server = pattern.partition(":")[0]
    return [server] if server in names else None


def _facts(status: ServerStatus) -> dict[str, Any]:
    return {
        "name": status.name,
        "kind": status.kind,
        "state": str(status.state),
        "level": status.level,
        "pid": status.pid,
        "tools": status.tools,
        "protocol": status.protocol,
        "error": status.error,
        "notEnforced": list(status.missing),
    }


def _print_servers(console: Console, setup: "Setup", statuses: Sequence[ServerStatus]) -> None:
    width = max((len(status.name) for status in statuses), default=0)
    for status in statuses:
        tools = "-" if status.tools is None else str(status.tools)
        console.text(
            f"{status.name:{width}}  {status.state:8}  {status.kind:5}  sandbox {status.level:8}"
            f"  tools {tools:>4}  pid {status.pid or '-'}"
        )
        if status.error:
            console.text(f"{'':{width}}  ! {shown(status.error)}")
        if status.level != "full" and status.missing:
            console.text(f"{'':{width}}  ! not enforced: {', '.join(status.missing)}")
    support = setup.support
    if support.reason:
        console.warning(f"the OS sandbox is {support.best}, not full: {support.reason}")


def _print_tools(console: Console, found: Sequence[Tool], *, as_json: bool, schema: bool) -> None:
    if as_json:
        console.document([_tool_facts(tool, schema=schema) for tool in found])
        return
    width = max((len(tool.id) for tool in found), default=0)
    for tool in found:
        console.text(f"{shown(tool.id):{width}}  {_one_line(tool.description)}".rstrip())
        if schema:
            console.text(json.dumps(tool.input_schema, indent=2))


def _tool_facts(tool: Tool, *, schema: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"id": tool.id, "description": tool.description}
    if schema:
        facts |= {"inputSchema": tool.input_schema,
                  "outputSchema": tool.definition.get("outputSchema")}  # fmt: skip
    return facts


def _one_line(words: str) -> str:
    """Give the first line of a description, escaped and capped: the server wrote it."""
    first = next((line for line in words.splitlines() if line.strip()), "").strip()
    brief = first[:_DESCRIPTION_CHARACTERS]
    return shown(brief if brief == first else f"{brief}…").replace("\t", " ")
