"""`pml add`, `pml remove` and `pml list`: the capabilities of a workspace.

Adding grants nothing: it says which code is meant by a name, and every call is still decided.
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
    from pml.loader.needs import Needs

_Name = Annotated[str, typer.Argument(metavar="NAME", help="As in the registry.")]


def add(context: typer.Context, name: _Name) -> int:
    """Look a capability up in the registries, verify it and lock it.

    NAME is org.project.namespace.action, with or without the 4 hex of a version. Exit code 3 if
    another version is locked: `pml lock update` asks about that.
    """
    import anyio  # noqa: PLC0415 - `--help` does not pay

    from pml.assembly.capabilities import add_capability  # noqa: PLC0415
    from pml.fqdn import Fqdn  # noqa: PLC0415

    console: Console = context.obj
    setup = required(console)
    needs = anyio.run(add_capability, setup, Fqdn.parse(name))
    found = needs.metadata
    if needs.changed is not None:
        error = needs.changed.error()
        console.error(error.message, hint="to look at the change and take it: pml lock update")
        return APPROVAL
    console.text(f"locked {found.fqdn}")
    for definition in found.offered():
        tool = f"{found.fqdn.namespace}:{definition['name']}"
        console.text(f"  {shown(tool)}  {_decision(setup, tool)}")
    _tell_missing(console, needs)
    return DONE


def remove(context: typer.Context, name: _Name) -> int:
    """Lock a capability no longer; its tools are gone with the next request."""
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
        console.text(f"{one['name']}  {one['type']}  {one['routing']}")
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
