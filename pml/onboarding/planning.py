"""Which files `pml init` makes or changes, as data. Reads and decides; writes nothing."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pml.config import names, parsing
from pml.config.expansion import WORKSPACE_NAMES
from pml.config.rewriting import parsed, with_member
from pml.onboarding.clients import Client, Program, Surroundings
from pml.onboarding.entries import client_change, json_text
from pml.onboarding.errors import CloudInvalidError, CloudMissingError, CloudTakenError
from pml.onboarding.files import FileChange, read_own, text_of
from pml.onboarding.ignoring import with_ignored
from pml.onboarding.importing import Found, Taken, find_servers, needed_variables
from pml.onboarding.keeping import Vault
from pml.workspace import CONFIG_NAME

DEFAULT: Mapping[str, Any] = {
    "version": 1,
    "permissions": {
        "allow": [
            "filesystem:read_*",
            "filesystem:list_*",
            "filesystem:directory_*",
            "filesystem:get_*",
            "filesystem:grep*",
            "filesystem:search_*",
            "json",
            "text",
            "math",
            "datetime",
            "csv:parse",
            "csv:stringify",
            "csv:query",
            "csv:aggregate",
            "crypto:hash*",
            "crypto:hmac",
            "crypto:uuid",
            "crypto:random_bytes",
            "crypto:encode",
            "crypto:decode",
            "crypto:compare",
            "diff:unified",
            "diff:file*",
            "diff:words",
            "diff:json",
            "diff:apply",
        ],
        "deny": [],
    },
    "mcpServers": {},
}
"""Reading the workspace and computing are allowed, everything else is asked about, and nothing is
started. What reads files is allowed by wildcards: a rule that names a tool exactly also allows it
files that look secret. `csv`, `crypto` and `diff` by their tools: servers have these names too.
"""

KEY_NAME = "PML_API_KEY"
"""The variable of the cloud's key."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cloud:
    """The cloud that is to be used."""

    url: str | None = None
    """None: the one that `.pml.json` names."""

    key: str | None = dataclasses.field(default=None, repr=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Wishes:
    """What is to be set up."""

    client: Client
    program: Program
    take_over: bool = False
    """Whether the servers of the clients are."""

    cloud: Cloud = Cloud()


@dataclasses.dataclass(frozen=True, slots=True)
class SetupPlan:
    """What would be written."""

    around: Surroundings
    wishes: Wishes
    config: FileChange
    """`.pml.json`."""

    others: tuple[FileChange, ...]
    found: Found
    """The servers of the clients; they are in `config` if that was wished."""

    unset: tuple[str, ...] = ()
    """Variables that the user still has to set."""

    note: str | None = None
    """What the user should know about the client's file."""

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """All files, in the order in which they are written."""
        return (self.config, *self.others)

    @property
    def taken(self) -> tuple[Taken, ...]:
        """The servers that are taken over."""
        return self.found.taken if self.wishes.take_over else ()

    @property
    def is_needed(self) -> bool:
        """Say whether anything is to be done."""
        return any(change.is_written for change in self.changes)

    @property
    def is_careful(self) -> bool:
        """Say whether a file that is there would become another, or programs could start."""
        return bool(self.taken) or any(change.action == "changed" for change in self.changes)


def plan_setup(around: Surroundings, wishes: Wishes) -> SetupPlan:
    """Say what is to be written; raises for a file that cannot be read or must not be written."""
    root = around.workspace
    path = root / CONFIG_NAME
    before = read_own(path, root)
    there = _servers_there(before, path, around)
    _check_cloud(wishes.cloud)
    vault = Vault(around.environ, root)
    found = find_servers(around, vault, there)
    if not wishes.take_over:
        vault = Vault(around.environ, root)
    if wishes.cloud.key:
        vault.keep((KEY_NAME,), wishes.cloud.key)
    config = _config(path, before, found.taken if wishes.take_over else (), wishes.cloud)
    _servers_there(config.after, path, around)  # what we write can be read
    client, note = client_change(around, wishes.client, wishes.program)
    keys = vault.change()
    others = (client, _ignore(around, client.backup), *([keys] if keys else []))
    unset = _unset(found.taken, vault, around) if wishes.take_over else ()
    return SetupPlan(around, wishes, config, others, found, unset, note)


def _servers_there(content: bytes | None, path: Path, around: Surroundings) -> frozenset[str]:
    """Give the names of the servers, in lower case; raises if the file cannot be used at all."""
    if content is None:
        return frozenset()
    home = Path(os.path.realpath(around.home))
    given = parsing.Surroundings(around.workspace, around.environ, home)
    config = parsing.parse_config(content, path, given)
    known = [one.name for one in (*config.servers, *config.private_mcps)]
    return frozenset(name.lower() for name in (*known, *config.unusable))


def _unset(taken: tuple[Taken, ...], vault: Vault, around: Surroundings) -> tuple[str, ...]:
    """Give the variables that servers ask for and that neither `.env` nor the environment has."""
    asked = {name for one in taken for name in needed_variables(one.entry)}
    kept = vault.names() | set(WORKSPACE_NAMES)
    return tuple(sorted(n for n in asked - kept if not around.environ.get(n, "").strip()))


def _check_cloud(cloud: Cloud) -> None:
    complaint = names.url(cloud.url, needs_tls=True) if cloud.url is not None else None
    if complaint is not None:
        raise CloudInvalidError(complaint.fact, complaint.hint)


def _config(
    path: Path, before: bytes | None, taken: tuple[Taken, ...], cloud: Cloud
) -> FileChange:
    servers = {one.name: dict(one.entry) for one in taken}
    wanted = {"url": cloud.url, "apiKey": f"${{{KEY_NAME}}}"} if cloud.url else None
    if before is None:
        if cloud.key and not wanted:
            raise CloudMissingError(path)
        more = {"cloud": wanted} if wanted else {}
        text = json_text({**DEFAULT, "mcpServers": servers, **more})
        return FileChange(path, None, text.encode(), added=text)
    text = _with_cloud(text_of(before, path), path, wanted, has_key=bool(cloud.key))
    added: dict[str, Any] = {} if text.encode() == before else {"cloud": wanted}
    for name, entry in servers.items():
        at = (*parsed(text, path).written(("mcpServers",)), name)
        text = with_member(text, at, entry, file=path)
    added |= {"mcpServers": servers} if servers else {}
    return FileChange(path, before, text.encode(), added=json_text(added) if added else "")


def _with_cloud(text: str, path: Path, wanted: Mapping[str, Any] | None, *, has_key: bool) -> str:
    root = parsed(text, path).root
    there = root.value.get("cloud") if root else None
    if there is None and wanted:
        return with_member(text, ("cloud",), dict(wanted), file=path)
    if there is None and has_key:
        raise CloudMissingError(path)
    if there is not None and wanted and there.get("url") != wanted["url"]:
        raise CloudTakenError(path)
    return text


def _ignore(around: Surroundings, backup: Path | None) -> FileChange:
    path = around.workspace / ".gitignore"
    before = read_own(path, around.workspace)
    text = text_of(before, path)
    inside = backup is not None and backup.is_relative_to(around.workspace)
    backups = [backup.relative_to(around.workspace).as_posix()] if backup and inside else []
    after = with_ignored(text, backups=backups)
    return FileChange(path, before, after.encode(), added=after.removeprefix(text).lstrip())
