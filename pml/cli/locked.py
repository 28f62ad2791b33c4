"""What is locked and what differs, in words and as data, for `pml lock`."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pml.cli.console import shown

if TYPE_CHECKING:
    from pml.loader.capabilities import Found as Current
    from pml.loader.lockfile import EntryChange, EntryState

_STATES = {"good": "kept", "absent": "not kept here", "damaged": "DAMAGED"}
Fact = tuple[str, str | None, str | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Differences:
    """What there is to say yes or no to."""

    ours: bool = True
    """Whether the lockfile is the one that was last written or trusted here."""

    edits: "tuple[EntryChange, ...] | None" = ()
    """How it differs from that one; None if that is not kept."""

    stale: "tuple[EntryChange, ...]" = ()
    """What no rule speaks of."""

    newer: "tuple[Current, ...]" = ()
    """What is another one at its registry."""

    def __bool__(self) -> bool:
        """Say whether there is any."""
        return not self.ours or bool(self.stale or self.newer)

    def lines(self) -> Iterator[str]:
        """Give them for people; all of it is escaped."""
        if not self.ours:
            yield from _edits(self.edits)
        if self.stale:
            yield "no rule of `allow` or `ask` speaks of it any more:"
            yield from (f"  {change.name}" for change in self.stale)
        if self.newer:
            yield "another version is current at the registry:"
            for one in self.newer:
                yield f"  {one.metadata.fqdn.base} from {shown(one.kept.registry)}"
                yield from _facts(one.changed.differences if one.changed else ())
        if not self:
            yield "nothing differs"

    def plain(self) -> dict[str, Any]:
        """Give them for machines."""
        return {
            "trusted": self.ours,
            "edited": None if self.edits is None else [change.plain() for change in self.edits],
            "stale": [change.name for change in self.stale],
            "newer": [_newer(one) for one in self.newer],
        }


def listed(path: Path, states: "Sequence[EntryState]", *, there: bool) -> Iterator[str]:
    """Give what is locked, one line an entry."""
    if not there:
        yield f"{shown(str(path))}: nothing is locked"
        return
    yield f"{shown(str(path))}: {entries(len(states))}"
    for one in states:
        yield f"  {one.name}  {one.entry.type}  {one.entry.routing}  {_STATES[one.state]}"


def entries(count: int) -> str:
    """Count entries in words."""
    return "1 entry" if count == 1 else f"{count} entries"


def _edits(changes: "tuple[EntryChange, ...] | None") -> Iterator[str]:
    if changes is None:
        yield "the lockfile is another, and the one you trusted is not kept here to compare"
        return
    if not changes:
        yield "the lockfile was written by somebody else; what it locks is as it was"
        return
    yield "not as it was last written or trusted here:"
    for change in changes:
        yield f"  {change.name}: {change.kind}"
        yield from _facts(change.facts)


def _facts(facts: Iterable[Fact]) -> Iterator[str]:
    for what, old, new in facts:
        yield f"    {shown(what)}"
        if old is not None:
            yield f"      - {shown(old)}"
        if new is not None:
            yield f"      + {shown(new)}"


def _newer(one: "Current") -> dict[str, Any]:
    facts = one.changed.differences if one.changed else ()
    return {
        "name": one.metadata.fqdn.base,
        "registry": one.kept.registry,
        "changes": [{"what": what, "old": old, "new": new} for what, old, new in facts],
    }
