"""What a configuration says that matters to safety, in one canonical form. Frozen and pure.

Values stand as the file writes them, with `${NAME}` not filled in: another token in the
environment is no other configuration. What may be a secret stands as a keyed hash, see
`guarding.py`. What the top `env` block or the workspace's `.env` fills in stands beside each text
that asks for it, so that nothing can be changed from a distance.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from pml.config import Permissions

DEFAULT_REQUIRE = "landlock"


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Entry:
    """A path or the name of a variable, and what the `env` block fills into it."""

    text: str
    where: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        """Give it for a human."""
        filled = ", ".join(f"{name}={value}" for name, value in self.where)
        return f"{self.text} (with {filled})" if filled else self.text


@dataclasses.dataclass(frozen=True, slots=True)
class SandboxStatement:
    """What a local server is granted; lists are in the order of the file."""

    mode: str = "on"
    require: str | None = None
    fs_read: tuple[Entry, ...] = ()
    fs_write: tuple[Entry, ...] = ()
    net: bool | tuple[str, ...] = False
    env: tuple[Entry, ...] = ()
    spawn: bool = False
    limits: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Only those that the file gives."""


@dataclasses.dataclass(frozen=True, slots=True)
class ServerStatement:
    """One server: what it is, and what it is granted."""

    section: str
    """`mcpServers` or `privateMcps`."""

    identity: Mapping[str, Any]
    """Command, arguments, variables, address, headers: another one is another server."""

    sandbox: SandboxStatement = SandboxStatement()


@dataclasses.dataclass(frozen=True, slots=True)
class Statement:
    """A whole `.pml.json`; the defaults are what an empty file, or none, says."""

    workspace: str | None = None
    permissions: Permissions = dataclasses.field(default_factory=Permissions)
    servers: Mapping[str, ServerStatement] = dataclasses.field(default_factory=dict)
    registries: tuple[str, ...] = ()
    cloud: Mapping[str, str] = dataclasses.field(default_factory=dict)
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)
    limits: Mapping[str, float] = dataclasses.field(default_factory=dict)
    expose: tuple[str, ...] = ()
    builtins: tuple[str, ...] | None = None
    approvals: str | None = None
    require: str = DEFAULT_REQUIRE

    @property
    def sha256(self) -> str:
        """Give the hash of the canonical form."""
        return hashlib.sha256(canonical_json(to_plain(self))).hexdigest()


def canonical_json(value: Any) -> bytes:
    """Give the one way to write a value."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, sort_keys=True,
                      separators=(",", ":"))  # fmt: skip
    return text.encode()


def to_plain(statement: Statement) -> dict[str, Any]:
    """Give JSON values; what has no order in the file's meaning is sorted."""
    given = statement.permissions
    return {
        "workspace": statement.workspace,
        "permissions": {
            "allow": _unordered(given.allow),
            "ask": _unordered(given.ask),
            "deny": _unordered(given.deny),
        },
        "servers": {name: _server(one) for name, one in statement.servers.items()},
        "registries": list(statement.registries),
        "cloud": dict(statement.cloud),
        "env": dict(statement.env),
        "limits": dict(statement.limits),
        "expose": _unordered(statement.expose),
        "builtins": None if statement.builtins is None else list(statement.builtins),
        "approvals": statement.approvals,
        "require": statement.require,
    }


def from_plain(plain: Mapping[str, Any]) -> Statement:
    """Read what `to_plain` gave; raises `KeyError`, `TypeError` or `ValueError` for another."""
    given = plain["permissions"]
    return Statement(
        workspace=plain["workspace"],
        permissions=Permissions(tuple(given["allow"]), tuple(given["ask"]), tuple(given["deny"])),
        servers={name: _server_from(one) for name, one in plain["servers"].items()},
        registries=tuple(plain["registries"]),
        cloud=plain["cloud"],
        env=plain["env"],
        limits=plain["limits"],
        expose=tuple(plain["expose"]),
        builtins=None if plain.get("builtins") is None else tuple(plain["builtins"]),
        approvals=plain["approvals"],
        require=plain["require"],
    )


def _server(server: ServerStatement) -> dict[str, Any]:
    box = server.sandbox
    return {
        "section": server.section,
        "identity": dict(server.identity),
        "sandbox": {
            "mode": box.mode,
            "require": box.require,
            "fsRead": _entries(box.fs_read),
            "fsWrite": _entries(box.fs_write),
            "net": box.net if isinstance(box.net, bool) else _unordered(box.net),
            "env": _entries(box.env),
            "spawn": box.spawn,
            "limits": dict(box.limits),
        },
    }


def _server_from(plain: Mapping[str, Any]) -> ServerStatement:
    box = plain["sandbox"]
    net = box["net"]
    sandbox = SandboxStatement(
        mode=box["mode"],
        require=box["require"],
        fs_read=_entries_from(box["fsRead"]),
        fs_write=_entries_from(box["fsWrite"]),
        net=net if isinstance(net, bool) else tuple(net),
        env=_entries_from(box["env"]),
        spawn=box["spawn"],
        limits=box["limits"],
    )
    return ServerStatement(plain["section"], plain["identity"], sandbox)


def _unordered(texts: Iterable[str]) -> list[str]:
    return sorted(set(texts))


def _entries(entries: Iterable[Entry]) -> list[list[Any]]:
    return [[one.text, dict(one.where)] for one in sorted(set(entries))]


def _entries_from(plain: Iterable[Any]) -> tuple[Entry, ...]:
    return tuple(Entry(text, tuple(sorted(where.items()))) for text, where in plain)
