"""What is locked in a workspace, as a value, and what a fetched thing is beside it. Pure.

    outcome = locked.check(Offer(name, integrity, "deno", Routing.CLIENT))

`New` is recorded at the first fetch, `Known` goes on, `Changed` is a question for the human, who
is asked elsewhere. Locked is independent of allowed: what is allowed is compared all the same.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Self

from pml.config import Permissions
from pml.fqdn import Fqdn, short_hash
from pml.loader.lockfile.entries import LockEntry
from pml.loader.lockfile.errors import IntegrityError, LockfileMovedError
from pml.loader.lockfile.reading import written
from pml.policy import rule_matches
from pml.routing import Routing

_REJECTED = "it is not what was locked, and the change was not accepted"


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """It is what was locked."""

    entry: LockEntry


@dataclasses.dataclass(frozen=True, slots=True)
class New:
    """Nothing of this name is locked."""


@dataclasses.dataclass(frozen=True, slots=True)
class Changed:
    """Something else is locked under this name: only the human says whether it is replaced."""

    name: Fqdn
    """With the hash of what came."""

    old: LockEntry
    integrity: str
    type: str
    routing: Routing

    @property
    def differences(self) -> tuple[tuple[str, str, str], ...]:
        """Give what differs, with what was and what is."""
        pairs = (
            ("integrity", self.old.integrity, self.integrity),
            ("type", self.old.type, str(self.type)),
            ("routing", self.old.routing.value, self.routing.value),
        )
        return tuple(pair for pair in pairs if pair[1] != pair[2])

    def error(self) -> IntegrityError:
        """Give what is raised if it is not accepted."""
        _, expected, actual = self.differences[0]
        return IntegrityError(self.name, expected, actual, reason=_REJECTED)


Checked = Known | New | Changed


@dataclasses.dataclass(frozen=True, slots=True)
class Lockfile:
    """The entries of one workspace."""

    entries: Mapping[str, LockEntry] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    """By name without hash: one version of a thing is locked, not several."""

    def named(self) -> Iterator[tuple[Fqdn, LockEntry]]:
        """Give every entry with its whole name, in the order of the file."""
        for base, entry in sorted(self.entries.items()):
            yield Fqdn.parse(base).with_hash(entry.integrity.removeprefix("sha256-")), entry

    def entry(self, name: Fqdn) -> LockEntry | None:
        """Give what is locked under a name, whatever its hash."""
        return self.entries.get(name.base)

    def check(self, name: Fqdn, integrity: str, type: str, routing: Routing) -> Checked:  # noqa: A002 - the word of the format
        """Compare what was fetched, by the hash that was computed here, with what is locked.

        Raises `IntegrityError` if the name itself asks for other content.
        """
        if not name.fits(integrity):
            raise _misnamed(name, integrity)
        old = self.entry(name)
        if old is None:
            return New()
        if (old.integrity, old.type, old.routing) == (integrity, type, routing):
            return Known(old)
        whole = name.with_hash(integrity.removeprefix("sha256-"))
        return Changed(whole, old, integrity, type, Routing(routing))

    def add(self, name: Fqdn, entry: LockEntry) -> Self:
        """Give the lockfile with a new entry; raises `LockfileMovedError` if there is another."""
        there = self.entry(name)
        if there is not None and there.integrity != entry.integrity:
            raise LockfileMovedError(name)
        return self if there is not None else self._with(name, entry)

    def replace(self, name: Fqdn, old: LockEntry, entry: LockEntry) -> Self:
        """Give it with another entry in place of the one that the human saw.

        Raises `LockfileMovedError` if that is not there any more.
        """
        if self.entry(name) != old:
            raise LockfileMovedError(name)
        return self._with(name, entry)

    def without(self, name: Fqdn) -> Self:
        """Give it without an entry."""
        left = {base: entry for base, entry in self.entries.items() if base != name.base}
        return dataclasses.replace(self, entries=MappingProxyType(left))

    def cleaned(self, permissions: Permissions) -> Self:
        """Give it without what no rule of `allow` or `ask` speaks of: it would be new again.

        Without such rules everything asks, and nothing is removed. Give at least the rules that
        the human trusted: whoever can write `.pml.json` must not be able to unlock anything.
        """
        rules = (*permissions.allow, *permissions.ask)
        if not rules:
            return self
        kept = {
            base: entry
            for base, entry in self.entries.items()
            if any(_speaks_of(rule, Fqdn.parse(base), entry) for rule in rules)
        }
        return dataclasses.replace(self, entries=MappingProxyType(kept))

    def content(self) -> bytes:
        """Give the bytes of the file."""
        return written(self.entries)

    def _with(self, name: Fqdn, entry: LockEntry) -> Self:
        if not name.fits(entry.integrity):
            raise _misnamed(name, entry.integrity)
        more = {**self.entries, name.base: entry}
        return dataclasses.replace(self, entries=MappingProxyType(more))


def _misnamed(name: Fqdn, integrity: str) -> IntegrityError:
    reason = "its name asks for other content"
    return IntegrityError(name, str(name.hash), short_hash(integrity), reason=reason)


def _speaks_of(rule: str, name: Fqdn, entry: LockEntry) -> bool:
    """Say whether a rule speaks of one of the tools that an entry brings."""
    if entry.type != "deno":  # a server: it has tools that nobody has listed yet
        return rule_matches(rule.partition(":")[0], f"{name.namespace}:")
    tools = (name.action, *entry.definitions)
    return any(rule_matches(rule, f"{name.namespace}:{tool}") for tool in tools)
