"""Which servers may be used: those that are what was trusted, with no more than was trusted. Pure.

Another command, argument, variable, address or header makes another program of it: such a server
is unusable until the human has said yes, and so is a new one. One that is gone is gone.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from pml.config import Config, PrivateMcp, ServerConfig, StdioServerConfig
from pml.trust import sandbox
from pml.trust.change import Difference
from pml.trust.sandbox import Grants
from pml.trust.statement import SandboxStatement, ServerStatement, Statement


@dataclasses.dataclass(frozen=True, slots=True)
class Usable:
    """The servers that may be used; of the others, what is other, by name."""

    servers: tuple[ServerConfig, ...]
    private_mcps: tuple[PrivateMcp, ...]
    untrusted: Mapping[str, tuple[str, ...]]


def usable(config: Config, old: Statement, new: Statement) -> Usable:
    """Give what may be started."""
    untrusted = {
        name: what for name in new.servers if (what := _other(name, old, new)) is not None
    }
    return Usable(
        tuple(_narrowed(one, old, new) for one in config.servers if one.name not in untrusted),
        tuple(
            dataclasses.replace(one, server=_narrowed(one.server, old, new))
            for one in config.private_mcps
            if one.name not in untrusted
        ),
        untrusted,
    )


def compared(old: Statement, new: Statement) -> Iterator[Difference]:
    """Give all that differs, server by server."""
    for name, gone in old.servers.items():
        if name not in new.servers:
            words = f"server `{name}` is gone"
            yield Difference((gone.section, name), "tightened", name, None, words, server=name)
    for name, server in new.servers.items():
        before = old.servers.get(name)
        if before is None:
            words = f"server `{name}` is new"
            yield Difference((server.section, name), "loosened", None, name, words, server=name)
            before = ServerStatement(server.section, {}, SandboxStatement())
        yield from _compared(name, (before, old.require), (server, new.require))


def _other(name: str, old: Statement, new: Statement) -> tuple[str, ...] | None:
    """Name what makes a server another one; empty for a new one, None if it is the same."""
    before, after = old.servers.get(name), new.servers[name]
    if before is None:
        return ()
    keys = sorted({*before.identity, *after.identity})
    other = [key for key in keys if before.identity.get(key) != after.identity.get(key)]
    other += ["section"] if before.section != after.section else []
    other += ["workspace"] if old.workspace != new.workspace else []
    return tuple(other) or None


def _compared(
    name: str, old: tuple[ServerStatement, str], new: tuple[ServerStatement, str]
) -> Iterator[Difference]:
    before, after = old[0], new[0]
    if before.section != after.section:
        words = f"server `{name}` moved to another section"
        section = (after.section, name)
        yield Difference(section, "changed", before.section, after.section, words, server=name)
    had, has = _flat(before.identity), _flat(after.identity)
    for path in sorted({*had, *has}):
        was, now = had.get(path), has.get(path)
        if was != now:
            word = "no" if now is None else "this" if was is None else "another"
            words = f"server `{name}` has {word} {'.'.join(path)}"
            at = (after.section, name, *path)
            yield Difference(at, "changed", was, now, words, server=name)
    grants = Grants(before.sandbox, old[1]), Grants(after.sandbox, new[1])
    yield from sandbox.compared(name, after.section, *grants)


def _flat(identity: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Give single values by their path; what is empty is not there."""
    flat: dict[tuple[str, ...], Any] = {}
    for key, value in identity.items():
        if isinstance(value, Mapping):
            flat |= {(key, inner): text for inner, text in value.items()}
        elif value or value is False:
            flat[(key,)] = value
    return flat


def _narrowed(server: ServerConfig, old: Statement, new: Statement) -> ServerConfig:
    if not isinstance(server, StdioServerConfig):
        return server
    name = server.name
    grants = (
        Grants(old.servers[name].sandbox, old.require),
        Grants(new.servers[name].sandbox, new.require),
    )
    box = sandbox.narrowed(server.sandbox, *grants)
    handed = {key: value for key, value in server.handed.items() if key in box.env}
    return dataclasses.replace(server, sandbox=box, handed=MappingProxyType(handed))
