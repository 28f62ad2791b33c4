"""`pml add`, `pml remove` and `pml list`: capabilities and servers from registries.

Adding grants and installs nothing: it says what is meant by a name, and every call is still
decided.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pml.cli.console import Console, shown
from pml.cli.exits import APPROVAL, DONE, FAILED
from pml.cli.opening import required

if TYPE_CHECKING:
    from pml.assembly import Setup
    from pml.fqdn import Fqdn
    from pml.loader.lockfile import LockEntry
    from pml.loader.metadata import Metadata
    from pml.loader.needs import Needs
    from pml.loader.served import Served

_Name = Annotated[str, typer.Argument(metavar="NAME", help="As in the registry.")]


def add(context: typer.Context, name: _Name) -> int:
    """Look a capability or a server up in the registries, verify it and lock it.

    NAME is org.project.namespace.action, with or without the 4 hex of a version. Exit code 3 if
    another version is locked: `pml lock update` asks about that.
    """
    import anyio  # noqa: PLC0415 - `--help` does not pay

    from pml.assembly.adding import add as look_up  # noqa: PLC0415
    from pml.fqdn import Fqdn  # noqa: PLC0415

    console: Console = context.obj
    setup = required(console)
    added = anyio.run(look_up, setup, Fqdn.parse(name))
    needs, found = added.needs, added.needs.metadata
    if needs.changed is not None:
        error = needs.changed.error()
        console.error(error.message, hint="to look at the change and take it: pml lock update")
        return APPROVAL
    console.text(f"locked {found.fqdn}")
    if added.served is not None:
        _tell_server(console, added.served)
    for tool in _offered(found, added.served):
        console.text(f"  {shown(tool)}  {_decision(setup, tool)}")
    _tell_missing(console, needs)
    return DONE


def _offered(found: "Metadata", served: "Served | None") -> list[str]:
    """Name its tools; of a server, those that its registry speaks of."""
    if served is not None:
        return list(found.tools)
    return [f"{found.fqdn.namespace}:{one['name']}" for one in found.offered()]


def _tell_server(console: Console, served: "Served") -> None:
    wanted = served.wanted
    console.text(f"  package  {wanted.kind}:{shown(str(wanted.exact or wanted))}")
    if wanted.args:
        console.text(f"  started with  {shown(' '.join(wanted.args))}")
    if served.variables:
        console.text(f"  given your  {', '.join(served.variables)}")
    console.hint(
        "you are asked before it is installed, when it is first called;"
        f" or now: pml servers install {served.name}"
    )


def remove(context: typer.Context, name: _Name) -> int:
    """Lock a capability or a server no longer; its tools are gone with the next request."""
    from pml.assembly.capabilities import remove_capability  # noqa: PLC0415 - see above
    from pml.fqdn import Fqdn  # noqa: PLC0415

    console: Console = context.obj
    wanted = Fqdn.parse(name)
    if not remove_capability(required(console), wanted):
        console.error(f"{wanted.base} is not locked", hint="pml list")
        return FAILED
    console.text(f"removed {wanted.base}")
    return DONE


def list_all(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print data for machines.")] = False,
) -> int:
    """List what is locked from registries, with its tools and what the rules say of them."""
    from pml.assembly.capabilities import locked_capabilities  # noqa: PLC0415 - see above

    console: Console = context.obj
    setup = required(console)
    found = [_facts(setup, *one) for one in locked_capabilities(setup)]
    if as_json:
        console.document(found)
        return DONE
    for one in found:
        package = f"  {shown(one['package'])}" if one["package"] else ""
        console.text(f"{one['name']}  {one['type']}  {one['routing']}{package}")
        for tool, decision in one["tools"].items():
            console.text(f"  {shown(tool)}  {decision}")
    if not found:
        console.hint("nothing is locked; pml add NAME")
    return DONE


def _facts(setup: "Setup", name: "Fqdn", entry: "LockEntry") -> dict[str, Any]:
    tools = [f"{name.namespace}:{tool}" for tool in entry.definitions]
    return {
        "name": str(name),
        "type": entry.type,
        "routing": entry.routing.value,
        "integrity": entry.integrity,
        "package": entry.package,
        "registry": entry.url,
        "tools": {tool: _decision(setup, tool) for tool in tools},
    }


def _decision(setup: "Setup", tool: str) -> str:
    from pml.policy import decide  # noqa: PLC0415 - see above

    return str(decide(tool, setup.config.permissions).outcome)


def _tell_missing(console: Console, needs: "Needs") -> None:
    if not needs.is_ready:
        error = needs.error()
        console.warning(error.message)
        if error.hint:
            console.hint(error.hint)
