"""Turns checked shapes into values: variables filled in, paths made real.

What is missing or wrong for one server is that server's alone: it becomes an entry of
`Config.unusable` and stops no other. A wrong value that stands in the file itself, without a
variable, is an error of the file.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pml.config import names
from pml.config.errors import (
    ConfigError,
    InvalidValueError,
    MissingVariable,
    MissingVariablesError,
    as_one,
)
from pml.config.expansion import LookUp, Missing, escape, expand, is_plain_placeholder
from pml.config.names import Complaint
from pml.config.reader import Document
from pml.config.servers import ServerShape
from pml.config.shapes import (
    HttpShape,
    PrivateHttpShape,
    PrivateStdioShape,
    SandboxShape,
    StdioShape,
)
from pml.config.spots import JsonPath, Spot
from pml.config.values import (
    HttpServerConfig,
    PrivateMcp,
    SandboxConfig,
    SandboxLimits,
    ServerConfig,
    StdioServerConfig,
)


class Filler:
    """Fills in the values of one server, and collects what is wrong with them."""

    def __init__(self, document: Document, look_up: LookUp, workspace: Path, home: Path) -> None:
        """Take what values are made from."""
        self._document = document
        self._look_up = look_up
        self._workspace = workspace
        self._home = home
        self._missing: list[MissingVariable] = []
        self._problems: list[ConfigError] = []
        self.file_errors: list[ConfigError] = []

    def problem(self, owner: str) -> ConfigError | None:
        """Give why the owner of these values cannot be used."""
        problems = list(self._problems)
        if self._missing:
            problems.append(MissingVariablesError(owner, self._missing))
        return as_one(problems) if problems else None

    def text(self, raw: str, path: JsonPath) -> str:
        """Fill in the variables of a text."""
        expansion = expand(raw, self._look_up)
        for missing in expansion.missing:
            self._miss(missing, path)
        return expansion.text

    def secret(self, raw: str, path: JsonPath) -> str:
        """Fill in a value that is often a key; a placeholder is none."""
        if is_plain_placeholder(raw):
            self._miss(Missing(str(path[-1]), "unfilled"), path)
        return self.text(raw, path)

    def secrets(self, block: Mapping[str, str], path: JsonPath) -> Mapping[str, str]:
        """Fill in an `env` block or headers."""
        filled = {name: self.secret(raw, (*path, name)) for name, raw in block.items()}
        return MappingProxyType(filled)

    def variables(self, wanted: Iterable[str], path: JsonPath) -> Mapping[str, str]:
        """Give the values of the variables that a list names."""
        filled = {
            name: self.text(f"${{{name}}}", (*path, index)) for index, name in enumerate(wanted)
        }
        return MappingProxyType(filled)

    def command(self, raw: str, path: JsonPath) -> str:
        """Fill in a command; `~/` is the home folder."""
        lost = len(self._missing)
        text = self.text(self._at_home(raw), path)
        if len(self._missing) == lost:
            self.complain(raw, names.not_empty(text), path)
        return text

    def paths(self, raws: Sequence[str], path: JsonPath) -> tuple[Path, ...]:
        """Make paths real."""
        return tuple(self._path(raw, (*path, index)) for index, raw in enumerate(raws))

    def complain(self, raw: str, found: Complaint | None, path: JsonPath) -> None:
        """Blame the server for a wrong value that was filled in, else the file."""
        if found is None:
            return
        error = InvalidValueError(found.fact, self._spot(path), hint=found.hint)
        (self._problems if "${" in raw else self.file_errors).append(error)

    def _path(self, raw: str, path: JsonPath) -> Path:
        lost = len(self._missing)
        text = self.text(self._at_home(raw), path)
        if len(self._missing) > lost:
            return self._workspace
        written = Path(os.path.normpath(self._workspace / text))
        real = Path(os.path.realpath(written))
        if text.startswith("~"):
            hint = "`~/` is your home folder; write others in full"
            self.complain(raw, Complaint("another user's home folder is not known", hint), path)
        elif self._passes_through(written) and not real.is_relative_to(self._workspace):
            # servers may write the workspace: a link planted there must not widen a grant
            hint = "write the path that it leads to"
            self.complain(raw, Complaint("a link leads out of the workspace", hint), path)
        return real

    def _passes_through(self, path: Path) -> bool:
        """Tell whether a path leads by the workspace, under whatever name it is written."""
        above = (Path(os.path.realpath(folder)) for folder in (path, *path.parents))
        return any(folder.is_relative_to(self._workspace) for folder in above)

    def _at_home(self, raw: str) -> str:
        is_home = raw == "~" or raw.startswith("~/")
        return f"{escape(str(self._home))}{raw[1:]}" if is_home else raw

    def _miss(self, missing: Missing, path: JsonPath) -> None:
        where = ("env", missing.through) if missing.through else path
        self._missing.append(MissingVariable(missing.name, missing.reason, self._spot(where)))

    def _spot(self, path: JsonPath) -> Spot:
        return self._document.spot(self._document.written(path))


def build_server(shape: ServerShape, at: JsonPath, fill: Filler) -> ServerConfig | PrivateMcp:
    """Give the server; only good if the filler then has no problem."""
    name = str(at[-1])
    match shape:
        case HttpShape():
            server: ServerConfig = _http(name, shape, at, fill)
        case PrivateStdioShape():
            server = _private_stdio(name, shape, at, fill)
        case StdioShape():
            server = _stdio(name, shape, at, fill)
    if isinstance(shape, PrivateStdioShape | PrivateHttpShape):
        for index, tool in enumerate(shape.tools):
            if tool.partition(":")[0] != name:
                fact = Complaint(f"a tool of this server begins with `{name}:`")
                fill.complain("", fact, (*at, "tools", index))
        return PrivateMcp(server, tuple(shape.tools), shape.description)
    return server


def _http(name: str, shape: HttpShape, at: JsonPath, fill: Filler) -> HttpServerConfig:
    url = fill.text(shape.url, (*at, "url"))
    headers = fill.secrets(shape.headers, (*at, "headers"))
    # of an incomplete text nothing more is said than what is missing
    if fill.problem(name) is None:
        fill.complain(shape.url, names.url(url, needs_tls=False), (*at, "url"))
        for header, value in headers.items():
            raw, path = shape.headers[header], (*at, "headers", header)
            fill.complain(raw, names.header_value(value), path)
    return HttpServerConfig(name, url, headers)


def _stdio(name: str, shape: StdioShape, at: JsonPath, fill: Filler) -> StdioServerConfig:
    return StdioServerConfig(
        name,
        fill.command(shape.command, (*at, "command")),
        tuple(fill.text(raw, (*at, "args", i)) for i, raw in enumerate(shape.args)),
        fill.secrets(shape.env, (*at, "env")),
        _sandbox(shape.sandbox, (*at, "sandbox"), fill),
        fill.variables(shape.sandbox.env, (*at, "sandbox", "env")),
    )


def _private_stdio(
    name: str, shape: PrivateStdioShape, at: JsonPath, fill: Filler
) -> StdioServerConfig:
    install = shape.install
    required = fill.variables(install.env_required, (*at, "install", "envRequired"))
    return StdioServerConfig(
        name,
        fill.command(install.command, (*at, "install", "command")),
        tuple(fill.text(raw, (*at, "install", "args", i)) for i, raw in enumerate(install.args)),
        MappingProxyType({**required, **fill.secrets(shape.env, (*at, "env"))}),
        _sandbox(shape.sandbox, (*at, "sandbox"), fill),
        fill.variables(shape.sandbox.env, (*at, "sandbox", "env")),
    )


def _sandbox(shape: SandboxShape, at: JsonPath, fill: Filler) -> SandboxConfig:
    limits = shape.limits
    net = shape.net
    return SandboxConfig(
        mode=shape.mode,
        require=shape.require,
        fs_read=fill.paths(shape.fs_read, (*at, "fsRead")),
        fs_write=fill.paths(shape.fs_write, (*at, "fsWrite")),
        net=net if isinstance(net, bool) else tuple(host.lower() for host in net),
        env=tuple(shape.env),
        spawn=shape.spawn,
        limits=SandboxLimits(limits.memory_mb, limits.procs, limits.open_files),
    )
