"""The configuration that may be used now: what the file says, as far as it was trusted. Pure.

What tightens applies at once. What loosens keeps its trusted value, and is told as a `Change`
that waits for `pml trust`. Without a record nothing was trusted: that is the record of an empty
file, so rules that allow do not count, no server starts, and denials hold.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from pml.config import Config, ConfigError, LimitsConfig
from pml.config.spots import Spot
from pml.config.values import Require
from pml.trust import permissions, servers
from pml.trust.change import Change, Difference, Kind, direction
from pml.trust.errors import UntrustedChangeError, UntrustedWorkspaceError, server_spot
from pml.trust.record import Kept, TrustRecord
from pml.trust.sandbox import STRENGTH
from pml.trust.statement import Statement

DEFAULT_LIMITS = {
    "callTimeoutSeconds": 60.0, "startTimeoutSeconds": 30.0, "idleSeconds": 300.0,
    "wallSeconds": 300.0, "cpuSeconds": 5.0, "memoryMb": 64,
}  # fmt: skip
"""Of `LimitsConfig`, and where it has none of `sandbox_host.Limits`; a test compares them."""

_FIELDS = {
    "callTimeoutSeconds": "call_timeout_seconds", "startTimeoutSeconds": "start_timeout_seconds",
    "idleSeconds": "idle_seconds", "wallSeconds": "wall_seconds", "cpuSeconds": "cpu_seconds",
    "memoryMb": "memory_mb",
}  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration and what it states, of the very same bytes. Made by `loading.py`."""

    config: Config
    statement: Statement
    folder: Path
    """The real folder of the file."""

    content: bytes | None = None
    """None if there is no file."""

    lockfile: str | None = None
    """The sha256 of the lockfile, if there is one."""

    readable: Mapping[str, str] = dataclasses.field(
        default_factory=dict, repr=False, compare=False
    )
    """What a human may see of each hash in the statement."""


@dataclasses.dataclass(frozen=True, slots=True)
class Effective:
    """What may be used, and how it differs from what the file says."""

    config: Config
    changes: tuple[Change, ...] = ()
    """All that differs between what was trusted and the file."""

    is_trusted: bool = False
    """Whether there is a record that counts."""

    problem: str | None = None
    """Why there is none, if there was one."""

    @property
    def waiting(self) -> tuple[Change, ...]:
        """Give the changes that wait for the human."""
        return tuple(change for change in self.changes if change.waits)

    def raise_if_untrusted(self) -> None:
        """Raise `UntrustedWorkspaceError` if there is something to trust and none of it is."""
        if not self.is_trusted and self.waiting:
            raise UntrustedWorkspaceError(_spot(self.config), self.problem)


def effective(loaded: Loaded, kept: Kept | TrustRecord | None) -> Effective:
    """Give the configuration that may be used now."""
    if not isinstance(kept, Kept):
        kept = Kept(kept)
    old = kept.record.statement if kept.record else Statement()
    config, new = loaded.config, loaded.statement
    found = servers.usable(config, old, new)
    same_cloud = old.cloud == new.cloud
    narrowed = dataclasses.replace(
        config,
        workspace=config.workspace if old.workspace == new.workspace else _workspace(loaded, old),
        cloud=config.cloud if same_cloud else None,
        permissions=permissions.both(old.permissions, config.permissions),
        servers=found.servers,
        private_mcps=found.private_mcps,
        registries=_registries(old.registries, config.registries),
        env=_env(config.env, old.env, new.env),
        limits=_limits(config.limits, old),
        expose=tuple(tool for tool in config.expose if tool in old.expose),
        builtins=_builtins(old.builtins, config.builtins),
        approvals="human" if old.approvals else config.approvals,
        require=_require(old.require, config.require),
        unusable=_unusable(config, new, found.untrusted, kept),
    )
    lockfile = kept.record.lockfile if kept.record else None
    found_all = (*compared(old, new), *_lockfile(lockfile, loaded.lockfile))
    changes = tuple(one.told(loaded.readable) for one in found_all)
    return Effective(narrowed, changes, kept.record is not None, kept.problem)


def compared(old: Statement, new: Statement) -> Iterator[Difference]:
    """Give all that differs, in the order in which a human should read it."""
    yield from servers.compared(old, new)
    yield from permissions.compared(old.permissions, new.permissions)
    yield from _others(old, new)


def _others(old: Statement, new: Statement) -> Iterator[Difference]:
    if old.workspace != new.workspace:
        words = "servers would run in another folder"
        yield Difference(("workspace",), "changed", old.workspace, new.workspace, words)
    if old.cloud != new.cloud:
        kind: Kind = "changed" if new.cloud else "tightened"
        words = "another cloud would be used" if new.cloud else "no cloud is used"
        yield Difference(("cloud",), kind, dict(old.cloud) or None, dict(new.cloud) or None, words)
    if old.registries != new.registries:
        less = _registries(old.registries, new.registries) == new.registries
        words = "registries are asked in this order"
        yield Difference(
            ("registries",), "tightened" if less else "changed",
            list(old.registries), list(new.registries), words,
        )  # fmt: skip
    for name in sorted({*old.env, *new.env}):
        was, now = old.env.get(name), new.env.get(name)
        if was != now:
            words = f"another value would be filled in for ${{{name}}}"
            yield Difference(("env", name), "changed", was, now, words)
    yield from _exposed(old.expose, new.expose)
    if old.builtins != new.builtins:
        kind = direction(looser=_builtins(old.builtins, new.builtins) != new.builtins)
        words = "other built-ins would be switched on"
        yield Difference(("builtins",), kind, _listed(old.builtins), _listed(new.builtins), words)
    yield from _bounds(old, new)


def _exposed(old: Iterable[str], new: Iterable[str]) -> Iterator[Difference]:
    for tool in sorted(set(new) - set(old)):
        words = f"the client would see `{tool}` by name"
        yield Difference(("expose",), "loosened", None, tool, words)
    for tool in sorted(set(old) - set(new)):
        words = f"the client does not see `{tool}` by name"
        yield Difference(("expose",), "tightened", tool, None, words)


def _bounds(old: Statement, new: Statement) -> Iterator[Difference]:
    for key, default in DEFAULT_LIMITS.items():
        was, now = old.limits.get(key, default), new.limits.get(key, default)
        if was != now:
            kind = direction(looser=now > was)
            yield Difference(("limits", key), kind, was, now, f"the limit {key} is {now:g}")
    if old.approvals != new.approvals:
        more = old.approvals is not None
        words = "your own file would say who approves" if more else "only a human approves"
        kind = direction(looser=more)
        yield Difference(("approvals",), kind, old.approvals, new.approvals, words)
    if old.require != new.require:
        kind = direction(looser=STRENGTH.index(new.require) < STRENGTH.index(old.require))
        words = f"servers need a sandbox of level {new.require} at least"
        yield Difference(("sandbox", "require"), kind, old.require, new.require, words)


def _lockfile(old: str | None, new: str | None) -> Iterator[Difference]:
    if old != new:
        words = "the lockfile is another"
        yield Difference(("lockfile",), "changed", old, new, words)


def _unusable(
    config: Config, new: Statement, untrusted: Mapping[str, tuple[str, ...]], kept: Kept
) -> Mapping[str, ConfigError]:
    found: dict[str, ConfigError] = dict(config.unusable)
    for name, what in untrusted.items():
        spot = server_spot(config.path, new.servers[name].section, name)
        if kept.record is None:
            found[name] = UntrustedWorkspaceError(spot, kept.problem)
        else:
            found[name] = UntrustedChangeError(spot, name, what)
    return MappingProxyType(found)


def _workspace(loaded: Loaded, old: Statement) -> Path | None:
    """Keep the trusted folder; no server runs in it before the human has said yes."""
    if old.workspace is None:
        return None
    real = (loaded.folder / old.workspace).resolve()
    # what was a folder may be a link by now
    return real if real.is_relative_to(loaded.folder) else loaded.config.workspace


def _registries(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Give those of both; exactly `new` if only some are gone: who answers first matters."""
    wanted = iter(old)
    if all(one in wanted for one in new):
        return new
    return tuple(one for one in old if one in new)


def _builtins(old: tuple[str, ...] | None, new: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Give those that both switch on; None is all."""
    if old is None or new is None:
        return new if old is None else old
    return tuple(name for name in new if name in old)


def _listed(names: tuple[str, ...] | None) -> list[str] | bool:
    return True if names is None else list(names)


def _env(
    values: Mapping[str, str], old: Mapping[str, str], new: Mapping[str, str]
) -> Mapping[str, str]:
    return MappingProxyType({n: v for n, v in values.items() if old.get(n) == new.get(n)})


def _limits(given: LimitsConfig, old: Statement) -> LimitsConfig:
    lowered: dict[str, float] = {}
    for key, field in _FIELDS.items():
        value = getattr(given, field)
        most = old.limits.get(key, DEFAULT_LIMITS[key])
        if (DEFAULT_LIMITS[key] if value is None else value) > most:
            lowered[field] = most
    return dataclasses.replace(given, **lowered)  # type: ignore[arg-type]


def _require(old: str, new: Require) -> Require:
    levels: tuple[Require, ...] = ("partial", "landlock", "full")
    return levels[max(STRENGTH.index(old), STRENGTH.index(new))]


def _spot(config: Config) -> Spot:
    return Spot(config.path or Path(".pml.json"))
