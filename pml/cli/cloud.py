"""`pml cloud`: serve a registry and an MCP face, publish to it, and keep its keys.

Everything here works on the database itself, so whoever can read and write that is the operator.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.console import Console
from pml.cli.exits import DONE, process_environment
from pml.errors import SourceUnreadableError

if TYPE_CHECKING:
    from pml.loader.publishing import Publication

_Database = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="A file, sqlite:///FILE or postgresql://...; else PML_CLOUD_DATABASE, else a file "
        "in the state folder.",
    ),
]
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def app() -> typer.Typer:
    """Give the subcommands."""
    commands = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
    commands.callback()(_cloud)
    commands.command("serve")(serve)
    commands.command("publish")(publish)
    keys = typer.Typer(rich_markup_mode=None, no_args_is_help=True)
    keys.callback()(_keys)
    keys.command("create")(create)
    keys.command("list")(list_keys)
    keys.command("revoke")(revoke)
    commands.add_typer(keys, name="keys")
    return commands


def _cloud() -> None:
    """Host a registry and a cloud for tools that need nothing of a user's machine."""


def _keys() -> None:
    """Make, list and revoke API keys."""


def serve(  # noqa: PLR0913 - each is an option
    context: typer.Context,
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 is any that is free.")] = 8787,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes.")] = 1,
    database: _Database = None,
    private: Annotated[bool, typer.Option("--private", help="Reading takes a key too.")] = False,
    allow_upstream: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="Remote servers may be at this host; repeatable."),
    ] = None,
    certificate: Annotated[str | None, typer.Option(metavar="FILE", help="For TLS.")] = None,
    certificate_key: Annotated[str | None, typer.Option(metavar="FILE", help="For TLS.")] = None,
) -> int:
    """Serve until a signal; the address is printed when it is taken.

    Logs are JSON lines on stderr, without keys, arguments or results.
    """
    from pml.cloud.serving import serve as served  # noqa: PLC0415 - half a second
    from pml.cloud.settings import Settings  # noqa: PLC0415

    console: Console = context.obj
    if host not in _LOOPBACK and certificate is None:
        console.warning("plain http on a network: put TLS in front, or give --certificate")
    settings = Settings(
        _url(database),
        host,
        port,
        workers,
        private=private,
        upstreams=tuple(allow_upstream or ()),
        certificate=certificate,
        certificate_key=certificate_key,
    )
    served(settings, console.text)
    return DONE


def publish(
    context: typer.Context,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help=".ts, .js or .json")],
    *,
    name: Annotated[
        str | None, typer.Option(metavar="FQDN", help="Of one file that does not say its own.")
    ] = None,
    database: _Database = None,
) -> int:
    """Publish capabilities (TypeScript) and servers (JSON metadata); print their names.

    All files are checked before the first is published. Content that was published before becomes
    current again.
    """
    from pml.cloud.store import opened_store  # noqa: PLC0415

    console: Console = context.obj
    publications = [_publication(file, name) for file in files]
    with opened_store(_url(database)) as store:
        for one in publications:
            made = store.registry.publish(one, by="cli", now=datetime.now(UTC))
            console.text(str(made.entry.fqdn))
    return DONE


def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="For people: whose key it is.")],
    *,
    may: Annotated[
        list[str] | None,
        typer.Option(metavar="SCOPE", help="call, read, metrics, publish:ORG, publish:*"),
    ] = None,
    database: _Database = None,
) -> int:
    """Make a key and print it: it is shown once, and kept as a hash.

    Without --may it may call, which includes reading.
    """
    from pml.cloud.store import opened_store  # noqa: PLC0415

    console: Console = context.obj
    with opened_store(_url(database)) as store:
        made, secret = store.keys.create(name, tuple(may or ("call",)), now=datetime.now(UTC))
    console.text(secret)
    console.hint(f"it is not shown again; to end it: pml cloud keys revoke {made.id}")
    return DONE


def list_keys(
    context: typer.Context,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    database: _Database = None,
) -> int:
    """List keys, without their secrets."""
    from pml.cloud.store import opened_store  # noqa: PLC0415

    console: Console = context.obj
    with opened_store(_url(database)) as store:
        found = store.keys.all()
    for key in found:
        if as_json:
            facts = {"id": key.id, "name": key.name, "scopes": list(key.scopes)}
            times = {"createdAt": key.created_at, "revokedAt": key.revoked_at}
            console.document({**facts, **times})
        else:
            state = f"revoked {key.revoked_at[:10]}" if key.revoked_at else "active"
            console.text(f"{key.id}  {state}  {','.join(key.scopes)}  {key.name!a}")
    return DONE


def revoke(
    context: typer.Context,
    key: Annotated[str, typer.Argument(metavar="ID", help="From the list.")],
    *,
    database: _Database = None,
) -> int:
    """End a key at once."""
    from pml.cloud.store import opened_store  # noqa: PLC0415

    console: Console = context.obj
    with opened_store(_url(database)) as store:
        store.keys.revoke(key, now=datetime.now(UTC))
    console.text(key)
    return DONE


def _publication(file: Path, name: str | None) -> "Publication":
    from pml.loader.publishing import MOST_BYTES, publication_of  # noqa: PLC0415

    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise SourceUnreadableError(str(file), error.strerror or str(error)) from None
    return publication_of(str(file), content, name)


def _url(given: str | None) -> str:
    """Give the database: as told, or the one in the user's state folder."""
    from pml.places import private_folder, state_folder  # noqa: PLC0415

    environ = process_environment()
    named = given or environ.get("PML_CLOUD_DATABASE")
    if named:
        return named
    return str(private_folder(state_folder(environ, Path.home()) / "cloud") / "cloud.db")
