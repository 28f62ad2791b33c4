"""From the bytes of a file to values: read, check, build. Collects all errors, then raises.

Touches the file system only to make paths real. Above: `loading.py`, which reads the files.
"""

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from pml.config import expansion
from pml.config.building import Filler, build_server
from pml.config.checking import check, nulls
from pml.config.errors import (
    ConfigError,
    ConfigNotTextError,
    InvalidValueError,
    WrongTypeError,
    as_one,
)
from pml.config.reader import Document, Lines, Node, read_json
from pml.config.servers import ServerShape, check_servers, collisions
from pml.config.shapes import CloudShape, FileShape, Shape, UserShape, chosen_builtins
from pml.config.spots import JsonPath, Spot
from pml.config.values import (
    Approvals,
    CloudConfig,
    Config,
    LimitsConfig,
    Permissions,
    PrivateMcp,
    ServerConfig,
)

_MARK = b"\xef\xbb\xbf"
_SCHEMA = "$schema"

S = TypeVar("S", bound=Shape)


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """What a file is read in."""

    workspace: Path
    """Real."""

    environ: Mapping[str, str]
    home: Path
    approvals: Approvals = "human"
    """What the user's own file says."""


def parse_approvals(content: bytes, file: Path) -> Approvals:
    """Read the user's own file; raise all that is wrong with it."""
    document, errors = _read(content, file)
    shape = _checked(document, UserShape, errors)
    if errors or shape is None:
        raise _in_order(errors)
    return shape.approvals


def parse_config(content: bytes, file: Path, around: Surroundings) -> Config:
    """Read `.pml.json`; raise all that is wrong with it."""
    document, errors = _read(content, file)
    shape = _checked(document, FileShape, errors)
    servers = []
    for at, checked in check_servers(document):
        if isinstance(checked, list):
            errors += checked
        else:
            servers.append((at, checked))
    errors += collisions(document)
    if errors or shape is None:
        raise _in_order(errors)
    return _Building(document, shape, around).config(servers, file)


class _Building:
    """The making of one configuration, from a file in which everything has its shape."""

    def __init__(self, document: Document, shape: FileShape, around: Surroundings) -> None:
        self._document = document
        self._shape = shape
        self._home = around.home
        self._approvals = around.approvals
        self._errors: list[ConfigError] = []
        self._narrowed = self._workspace(around.workspace)
        self._folder = self._narrowed or around.workspace
        below = expansion.environment(around.environ, str(self._folder))
        self._look_up = expansion.overlaid(shape.env, below)
        self._unusable: dict[str, ConfigError] = {}

    def config(self, servers: Iterable[tuple[JsonPath, ServerShape]], file: Path) -> Config:
        built = [self._server(at, shape) for at, shape in servers]
        cloud = self._cloud(self._shape.cloud) if self._shape.cloud else None
        if self._errors:
            raise _in_order(self._errors)
        shape = self._shape
        return Config(
            path=file,
            version=shape.version,
            workspace=self._narrowed,
            cloud=cloud,
            permissions=self._permissions(),
            servers=tuple(one for one in built if isinstance(one, ServerConfig)),
            private_mcps=tuple(one for one in built if isinstance(one, PrivateMcp)),
            registries=tuple(shape.registries),
            env=self._found(self._shape.env),
            limits=LimitsConfig(**shape.limits.model_dump(exclude_none=True)),
            expose=tuple(shape.expose),
            builtins=chosen_builtins(shape.builtins),
            approvals=shape.approvals or self._approvals,
            require=shape.sandbox.require,
            unusable=MappingProxyType(self._unusable),
        )

    def _permissions(self) -> Permissions:
        lists = self._shape.permissions.model_dump()
        places: dict[tuple[str, str], Spot] = {}
        for key, rules in lists.items():
            for index, rule in enumerate(rules):
                places.setdefault((key, rule), self._document.spot(("permissions", key, index)))
        chosen = {key: tuple(rules) for key, rules in lists.items()}
        return Permissions(**chosen, places=MappingProxyType(places))

    def _server(self, at: JsonPath, shape: ServerShape) -> ServerConfig | PrivateMcp | None:
        fill = self._filler()
        server = build_server(shape, at, fill)
        self._errors += fill.file_errors
        problem = fill.problem(f"server `{at[-1]}`")
        if problem is None:
            return server
        self._unusable[str(at[-1])] = problem
        return None

    def _cloud(self, shape: CloudShape) -> CloudConfig:
        fill = self._filler()
        key = fill.secret(shape.api_key, ("cloud", "apiKey")) if shape.api_key else None
        problem = fill.problem("the cloud")
        return CloudConfig(shape.url, None if problem else key, problem, self._found(shape.keys))

    def _found(self, names: Iterable[str]) -> Mapping[str, str]:
        values = {name: self._look_up(name) for name in names}
        return MappingProxyType({n: v for n, v in values.items() if isinstance(v, str)})

    def _workspace(self, folder: Path) -> Path | None:
        """Give the folder that the file narrows the workspace to: never a wider one."""
        written = self._shape.workspace
        if written is None:
            return None
        real = Path(os.path.realpath(folder / written))
        fact = None
        if not real.is_relative_to(folder):
            fact = "not the folder of this file, nor one in it"
        elif not real.is_dir():
            fact = "no such folder"
        if fact:
            spot = self._document.spot(("workspace",))
            hint = 'write ".", or a folder in it; PML_WORKSPACE chooses another project'
            self._errors.append(InvalidValueError(fact, spot, hint=hint))
        return real

    def _filler(self) -> Filler:
        return Filler(self._document, self._look_up, self._folder, self._home)


def _read(content: bytes, file: Path) -> tuple[Document, list[ConfigError]]:
    document = read_json(_text(content, file), file)
    errors = [*document.errors, *nulls(document)]
    if document.root is None:
        raise _in_order(errors)
    return _without_schema(document, errors), errors


def _text(content: bytes, file: Path) -> str:
    if content.startswith(_MARK):
        raise ConfigNotTextError(Lines("", file).spot(0), has_mark=True)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        good = content[: error.start].decode()
        raise ConfigNotTextError(Lines(good, file).spot(len(good)), has_mark=False) from None


def _without_schema(document: Document, errors: list[ConfigError]) -> Document:
    """Leave out `$schema`, which is for editors."""
    root = document.root
    if root is None or not isinstance(root.value, dict) or _SCHEMA not in root.value:
        return document
    if not isinstance(root.value[_SCHEMA], str):
        errors.append(WrongTypeError(document.spot((_SCHEMA,)), "a string", "this"))
    value = {key: value for key, value in root.value.items() if key != _SCHEMA}
    return dataclasses.replace(document, root=Node(root.start, value, root.members))


def _checked(document: Document, shape: type[S], errors: list[ConfigError]) -> S | None:
    checked = check(document, (), shape)
    if isinstance(checked, list):
        errors += checked
        return None
    return checked


def _in_order(errors: Sequence[ConfigError]) -> ConfigError:
    """Give what there is as one, in the order of the file, one error for each place."""
    first: dict[tuple[int, int], ConfigError] = {}
    for error in errors:
        first.setdefault((error.line or 0, error.column or 0), error)
    return as_one([first[place] for place in sorted(first)])
