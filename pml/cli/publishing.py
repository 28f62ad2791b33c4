"""`pml publish`: capabilities and servers of a workspace, sent to its registry.

Whom it is sent to is what the human trusted of `.pml.json`; there is no option for a key.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.console import Console
from pml.cli.exits import DONE, process_environment
from pml.cli.opening import prepared

if TYPE_CHECKING:
    from pml.loader.publishing import Draft, Outcome

_WORDS = {"published": "published", "restored": "current again", "unchanged": "unchanged"}


def publish(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help=".ts, .js or .json")],
    *,
    name: Annotated[
        str | None, typer.Option(metavar="FQDN", help="Of one file that does not say its own.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="URL", help="One of `registries`, instead of the `cloud`."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> int:
    """Publish capabilities and servers of this workspace; print their full names.

    FILE is code (.ts, .js) or the metadata of a server (.json). It is sent to the `cloud` of
    `.pml.json`, with its key. All files are checked before the first is sent; one outside the
    workspace, or that holds a key, is refused. What is published can be replaced by a newer
    version, and never taken back.
    """
    import anyio  # noqa: PLC0415 - `--help` does not pay

    from pml.assembly import publishing  # noqa: PLC0415
    from pml.loader.publishing.errors import NowhereToPublishError  # noqa: PLC0415

    console: Console = context.obj
    setup = prepared(console, process_environment(), needs_trust=True)
    if setup is None:
        raise NowhereToPublishError
    registry = publishing.registry_to_publish_to(setup, to)
    drafts = publishing.drafts_of(setup, files, name)

    def told(draft: "Draft", outcome: "Outcome") -> None:
        what = draft.publication
        facts = {"file": draft.file, "fqdn": str(what.version), "integrity": what.integrity}
        if as_json:
            console.document({**facts, "outcome": outcome.value, "registry": registry.url})
        else:
            console.text(f"{what.version}  {_WORDS[outcome.value]}")

    console.status(f"publishing to {registry.url} ...")
    anyio.run(publishing.publish, setup, registry, drafts, told)
    console.status("")
    return DONE
