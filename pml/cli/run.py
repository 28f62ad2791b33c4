"""`pml run`: one program in a fresh sandbox.

The sandbox is imported inside the command: `--help` and a wrong command line do not pay for it.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from pml.cli.arguments import parse_args
from pml.cli.console import Console
from pml.cli.ending import print_run
from pml.cli.excerpt import excerpt
from pml.cli.exits import FAILED, USAGE, process_environment
from pml.cli.opening import human_of, prepared, rights_of, servers_of
from pml.cli.source import Source, read_source
from pml.errors import LimitInvalidError, PmlError, UsageError

if TYPE_CHECKING:
    from pml.execution.runner import Run
    from sandbox_host import Limits, Mount

_MEMORY = 4, 4096  # MiB: what a fresh guest needs, what 32 bits can address

# Hidden from the list of arguments, which would show a Python type; the docstring tells of it.
File = Annotated[str | None, typer.Argument(metavar="FILE", hidden=True)]
Code = Annotated[
    str | None, typer.Option("-e", "--eval", metavar="CODE", help="The program, instead of FILE.")
]
Args = Annotated[
    str | None, typer.Option(metavar="JSON", help="The program's `args`.  [default: {}]")
]
Call = Annotated[
    str | None, typer.Option(metavar="NAME", help="Of a module: the function to call.")
]
Mounts = Annotated[
    list[str] | None,
    typer.Option(
        "--mount", metavar="DIR[:rw]", help="A folder to read, with :rw to write; repeatable."
    ),
]
Timeout = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Wall time.  [default: 300]")
]
Cpu = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Time computing.  [default: 5]")
]
Memory = Annotated[
    int | None, typer.Option(metavar="MB", help="Memory, 4 to 4096.  [default: 64]")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object.")]
Yes = Annotated[bool, typer.Option("--yes", help="Say yes to every question of this run.")]

Frozen = Annotated[
    bool,
    typer.Option("--frozen", help="For CI: fail where something new would be asked."),
]


def run(  # noqa: PLR0913 - one parameter per option is typer's way
    context: typer.Context,
    *,
    file: File = None,
    code: Code = None,
    args: Args = None,
    call: Call = None,
    mounts: Mounts = None,
    timeout: Timeout = None,
    cpu: Cpu = None,
    memory: Memory = None,
    yes: Yes = False,
    frozen: Frozen = False,
    as_json: AsJson = False,
) -> int:
    """Run a program in a fresh sandbox and print its result.

    FILE is TypeScript, JavaScript or a .wasm module; - reads stdin. The result goes to stdout,
    logs and errors to stderr. The program sees no file, no network, no environment and no process;
    its only exits are what --mount grants and `mcp.*` calls to the servers in `.pml.json`, as its
    permissions allow. What must be asked is asked on the terminal; without one the run waits.
    """
    console: Console = context.obj
    try:
        source = read_source(file, code, sys.stdin.buffer)
        data = parse_args(args)
        limits = _limits(timeout=timeout, cpu=cpu, memory=memory)
    except PmlError as error:
        return _refuse(console, error, args or "", as_json=as_json)
    request = _Wanted(source, data, call, limits, [_mount(text) for text in mounts or ()])
    try:
        ended = _execute(request, console, yes=yes, frozen=frozen)
    except PmlError as error:
        return _refuse(console, error, "", as_json=as_json)
    return print_run(console, ended, source, as_json=as_json)


class _Wanted(NamedTuple):
    source: Source
    data: Any
    call: str | None
    limits: "Limits"
    mounts: "list[Mount]"


def _execute(wanted: _Wanted, console: Console, *, yes: bool, frozen: bool) -> "Run":
    import anyio  # noqa: PLC0415 - as below

    from pml.execution.runner import Request, execute  # noqa: PLC0415 - 100 ms, only to run

    source, data, call, limits, mounts = wanted
    _refuse_state(mounts)
    request = Request(source.program, data, call, limits, tuple(mounts), source.name)
    setup = prepared(console, process_environment(), frozen=frozen)
    if setup is None:
        return anyio.run(execute, request)
    from pml.execution.masking import masked  # noqa: PLC0415 - as above

    human = human_of(console)

    async def with_servers() -> "Run":
        async with servers_of(setup, console) as opened:
            rights, office = rights_of(setup, opened, human, yes=yes)
            return masked(await execute(request, rights, office), opened.redactor)

    return anyio.run(with_servers)


def _refuse_state(mounts: "list[Mount]") -> None:
    from pml.places import refuse_state, state_folder  # noqa: PLC0415 - only to mount

    state = state_folder(process_environment(), Path.home())
    for mount in mounts:
        refuse_state(Path(mount.path), state)


def _limits(*, timeout: float | None, cpu: float | None, memory: int | None) -> "Limits":
    for option, seconds in (("--timeout", timeout), ("--cpu", cpu)):
        if seconds is not None and not seconds > 0:
            raise LimitInvalidError(option, seconds, "more than 0")
    if memory is not None and not _MEMORY[0] <= memory <= _MEMORY[1]:
        raise LimitInvalidError("--memory", memory, f"from {_MEMORY[0]} to {_MEMORY[1]}")
    from sandbox_host import Limits  # noqa: PLC0415 - the sandbox is loaded only to run

    given: dict[str, Any] = {
        "wall_seconds": timeout,
        "cpu_seconds": cpu,
        "memory_bytes": None if memory is None else memory << 20,
    }
    return Limits(**{name: value for name, value in given.items() if value is not None})


def _mount(text: str) -> "Mount":
    from pml.secret_files import is_secret_path  # noqa: PLC0415 - as below
    from sandbox_host import Mount  # noqa: PLC0415 - the sandbox is loaded only to run

    path = text.removesuffix(":rw").removesuffix(":ro")
    return Mount(path, writable=text.endswith(":rw"), conceals=is_secret_path)


def _refuse(console: Console, error: PmlError, args: str, *, as_json: bool) -> int:
    """Print why a run cannot begin."""
    if as_json:
        from pml.execution.report import error_report  # noqa: PLC0415 - loads the sandbox

        console.document(error_report(error))
    else:
        place = excerpt("--args", args, error.line, error.column)
        console.error(error.message, excerpt=place, hint=error.hint)
    return USAGE if isinstance(error, UsageError) else FAILED
