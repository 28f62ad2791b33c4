"""`pml run`: one program in a fresh sandbox.

The sandbox is imported inside the command: `--help` and a wrong command line do not pay for it.
"""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Never

import typer

from pml.cli.console import Console
from pml.cli.excerpt import excerpt
from pml.cli.source import Source, read_source
from pml.errors import ArgsInvalidError, LimitInvalidError, PmlError, UsageError

if TYPE_CHECKING:
    from pml.execution.runner import Run
    from sandbox_host import Limits, Mount, SandboxError

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

_TOO_DEEP = "it is nested too deeply"
_MEMORY = 4, 4096  # MiB: what a fresh guest needs, what 32 bits can address

# Where the library names a field of `Limits`, the command line has an option.
_LIMIT_HINTS = {
    "cpu_limit": "do less work per run, or allow more with --cpu SECONDS",
    "wall_limit": "split the work, or allow more with --timeout SECONDS",
    "memory_limit": "keep less at a time, or allow more with --memory MB",
}

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
    as_json: AsJson = False,
) -> int:
    """Run a program in a fresh sandbox and print its result.

    FILE is TypeScript, JavaScript or a .wasm module; - reads stdin. The result goes to stdout,
    logs and errors to stderr. The program sees no file, no network, no environment and no process;
    its only exits are `mcp.*` calls and what --mount grants.
    """
    console: Console = context.obj
    try:
        source = read_source(file, code, sys.stdin.buffer)
        data = _parse_args(args)
        limits = _limits(timeout=timeout, cpu=cpu, memory=memory)
    except PmlError as error:
        return _refuse(console, error, args or "", as_json=as_json)
    ended = _execute(source, data, call, limits, [_mount(text) for text in mounts or ()])
    return _print(console, ended, source, as_json=as_json)


def _execute(
    source: Source, data: Any, call: str | None, limits: "Limits", mounts: "list[Mount]"
) -> "Run":
    import anyio  # noqa: PLC0415 - as below

    from pml.execution.runner import Request, execute  # noqa: PLC0415 - 100 ms, only to run

    return anyio.run(execute, Request(source.program, data, call, limits, tuple(mounts)))


def _parse_args(text: str | None) -> Any:
    if text is None:
        return None

    def refuse(word: str) -> Never:
        raise ArgsInvalidError(word)

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise ArgsInvalidError(error.msg.lower(), line=error.lineno, column=error.colno) from None
    except RecursionError:
        raise ArgsInvalidError(_TOO_DEEP) from None
    except ValueError as error:  # an integer of thousands of digits
        raise ArgsInvalidError(str(error)) from None


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
    from sandbox_host import Mount  # noqa: PLC0415 - the sandbox is loaded only to run

    path = text.removesuffix(":rw").removesuffix(":ro")
    return Mount(path, writable=text.endswith(":rw"))


def _refuse(console: Console, error: PmlError, args: str, *, as_json: bool) -> int:
    """Print why a run cannot begin."""
    if as_json:
        from pml.execution.report import error_report  # noqa: PLC0415 - loads the sandbox

        console.document(error_report(error))
    else:
        place = excerpt("--args", args, error.line, error.column)
        console.error(error.message, excerpt=place, hint=error.hint)
    return USAGE if isinstance(error, UsageError) else FAILED


def _print(console: Console, ended: "Run", source: Source, *, as_json: bool) -> int:
    """Print a run that has ended."""
    from pml.execution.report import run_report  # noqa: PLC0415 - loads the sandbox
    from sandbox_host import Completed, Failed  # noqa: PLC0415 - loaded by now

    outcome = ended.outcome
    if isinstance(outcome, Failed):
        outcome.error.hint = _LIMIT_HINTS.get(outcome.error.code, outcome.error.hint)
    if as_json:
        console.document(run_report(ended))
        return DONE if isinstance(outcome, Completed) else FAILED
    for log in outcome.logs:
        console.log(log.level, log.text)
    for refused in ended.refused_files:
        console.warning(f"refused to write {refused}")
    if isinstance(outcome, Completed):
        console.result(outcome.value)
        return DONE
    _print_error(console, outcome.error, source)
    return FAILED


def _print_error(console: Console, error: "SandboxError", source: Source) -> None:
    place = excerpt(source.name, source.text, error.line, error.column)
    console.error(error.message, excerpt=place, hint=error.hint)
