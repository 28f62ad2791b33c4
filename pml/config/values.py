"""What a configuration says, as other rooms use it: frozen, checked, with variables filled in.

A server that stands here can be started: one whose variables are missing is not here but in
`Config.unusable`. Values that may be secret are left out of `repr`.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pml.config.errors import ConfigError
from pml.config.spots import Spot

Require = Literal["full", "landlock", "partial"]
Approvals = Literal["human", "model"]


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclasses.dataclass(frozen=True, slots=True)
class Permissions:
    """Patterns of tools; `pml.policy` says what they match. Empty lists: everything asks."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    places: Mapping[tuple[str, str], Spot] = dataclasses.field(
        default_factory=_nothing, repr=False, compare=False
    )
    """Where each rule stands, by list and pattern: `("deny", "github:*")`; first if repeated."""

    memo: dict[str, Any] = dataclasses.field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What `pml.policy` remembers of these rules, which it looks up on every call; no value."""


@dataclasses.dataclass(frozen=True, slots=True)
class CloudConfig:
    """The other half, if it is used."""

    url: str
    api_key: str | None = dataclasses.field(default=None, repr=False)
    problem: ConfigError | None = None
    """Why there is no key although the file names one; everything local works without."""

    own_keys: Mapping[str, str] = dataclasses.field(default_factory=_nothing, repr=False)
    """The user's keys that tools there may be called with, as far as they are set."""


@dataclasses.dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What a server's processes may use; None is the sandbox's own default."""

    memory_mb: int | None = None
    procs: int | None = None
    open_files: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class SandboxConfig:
    """What a local server is granted; nothing, unless it says so."""

    mode: Literal["on", "off"] = "on"
    require: Require | None = None
    """The lowest level for this server; None is that of the whole configuration."""

    fs_read: tuple[Path, ...] = ()
    fs_write: tuple[Path, ...] = ()
    """Real paths, which may not exist yet."""

    net: bool | tuple[str, ...] = False
    """All, none, or these: `host` or `host:port`, in lower case."""

    env: tuple[str, ...] = ()
    """Names of variables of the gateway that are handed on, beside the server's own `env`."""

    spawn: bool = False
    limits: SandboxLimits = SandboxLimits()


@dataclasses.dataclass(frozen=True, slots=True)
class StdioServerConfig:
    """A server that is a local process."""

    name: str
    command: str
    args: tuple[str, ...] = dataclasses.field(default=(), repr=False)
    env: Mapping[str, str] = dataclasses.field(default_factory=_nothing, repr=False)
    sandbox: SandboxConfig = SandboxConfig()
    handed: Mapping[str, str] = dataclasses.field(default_factory=_nothing, repr=False)
    """The values of the variables that `sandbox.env` names."""

    @property
    def environment(self) -> Mapping[str, str]:
        """Give all variables that the configuration gives it; its own `env` wins."""
        return MappingProxyType({**self.handed, **self.env})


@dataclasses.dataclass(frozen=True, slots=True)
class HttpServerConfig:
    """A server that is reached over Streamable HTTP."""

    name: str
    url: str = dataclasses.field(repr=False)
    headers: Mapping[str, str] = dataclasses.field(default_factory=_nothing, repr=False)


ServerConfig = StdioServerConfig | HttpServerConfig


@dataclasses.dataclass(frozen=True, slots=True)
class PrivateMcp:
    """A server defined here as a registry would define it; it goes before the registry's."""

    server: ServerConfig
    tools: tuple[str, ...] = ()
    """What it offers, by tool id; empty if it is to be asked."""

    description: str = ""

    @property
    def name(self) -> str:
        """Give the server's name."""
        return self.server.name


@dataclasses.dataclass(frozen=True, slots=True)
class LimitsConfig:
    """How long things may take; None is the sandbox's own default."""

    call_timeout_seconds: float = 60.0
    """One call of a tool."""

    start_timeout_seconds: float = 30.0
    """A server's start until it answers; interpreters are slow on a busy machine."""

    idle_seconds: float = 300.0
    """Unused for so long, a server is stopped."""

    wall_seconds: float | None = None
    cpu_seconds: float | None = None
    memory_mb: int | None = None
    """Of one run of a program."""


@dataclasses.dataclass(frozen=True, slots=True)
class Config:
    """All that `.pml.json` and the user's own file say."""

    path: Path | None = None
    """The `.pml.json` that was read; None if there is none."""

    version: int = 1
    workspace: Path | None = None
    """Real; a folder in that of `.pml.json`, if the file narrows the workspace."""

    cloud: CloudConfig | None = None
    permissions: Permissions = Permissions()
    servers: tuple[ServerConfig, ...] = ()
    """From `mcpServers`, in the order of the file; those that can be started."""

    private_mcps: tuple[PrivateMcp, ...] = ()
    registries: tuple[str, ...] = ()
    env: Mapping[str, str] = dataclasses.field(default_factory=_nothing, repr=False)
    """The `env` block with its variables filled in, as far as they are there."""

    limits: LimitsConfig = LimitsConfig()
    expose: tuple[str, ...] = ()
    """Patterns of tools that the client sees by name."""

    builtins: tuple[str, ...] | None = None
    """Those that are switched on; None is all."""

    approvals: Approvals = "human"
    """Who may approve; `model` only if the user's own file says so."""

    require: Require = "landlock"
    """The lowest level of the OS sandbox that is accepted."""

    unusable: Mapping[str, ConfigError] = dataclasses.field(default_factory=_nothing)
    """Servers that cannot be used as things are, and why."""

    def server(self, name: str) -> ServerConfig | None:
        """Give a server or private one by name, None if unknown; raise if it is unusable."""
        if name in self.unusable:
            raise self.unusable[name].with_traceback(None)  # or it grows each time it is raised
        private = (mcp.server for mcp in self.private_mcps)
        return next((one for one in (*self.servers, *private) if one.name == name), None)
