"""What a registry says of what it serves, read and checked: strings in, frozen values out.

Three kinds: `deno` is code for our sandbox, `stdio` a package to install, `http` a remote server.
Code says what it is in its first comment (`// __meta__: {...}`), so its hash covers that too; of a
package the hash is that of its tree, of a remote server that of the description. snake_case and
camelCase are read, `local`/`cloud` as routing, `cloud` as a kind. What is said is a registry's
word and stays untrusted: names and hashes are checked here, the rest is capped.
"""

import dataclasses
import enum
import json
import re
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

import pydantic
from pydantic import AfterValidator, AliasChoices, Field, StringConstraints

from pml.errors import PmlError
from pml.fqdn import Fqdn, checked_integrity, integrity_of, split_tool_id
from pml.loader.errors import MetadataInvalidError, WrongNameError
from pml.loader.lockfile.errors import IntegrityError
from pml.routing import Routing

MOST_METADATA_BYTES = 256 << 10
"""As JSON; a schema of a hundred parameters has 30 KiB."""

MOST_DEPTH = 64
"""Of objects and lists within each other, as of a tool's definition: writers of JSON have a stack,
and whoever writes it later has less of it left."""

_MOST_LISTED = 256  # tools, dependencies, variables
_OUTSIDE = frozenset({"fqdn", "integrity"})  # not part of what is hashed: they tell the hash
_META = re.compile(r"^[ \t]*//[ \t]*__meta__:[ \t]*(\{.*\})[ \t]*\r?$", re.MULTILINE)


class McpType(enum.StrEnum):
    """How it is delivered."""

    DENO = "deno"
    """TypeScript, which runs in the sandbox."""

    STDIO = "stdio"
    """A package, which is installed and started."""

    HTTP = "http"
    """A server elsewhere."""


@dataclasses.dataclass(frozen=True, slots=True)
class Dependency:
    """An MCP server that a capability calls."""

    name: str
    install: tuple[str, ...]
    """Command and arguments; never a line for a shell."""

    version: str
    integrity: str
    env_required: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Install:
    """How a server is installed and started."""

    command: str
    args: tuple[str, ...] = ()
    env_required: tuple[str, ...] = ()
    version: str | None = None
    integrity: str | None = None
    """Of the installed package's tree."""


@dataclasses.dataclass(frozen=True, slots=True)
class Metadata:
    """One version of something that a registry serves."""

    fqdn: Fqdn
    """With its hash."""

    type: McpType
    routing: Routing
    integrity: str
    """Of the code, of the package's tree, or of this very description: by `type`."""

    description: str = ""
    tools: tuple[str, ...] = ()
    """What it offers, by tool id."""

    tools_used: tuple[str, ...] = ()
    """What its code calls, as far as the registry knows."""

    parameters_schema: Mapping[str, Any] | None = None
    definitions: tuple[Mapping[str, Any], ...] = ()
    """Its tools as a server would list them, if it offers several."""

    mcp_deps: tuple[Dependency, ...] = ()
    install: Install | None = None
    proxy_to: str | None = None
    env_required: tuple[str, ...] = ()
    digest: str = ""
    """Of the description, where that is not the content: a pin compares both."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Name the variables that it needs itself, without those of its dependencies."""
        own = self.install.env_required if self.install else ()
        return tuple(dict.fromkeys((*self.env_required, *own)))

    def offered(self) -> tuple[Mapping[str, Any], ...]:
        """Give its tools as a server would list them, whether it defines them or not."""
        known = {one["name"]: one for one in self.definitions if isinstance(one.get("name"), str)}
        names = [split_tool_id(tool)[1] for tool in self.tools] or [self.fqdn.action]
        schema = dict(self.parameters_schema or {"type": "object"})
        return tuple(
            known.get(name)
            or {"name": name, "description": self.description, "inputSchema": schema}
            for name in dict.fromkeys(names)
        )


def _tool_id(text: str) -> str:
    split_tool_id(text)
    return text


def _names(*spellings: str) -> Any:
    """Read a member under each of its spellings."""
    return Field(default=(), validation_alias=AliasChoices(*spellings), max_length=_MOST_LISTED)


_Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
_Integrity = Annotated[str, AfterValidator(checked_integrity)]
_ToolId = Annotated[str, AfterValidator(_tool_id)]
_Word = Annotated[str, StringConstraints(min_length=1, max_length=1000)]


class _Shape(pydantic.BaseModel):
    """Unknown members are a newer registry's, and no concern of ours."""

    model_config = pydantic.ConfigDict(strict=True, extra="ignore", frozen=True)


class _DependencyShape(_Shape):
    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    install: _Word | list[_Word]
    version: _Word
    integrity: _Integrity
    env_required: list[_Variable] = _names("env_required", "envRequired")


class _InstallShape(_Shape):
    command: _Word
    args: list[str] = _names("args")
    env_required: list[_Variable] = _names("env_required", "envRequired")
    version: _Word | None = None
    integrity: _Integrity | None = None


class _MetadataShape(_Shape):
    fqdn: str
    type: str
    routing: str
    integrity: _Integrity
    description: Annotated[str, StringConstraints(max_length=10_000)] = ""
    tools: list[_ToolId] = _names("tools")
    tools_used: list[_ToolId] = _names("tools_used", "toolsUsed")
    parameters_schema: dict[str, Any] | None = Field(
        default=None, validation_alias=AliasChoices("parameters_schema", "parametersSchema")
    )
    definitions: list[dict[str, Any]] = _names("definitions")
    mcp_deps: list[_DependencyShape] = _names("mcp_deps", "mcpDeps")
    install: _InstallShape | None = None
    proxy_to: _Word | None = Field(
        default=None, validation_alias=AliasChoices("proxy_to", "proxyTo")
    )
    env_required: list[_Variable] = _names("env_required", "envRequired")


def read_metadata(body: bytes, asked: Fqdn) -> Metadata:
    """Read a description and check that it is about what was asked for.

    Raises `MetadataInvalidError`, `WrongNameError`, or `IntegrityError` for a hash that does not
    fit the name or, of a remote server, the description.
    """
    facts = _facts(body, asked)
    found = _read(facts, asked)
    digest = description_integrity(facts)
    if found.type is McpType.HTTP and found.integrity != digest:
        raise IntegrityError(found.fqdn, found.integrity, digest, reason="its description")
    return dataclasses.replace(found, digest=digest) if found.type is McpType.STDIO else found


def metadata_of_code(
    content: bytes, asked: Fqdn, said: Mapping[str, Any] = MappingProxyType({})
) -> Metadata:
    """Read what code says of itself in its first comment; the hash is that of the code.

    `said` is what is known besides and counts where the code is silent. Raises as `read_metadata`.
    """
    integrity = integrity_of(content)
    found = _META.search(content.decode(errors="replace"))
    told = {} if found is None else _facts(found[1].encode(), asked)
    own = told.get("fqdn")
    if own is not None and own not in (asked.base, str(asked)):
        raise WrongNameError(str(asked), str(own))
    name = asked if asked.hash else asked.with_hash(integrity.removeprefix("sha256-"))
    basis = {"routing": Routing.CLIENT.value, **said, **told}
    return _read({**basis, "fqdn": str(name), "type": "deno", "integrity": integrity}, asked)


def description_integrity(facts: Mapping[str, Any]) -> str:
    """Give the hash of a description: of all its members but the name and the hash itself.

    Canonical JSON: members in order of their names, no spaces, UTF-8.
    """
    told = {name: value for name, value in facts.items() if name not in _OUTSIDE}
    return integrity_of(
        json.dumps(told, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode(
            errors="surrogatepass"
        )
    )


def _read(facts: Mapping[str, Any], asked: Fqdn) -> Metadata:
    try:
        shape = _MetadataShape.model_validate(facts)
        found = _built(shape, Fqdn.parse(shape.fqdn))
    except pydantic.ValidationError as error:
        raise MetadataInvalidError(str(asked), _first(error)) from None
    except PmlError as error:
        raise MetadataInvalidError(str(asked), error.message) from None
    except ValueError:
        raise MetadataInvalidError(str(asked), "`type` or `install` means nothing") from None
    _check(found, asked)
    return found


def _facts(body: bytes, asked: Fqdn) -> dict[str, Any]:
    if len(body) > MOST_METADATA_BYTES:
        what = f"it is larger than {MOST_METADATA_BYTES >> 10} KiB"
        raise MetadataInvalidError(str(asked), what)
    try:
        facts = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise MetadataInvalidError(str(asked), "it is not JSON") from None
    if not isinstance(facts, dict):
        raise MetadataInvalidError(str(asked), "it is not an object")
    if (reason := unfit(facts)) is not None:
        raise MetadataInvalidError(str(asked), reason)
    return facts


def unfit(facts: Mapping[str, Any]) -> str | None:
    """Say what keeps JSON that was read from being written again, if anything does."""
    if _is_deep(facts):
        return f"it is nested more than {MOST_DEPTH} deep"
    try:
        json.dumps(facts, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        return "it has half of a surrogate pair, which is no character"
    except ValueError:
        return "it has a number that is not finite"
    return None


def _is_deep(value: object) -> bool:
    """Say whether it is nested too deep, level by level: it must not use up the stack itself."""
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        inner: list[object] = []
        for one in level:
            if isinstance(one, dict | list):
                inner += one.values() if isinstance(one, dict) else one
        if not inner:
            return False
        level = inner
    return True


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _built(shape: _MetadataShape, name: Fqdn) -> Metadata:
    kind = McpType.HTTP if shape.type == "cloud" else McpType(shape.type)
    schema = shape.parameters_schema
    return Metadata(
        name if name.hash else name.with_hash(shape.integrity.removeprefix("sha256-")),
        kind,
        Routing.read(shape.routing),
        shape.integrity,
        shape.description,
        tuple(shape.tools),
        tuple(shape.tools_used),
        None if schema is None else MappingProxyType(schema),
        tuple(MappingProxyType(one) for one in shape.definitions),
        tuple(_dependency(one) for one in shape.mcp_deps),
        _install(shape.install),
        shape.proxy_to,
        tuple(shape.env_required),
    )


def _dependency(shape: _DependencyShape) -> Dependency:
    words = shape.install if isinstance(shape.install, list) else shlex.split(shape.install)
    env = tuple(shape.env_required)
    return Dependency(shape.name, tuple(words), shape.version, shape.integrity, env)


def _install(shape: _InstallShape | None) -> Install | None:
    if shape is None:
        return None
    env = tuple(shape.env_required)
    return Install(shape.command, tuple(shape.args), env, shape.version, shape.integrity)


def _check(found: Metadata, asked: Fqdn) -> None:
    """Refuse a description of something else, or one whose hashes contradict each other."""
    if found.fqdn.base != asked.base or asked.hash not in (None, found.fqdn.hash):
        raise WrongNameError(str(asked), str(found.fqdn))
    if not found.fqdn.fits(found.integrity):
        wanted = f"sha256-{found.fqdn.hash}..."
        raise IntegrityError(found.fqdn, wanted, found.integrity, reason="its name has another")
    for tool in found.tools:
        if split_tool_id(tool)[0] != found.fqdn.namespace:
            raise MetadataInvalidError(str(asked), f"`{tool}` is in another namespace")
    if found.type is McpType.STDIO and found.install is None:
        raise MetadataInvalidError(str(asked), "a `stdio` server needs `install`")
    if found.type is McpType.HTTP and found.proxy_to is None:
        raise MetadataInvalidError(str(asked), "an `http` server needs `proxyTo`")


_PLACE = re.compile(r"[A-Za-z0-9_.]+")


def _first(error: pydantic.ValidationError) -> str:
    """Say where and what the first mistake is; never the value."""
    found = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in found["loc"] if _PLACE.fullmatch(str(part)))
    return f"`{where}`: {found['msg']}"
