"""`pml doctor`: what this machine and this workspace allow, without starting a server."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.console import Console, shown
from pml.cli.exits import DONE, FAILED, process_environment
from pml.cli.opening import here, prepared
from pml.errors import PmlError
from pml.workspace import CONFIG_NAME

if TYPE_CHECKING:
    from pml.assembly import Setup
    from pml.confinement import Support


def doctor(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print data for machines.")] = False,
) -> int:
    """Check the workspace, its configuration and the OS sandbox of this machine.

    Starts nothing. Exit code 1 if something must be repaired.
    """
    console: Console = context.obj
    report = _report(console)
    if as_json:
        console.document(report)
    else:
        _print(console, report)
    return FAILED if report["problems"] else DONE


def _report(console: Console) -> dict[str, Any]:
    from pml.confinement import probe  # noqa: PLC0415 - `--help` does not pay for it

    environ = process_environment()
    workspace = here(environ)
    problems: list[dict[str, str | None]] = []
    servers: list[dict[str, Any]] = []
    try:
        setup = prepared(console, environ)
    except PmlError as error:
        setup = None
        problems.append({"server": None, "message": error.message, "hint": error.hint})
    if setup is not None:
        servers, found = _servers(setup)
        problems += found
    return {
        "workspace": str(workspace.path),
        "workspaceFrom": workspace.source,
        "configuration": _configuration(workspace.path, setup),
        "sandbox": _sandbox(setup.support if setup else probe(environ)),
        "servers": servers,
        "problems": problems,
    }


def _configuration(folder: Any, setup: "Setup | None") -> str | None:
    path = folder / CONFIG_NAME
    return str(path) if setup is not None or path.exists() else None


def _sandbox(support: "Support") -> dict[str, Any]:
    return {
        "level": str(support.best),
        "landlockAbi": support.landlock_abi,
        "bwrap": str(support.bwrap) if support.bwrap else None,
        "bwrapVersion": support.bwrap_version,
        "reason": support.reason,
        "hint": support.hint,
    }


def _servers(setup: "Setup") -> tuple[list[dict[str, Any]], list[dict[str, str | None]]]:
    from pml.assembly import confined  # noqa: PLC0415 - loads pydantic
    from pml.config import StdioServerConfig  # noqa: PLC0415

    listed: list[dict[str, Any]] = []
    problems: list[tuple[str, PmlError]] = list(setup.config.unusable.items())
    for server in setup.servers:
        facts: dict[str, Any] = {"name": server.name, "level": "remote", "notEnforced": []}
        if isinstance(server, StdioServerConfig):
            try:
                plan = confined(setup, server)
            except PmlError as error:
                problems.append((server.name, error))
                facts["level"] = None
            else:
                facts |= {"level": str(plan.level), "notEnforced": list(plan.missing)}
        listed.append(facts)
    return listed, [
        {"server": name, "message": problem.message, "hint": problem.hint}
        for name, problem in problems
    ]


def _print(console: Console, report: dict[str, Any]) -> None:
    sandbox = report["sandbox"]
    console.text(f"workspace      {shown(report['workspace'])} (from {report['workspaceFrom']})")
    console.text(f"configuration  {shown(report['configuration'] or 'none')}")
    landlock = sandbox["landlockAbi"] or "no"
    bwrap = sandbox["bwrapVersion"] or "no"
    console.text(
        f"OS sandbox     {sandbox['level']} (bubblewrap: {bwrap}, Landlock ABI: {landlock})"
    )
    if sandbox["reason"]:
        console.warning(f"not full: {sandbox['reason']}")
        if sandbox["hint"]:
            console.hint(sandbox["hint"])
    for server in report["servers"]:
        console.text(f"server         {server['name']}: sandbox {server['level'] or '-'}")
        if server["notEnforced"]:
            console.text(f"               not enforced: {', '.join(server['notEnforced'])}")
    for problem in report["problems"]:
        console.error(problem["message"], hint=problem["hint"])
