"""What of a server's changed grants may be used: what the trusted and the new ones give. Pure.

A wider grant does not make the server unusable: it goes on with what was trusted. Paths and
variables are compared as they are written, with what the file's `env` block fills in: a folder
inside a trusted one counts as another, because a link could lead anywhere.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

from pml.config import SandboxConfig, SandboxLimits
from pml.config.values import Require
from pml.trust.change import Difference, Kind, direction
from pml.trust.statement import Entry, SandboxStatement

DEFAULT_LIMITS = {"memoryMb": 2048, "procs": 64, "openFiles": 1024}
"""Those of `pml.confinement.ProcessLimits`; a test compares them."""

STRENGTH = ("partial", "landlock", "full")
_WEB_PORTS = ("53", "80", "443")
"""What `net: true` opens: a list that names another port is more than that."""


@dataclasses.dataclass(frozen=True, slots=True)
class Grants:
    """A server's grants, and the level that the whole file requires."""

    box: SandboxStatement
    require: str

    @property
    def floor(self) -> str:
        """Give the lowest level that is accepted for the server."""
        return self.box.require or self.require

    @property
    def is_off(self) -> bool:
        """Say whether there is no sandbox, and so everything is granted but variables."""
        return self.box.mode == "off"


def narrowed(config: SandboxConfig, old: Grants, new: Grants) -> SandboxConfig:
    """Give what both grant; the same configuration if nothing was loosened."""
    if old.is_off:
        kept = config
    else:
        readable = {*old.box.fs_read, *old.box.fs_write}
        writes = list(zip(new.box.fs_write, config.fs_write, strict=True))
        written = set(old.box.fs_write)
        reads = list(zip(new.box.fs_read, config.fs_read, strict=True))
        reads += [one for one in writes if one[0] not in written]
        kept = dataclasses.replace(
            config,
            mode="on",
            require=_require(config.require, old, new),
            fs_read=tuple(path for entry, path in reads if entry in readable),
            fs_write=tuple(path for entry, path in writes if entry in written),
            net=_net(old.box.net, config.net),
            spawn=config.spawn and old.box.spawn,
        )
    known = set(old.box.env)
    return dataclasses.replace(
        kept,
        env=tuple(entry.text for entry in new.box.env if entry in known),
        limits=_limits(config.limits, old.box),
    )


def compared(name: str, section: str, old: Grants, new: Grants) -> Iterator[Difference]:
    """Give every grant that came or went."""
    compare = _Comparing(name, section)
    before, after = old.box, new.box
    yield from compare.entries("env", before.env, after.env, after.env)
    yield from compare.limits(before, after)
    if before.mode != after.mode:
        words = "no OS sandbox at all" if new.is_off else "an OS sandbox"
        kind = direction(looser=new.is_off)
        yield compare.change("mode", kind, before.mode, after.mode, f"has {words}")
    if old.is_off or new.is_off:
        return
    if old.floor != new.floor:
        kind = direction(looser=STRENGTH.index(new.floor) < STRENGTH.index(old.floor))
        words = f"needs a sandbox of level {new.floor} at least"
        yield compare.change("require", kind, old.floor, new.floor, words)
    readable = (*before.fs_read, *before.fs_write)
    still = (*after.fs_read, *after.fs_write)
    yield from compare.entries("fsRead", readable, after.fs_read, still, before.fs_read)
    yield from compare.entries("fsWrite", before.fs_write, after.fs_write, after.fs_write)
    yield from compare.net(before.net, after.net)
    if before.spawn != after.spawn:
        kind = direction(looser=after.spawn)
        words = "may start programs" if after.spawn else "may not start programs"
        yield compare.change("spawn", kind, before.spawn, after.spawn, words)


@dataclasses.dataclass(frozen=True, slots=True)
class _Comparing:
    name: str
    section: str

    def change(self, key: str, kind: Kind, old: Any, new: Any, words: str) -> Difference:
        path = (self.section, self.name, "sandbox", *key.split("."))
        return Difference(path, kind, old, new, f"server `{self.name}` {words}", server=self.name)

    def entries(
        self,
        key: str,
        old: Iterable[Entry],
        new: Iterable[Entry],
        still: Iterable[Entry],
        before: Iterable[Entry] | None = None,
    ) -> Iterator[Difference]:
        """Compare lists; `still` is what the new ones grant by any key."""
        words = {"fsRead": "read", "fsWrite": "write", "env": "get the variable"}[key]
        for one in sorted(set(new) - set(old)):
            yield self.change(key, "loosened", None, str(one), f"may {words} {one}")
        for one in sorted(set(old if before is None else before) - set(still)):
            yield self.change(key, "tightened", str(one), None, f"may not {words} {one}")

    def net(
        self, old: bool | tuple[str, ...], new: bool | tuple[str, ...]
    ) -> Iterator[Difference]:
        before = sorted(set(old)) if isinstance(old, tuple) else old
        after = sorted(set(new)) if isinstance(new, tuple) else new
        if before == after:
            return
        kind = direction(looser=_net(old, new) != new)
        yield self.change("net", kind, before, after, "may reach another part of the network")

    def limits(self, old: SandboxStatement, new: SandboxStatement) -> Iterator[Difference]:
        for key, default in DEFAULT_LIMITS.items():
            before, after = old.limits.get(key, default), new.limits.get(key, default)
            if before != after:
                kind = direction(looser=after > before)
                yield self.change(f"limits.{key}", kind, before, after, f"has {key} {after}")


def _net(old: bool | tuple[str, ...], new: bool | tuple[str, ...]) -> bool | tuple[str, ...]:
    """Give the hosts of both; exactly `new` if it is no more than `old`."""
    if not new or old is new:
        return new
    if not old:
        return False
    if isinstance(old, bool):
        return _on_the_web(new) if isinstance(new, tuple) else new
    if isinstance(new, bool):
        return _on_the_web(old)
    return tuple(host for host in new if host in old)


def _on_the_web(hosts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(host for host in hosts if host.partition(":")[2] in ("", *_WEB_PORTS))


def _require(given: Require | None, old: Grants, new: Grants) -> Require | None:
    """Keep the higher floor; not said where that of the whole file, the higher too, says it."""
    whole = max(old.require, new.require, key=STRENGTH.index)
    if STRENGTH.index(given or whole) >= STRENGTH.index(old.floor):
        return given
    higher: dict[str, Require] = {"partial": "partial", "landlock": "landlock", "full": "full"}
    return higher[old.floor]


def _limits(given: SandboxLimits, old: SandboxStatement) -> SandboxLimits:
    def lower(key: str, value: int | None) -> int | None:
        default = DEFAULT_LIMITS[key]
        most = old.limits.get(key, default)
        return value if (default if value is None else value) <= most else most

    return SandboxLimits(
        lower("memoryMb", given.memory_mb),
        lower("procs", given.procs),
        lower("openFiles", given.open_files),
    )
