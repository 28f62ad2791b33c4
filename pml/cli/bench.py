"""`pml bench`: what sandboxes, servers and the gateway cost on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.console import Console, shown
from pml.cli.exits import DONE, FAILED, process_environment
from pml.cli.opening import prepared

if TYPE_CHECKING:
    from pml.measuring.comparing import Comparison
    from pml.measuring.figures import Results
    from pml.measuring.timing import Amount

_BAR_CHARACTERS = 20


def bench(
    context: typer.Context,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Few samples, within a minute.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print data for machines.")] = False,
    compare: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Compare with what --json printed before."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.svg", help="Draw the results, too.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(metavar="N", min=2, help="At most so many of each figure.")
    ] = None,
) -> int:
    """Measure sandboxes, the gateway in front of servers, and what a model has to read.

    Calls, of each trusted server, a tool that is allowed, says that it only reads, and needs no
    arguments; of the others it says why not. Asks nothing, grants nothing, installs nothing.
    --compare takes the machine's speed out; exit code 1 if something is worse beyond the noise.
    """
    console: Console = context.obj
    from pml.measuring import comparing, keeping, picture  # noqa: PLC0415 - `--help` does not pay
    from pml.measuring.timing import Amount  # noqa: PLC0415

    before = keeping.read(compare) if compare else None
    if plot:
        picture.check_place(plot)
    results = _measured(console, Amount(quick, samples))
    found = comparing.compared(before, results) if before else None
    if plot:
        picture.write(plot, results)
    if as_json:
        console.document(keeping.document(results) | _facts(found))
    else:
        _print(console, results, found)
    return FAILED if found and comparing.has_regressed(found) else DONE


def _measured(console: Console, amount: "Amount") -> "Results":
    import anyio  # noqa: PLC0415 - `--help` does not pay for it

    from pml.measuring.measured import Around, measured  # noqa: PLC0415 - loads every room

    environ = process_environment()
    around = Around(environ, Path.home(), Path.cwd(), prepared(console, environ))

    def watch(words: str, share: float) -> None:
        done = round(share * _BAR_CHARACTERS)
        console.status(f"[{'#' * done:-<{_BAR_CHARACTERS}}] {share:4.0%} {words}")

    try:
        return anyio.run(measured, around, amount, watch)
    finally:
        console.status("")


def _facts(found: "tuple[Comparison, ...] | None") -> dict[str, object]:
    if found is None:
        return {}
    return {
        "compared": [
            {"name": one.figure.name, "verdict": str(one.verdict), "growth": one.growth}
            for one in found
        ]
    }


def _print(console: Console, results: "Results", found: "tuple[Comparison, ...] | None") -> None:
    from pml.measuring import report  # noqa: PLC0415 - loaded by now

    console.text(report.table(results, shown))
    if found is not None:
        console.text(f"\n{report.comparison(found, shown)}" if found else "\nnothing to compare")
