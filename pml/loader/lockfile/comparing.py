"""What differs between two lockfiles, and between locked and listed tools. Pure."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pml.loader.lockfile.entries import LockEntry
from pml.loader.lockfile.locked import Lockfile

Kind = Literal["added", "removed", "changed"]


@dataclasses.dataclass(frozen=True, slots=True)
class EntryChange:
    """One entry that is another, new or gone."""

    name: str
    """Without its hash."""

    kind: Kind
    facts: tuple[tuple[str, str | None, str | None], ...]
    """What it is about, what was, what is: `("integrity", "sha256-…", "sha256-…")`."""

    def plain(self) -> dict[str, Any]:
        """Give it as data."""
        facts = [{"what": what, "old": was, "new": now} for what, was, now in self.facts]
        return {"name": self.name, "kind": self.kind, "changes": facts}


@dataclasses.dataclass(frozen=True, slots=True)
class DefinitionChange:
    """A tool whose definition is not the one that was locked."""

    tool: str
    kind: Kind


def compared(old: Lockfile, new: Lockfile) -> tuple[EntryChange, ...]:
    """Give all that differs, by name; when something was fetched is no difference."""
    found = (
        _entry(base, old.entries.get(base), new.entries.get(base))
        for base in sorted({*old.entries, *new.entries})
    )
    return tuple(change for change in found if change is not None)


def compared_definitions(
    locked: Mapping[str, str], listed: Mapping[str, str]
) -> tuple[DefinitionChange, ...]:
    """Give the tools that are new, gone or changed since their definitions were locked.

    A renamed tool is one that is gone and one that is new: it inherits no approval.
    """
    return tuple(
        DefinitionChange(tool, _kind(locked.get(tool), listed.get(tool)))
        for tool in sorted({*locked, *listed})
        if locked.get(tool) != listed.get(tool)
    )


def _entry(base: str, old: LockEntry | None, new: LockEntry | None) -> EntryChange | None:
    was, now = dict(_facts(old)), dict(_facts(new))
    facts = tuple(
        (what, was.get(what), now.get(what))
        for what in dict.fromkeys((*was, *now))
        if was.get(what) != now.get(what)
    )
    return EntryChange(base, _kind(old, new), facts) if facts else None


def _kind(old: object | None, new: object | None) -> Kind:
    if old is None:
        return "added"
    return "removed" if new is None else "changed"


def _facts(entry: LockEntry | None) -> Iterator[tuple[str, str]]:
    """Give what of an entry can differ, one line each."""
    for name, value in (entry.plain() if entry else {}).items():
        if name == "fetchedAt":
            continue
        if isinstance(value, dict):
            yield from ((f"{name}.{key}", text) for key, text in value.items())
        else:
            yield name, ", ".join(value) if isinstance(value, list) else value
