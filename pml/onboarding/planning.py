"""Which files `pml init` makes or changes, as data; and trust for what it made from nothing.

Only a configuration that this very run wrote where there was none is trusted: it starts nothing
and allows reading alone. One that came with the workspace waits for `pml trust`, whoever runs
`pml init`: a model in a hostile clone may be the one. So does a lockfile that was there before.
"""

import dataclasses
import datetime
import json
from collections.abc import Mapping
from typing import Any

from pml.config.rewriting import parsed, with_member
from pml.onboarding import codex
from pml.onboarding.clients import (
    NAME,
    Client,
    Program,
    Surroundings,
    entry_of,
    file_of,
    runs_pml,
    section_of,
)
from pml.onboarding.errors import EntryTakenError
from pml.onboarding.files import FileChange, free_backup, read_own, text_of
from pml.onboarding.ignoring import with_ignored
from pml.trust import load, store_of, trust_loaded
from pml.workspace import CONFIG_NAME

DEFAULT: Mapping[str, Any] = {
    "version": 1,
    "permissions": {
        "allow": [
            "filesystem:read_*",
            "filesystem:list_*",
            "filesystem:directory_tree",
            "filesystem:get_file_info",
            "filesystem:grep",
            "filesystem:search_files",
            "json",
        ],
        "deny": [],
    },
    "mcpServers": {},
}
"""Reading the workspace is allowed, everything else is asked about, and nothing is started."""


@dataclasses.dataclass(frozen=True, slots=True)
class SetupPlan:
    """What would be written."""

    around: Surroundings
    config: FileChange
    """`.pml.json`."""

    others: tuple[FileChange, ...]

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """All files, in the order in which they are written."""
        return (self.config, *self.others)

    @property
    def is_needed(self) -> bool:
        """Say whether anything is to be done."""
        return any(change.is_written for change in self.changes)

    @property
    def changes_existing(self) -> bool:
        """Say whether a file that is there would become another."""
        return any(change.action == "changed" for change in self.changes)


def plan_setup(around: Surroundings, client: Client, program: Program) -> SetupPlan:
    """Say what is to be written; raises for a file that cannot be read or must not be written."""
    root = around.workspace
    path = root / CONFIG_NAME
    before = read_own(path, root)
    after = before if before is not None else _text(DEFAULT).encode()
    config = FileChange(path, before, after)
    return SetupPlan(around, config, (_client(around, client, program), _ignore(around)))


def trust_created(plan: SetupPlan, now: datetime.datetime) -> bool:
    """Trust the configuration if this plan made it from nothing; say whether it did."""
    if plan.config.before is not None or plan.config.after is None:
        return False
    around = plan.around
    store = store_of(around.workspace, around.environ, around.home)
    loaded = load(around.workspace, around.environ, around.home, store.made_key())
    if loaded.content != plan.config.after:  # somebody has written it meanwhile
        return False
    trust_loaded(store, dataclasses.replace(loaded, lockfile=None), now)
    return True


def _client(around: Surroundings, client: Client, program: Program) -> FileChange:
    path = file_of(client, around)
    before = read_own(path, None if client is Client.CODEX else around.workspace)
    entry, text = entry_of(client, program, around), text_of(before, path)
    if client is Client.CODEX:
        there = codex.present(text, path)
        after = text if there is not None else codex.with_entry(text, entry, path)
    else:
        there = _present(text, client, path)
        after = text if there is not None else _with_entry(text, client, entry, path)
    if there is not None and not runs_pml(there):
        raise EntryTakenError(path, str(there.get("command", "nothing")))
    changed = after.encode()
    backup = free_backup(path) if before is not None and changed != before else None
    return FileChange(path, before, changed, backup=backup)


def _present(text: str, client: Client, path: Any) -> Mapping[str, Any] | None:
    if not text.strip():
        return None
    root = parsed(text, path, relaxed=True).root
    servers = root.value.get(section_of(client)) if root and isinstance(root.value, dict) else None
    entry = servers.get(NAME) if isinstance(servers, dict) else None
    return entry if isinstance(entry, dict) or entry is None else {}


def _with_entry(text: str, client: Client, entry: Mapping[str, Any], path: Any) -> str:
    if not text.strip():
        return _text({section_of(client): {NAME: entry}})
    return with_member(text, (section_of(client), NAME), dict(entry), file=path)


def _ignore(around: Surroundings) -> FileChange:
    path = around.workspace / ".gitignore"
    before = read_own(path, around.workspace)
    after = with_ignored(text_of(before, path), keys=True).encode()
    return FileChange(path, before, after)


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
