"""From a name to code that may run, or to what is missing for that.

What is locked and kept here is used without a network: it is compared with the lock and hashed
again, every time. Otherwise registries are asked; if they cannot be reached, what they gave last
is used, with a warning. The first fetch is recorded in the lockfile, and what cannot be recorded
is not used. Nobody is asked and nothing is run here.
"""

import dataclasses
import datetime
from collections.abc import Callable
from typing import Protocol

from pml.fqdn import Fqdn
from pml.loader.cache import Cache, Kept
from pml.loader.errors import (
    CodeGoneError,
    HashMismatchError,
    NoRuleError,
    NotCodeError,
    RegistryOfflineError,
    RegistryRoutingError,
)
from pml.loader.lockfile import (
    Changed,
    IntegrityError,
    Known,
    LockEntry,
    Lockfile,
    New,
    definitions_of,
)
from pml.loader.metadata import McpType, Metadata
from pml.loader.needs import Checks, Needs, needs_of
from pml.loader.registry import Described, Registries
from pml.loader.verified import VerifiedCode
from pml.model import Tool
from pml.routing import Routing


class Lock(Protocol):
    """The workspace's lockfile: `LockStore`."""

    def load(self) -> Lockfile:
        """Give what is locked; raises a `LockfileError`."""

    def update(self, change: Callable[[Lockfile], Lockfile]) -> Lockfile:
        """Change what is there; raises a `LockfileError`, and then nothing was written."""


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What stands under a name, from here or from a registry."""

    kept: Kept
    changed: Changed | None
    """It is not what is locked."""

    is_new: bool
    warnings: tuple[str, ...] = ()

    @property
    def metadata(self) -> Metadata:
        """What is said of it."""
        return self.kept.metadata


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """A capability that may run."""

    metadata: Metadata
    code: VerifiedCode
    warnings: tuple[str, ...] = ()


class CapabilityLoader:
    """Loads the capabilities of one workspace."""

    def __init__(
        self,
        registries: Registries,
        cache: Cache,
        lock: Lock,
        checks: Checks,
        now: Callable[[], datetime.datetime],
    ) -> None:
        """Read nothing and ask nobody yet."""
        self._registries = registries
        self._cache = cache
        self._lock = lock
        self._checks = checks
        self._now = now
        self._known: dict[tuple[Fqdn, str], Kept] = {}

    async def load(self, name: Fqdn) -> Loaded | Needs:
        """Give verified code, or what is missing for it.

        Raises `IntegrityError` for content that is not what was promised, and all that can go
        wrong with a registry, the lockfile, or a rule that denies what it calls.
        """
        found, needs = await self._looked_up(name)
        if not needs.is_ready:
            return needs
        code = self._cache.code(found.kept)
        if code is None:
            raise CodeGoneError(str(name))
        self.lock(found)
        return Loaded(found.metadata, code, found.warnings)

    async def add(self, name: Fqdn) -> Needs:
        """Lock what stands under a name, ready or not; what is locked as another stays so.

        Raises as `load`, and `NoRuleError` for what would not stay locked.
        """
        found, needs = await self._looked_up(name)
        self.keep(found)
        return needs

    def keep(self, found: Found, package: str | None = None) -> None:
        """Lock what is new, with the package that was chosen; raises `NoRuleError`."""
        self._refuse_fleeting(found)
        self.lock(found, package)

    def _refuse_fleeting(self, found: Found) -> None:
        alone = Lockfile().add(found.metadata.fqdn, self._entry(found.kept))
        if not alone.cleaned(self._checks.permissions).entries:
            raise NoRuleError(found.metadata.fqdn.tool_id)

    async def _looked_up(self, name: Fqdn) -> tuple[Found, Needs]:
        found, needs = await self.described(name)
        metadata = found.metadata
        if metadata.type is not McpType.DENO:
            raise NotCodeError(str(name), metadata.type)
        if metadata.routing is not Routing.CLIENT:
            raise RegistryRoutingError(str(name))
        return found, needs

    async def described(self, name: Fqdn) -> tuple[Found, Needs]:
        """Say what stands under a name, code or server, and what is missing for it."""
        found = await self.find(name)
        return found, needs_of(found.metadata, self._checks, found.changed)

    async def examine(self, name: Fqdn) -> tuple[Found, Needs]:
        """Say what stands under a name now, and what is missing for it; changes nothing.

        Where the version that is locked is no longer to be had, what has taken its place is a
        question of integrity.
        """
        try:
            return await self._looked_up(name)
        except HashMismatchError:
            found = await self.update(name)
            return found, needs_of(found.metadata, self._checks, found.changed)

    async def find(self, name: Fqdn) -> Found:
        """Say what stands under a name, and what it is beside the lockfile; changes nothing."""
        locked = self._lock.load()
        entry = locked.entry(name)
        fits = entry is not None and name.fits(entry.integrity)
        kept = self._pinned(name, entry.integrity) if entry is not None and fits else None
        warnings: tuple[str, ...] = ()
        if kept is None:
            wanted = _pin(name, entry.integrity) if entry is not None and fits else name
            kept, warnings = await self._asked(wanted)
        return _beside(locked, kept, warnings)

    async def update(self, name: Fqdn) -> Found:
        """Ask for the current version, whatever is kept here; unchanged costs no second copy."""
        name = name.without_hash()
        last = self._cache.last(name)
        etag, of = (last.etag, last.registry) if last is not None else ("", None)
        answer = await self._registries.describe(name, etag, of)
        if isinstance(answer, Described):
            last = self._cache.put(name, answer)
        assert last is not None  # noqa: S101 - `Unchanged` answers an ETag alone
        return _beside(self._lock.load(), last)

    def lock(self, found: Found, package: str | None = None) -> None:
        """Record what is new; what is locked stays as it is."""
        if found.is_new:
            entry = self._entry(found.kept, package)
            self._lock.update(lambda now: now.add(found.metadata.fqdn, entry))

    def accept(self, changed: Changed, kept: Kept) -> None:
        """Lock another version, after the human said yes to this very change."""
        entry = self._entry(kept)
        self._lock.update(lambda now: now.replace(changed.name, changed.old, entry))

    def _pinned(self, name: Fqdn, integrity: str) -> Kept | None:
        version = _pin(name, integrity)
        known = self._known.get((version, integrity))
        if known is not None and (known.place is None or known.place.is_file()):
            return known
        known = self._cache.version(version, integrity)
        if known is not None:
            self._known[version, integrity] = known
        return known

    async def _asked(self, name: Fqdn) -> tuple[Kept, tuple[str, ...]]:
        """Ask registries; without them, use what they gave last."""
        try:
            answer = await self._registries.describe(name)
        except RegistryOfflineError as error:
            kept = self._cache.last(name)
            if kept is None:
                raise error.about(str(name)) from None
            return kept, (f"{error.message}: `{name}` is used as it is kept here",)
        assert isinstance(answer, Described)  # noqa: S101 - no ETag was sent
        return self._cache.put(name, answer), ()

    def _entry(self, kept: Kept, package: str | None = None) -> LockEntry:
        found = kept.metadata
        when = self._now().astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        # the tools of a server are what it lists itself
        offered = found.offered() if found.type is McpType.DENO else ()
        tools = [Tool(found.fqdn.namespace, one["name"], one) for one in offered]
        return LockEntry(
            found.integrity,
            when,
            found.type,
            found.routing,
            metadata=found.digest or None,
            package=package,
            definitions=definitions_of(tools),
            url=kept.registry,
        )


def _beside(locked: Lockfile, kept: Kept, warnings: tuple[str, ...] = ()) -> Found:
    found = kept.metadata
    checked = locked.check(found.fqdn, found.integrity, found.type, found.routing)
    if isinstance(checked, Known) and checked.entry.metadata not in (None, found.digest):
        expected = str(checked.entry.metadata)
        raise IntegrityError(found.fqdn, expected, found.digest, reason="its description")
    changed = checked if isinstance(checked, Changed) else None
    return Found(kept, changed, isinstance(checked, New), warnings)


def _pin(name: Fqdn, integrity: str) -> Fqdn:
    return name.with_hash(integrity.removeprefix("sha256-"))
