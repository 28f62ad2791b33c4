"""The shape of the files: which keys there are and what each may hold. The only use of pydantic.

Keys are read in camelCase and in snake_case. A server is checked by the shape that its `type`
chooses, so `mcpServers` and `privateMcps` hold anything here; see `checking.py`. Defaults that
mean something stand in `values.py`: what is None here was not said.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from pml.config import names
from pml.config.expansion import complaint
from pml.config.names import Complaint
from pml.config.values import Approvals, Require

COMPLAINT = "complaint"
"""The kind of our own errors; their `ctx` has `fact` and `hint`."""

_VERSION = 1
_DAY = 86_400


def _checked(*checks: Callable[[str], Complaint | None]) -> AfterValidator:
    def validate(text: str) -> str:
        for check in checks:
            found = check(text)
            if found is not None:
                raise PydanticCustomError(COMPLAINT, "{fact}", found._asdict())
        return text

    return AfterValidator(validate)


def _https(text: str) -> Complaint | None:
    return names.url(text, needs_tls=True)


def _this_version(number: int) -> int:
    if number != _VERSION:
        fact = Complaint("this PML reads version 1 of the file", 'write "version": 1')
        raise PydanticCustomError(COMPLAINT, "{fact}", fact._asdict())
    return number


def _only_human(who: Approvals) -> Approvals:
    if who == "model":
        fact = Complaint(
            "only your own file may say `model`: servers and programs can write this one",
            "write it into ~/.config/pml/config.json",
        )
        raise PydanticCustomError(COMPLAINT, "{fact}", fact._asdict())
    return who


def _choice_kind(value: Any) -> str | None:
    return "list" if isinstance(value, list) else "bool" if isinstance(value, bool) else None


Template = Annotated[str, _checked(names.no_nul, complaint)]
FilledTemplate = Annotated[str, _checked(names.not_empty, complaint)]
Variable = Annotated[str, _checked(names.variable_name)]
Header = Annotated[str, _checked(names.header_name)]
Host = Annotated[str, _checked(names.host)]
Address = Annotated[str, _checked(_https)]
Pattern = Annotated[str, _checked(names.pattern)]
ToolId = Annotated[str, _checked(names.tool_id)]
Seconds = Annotated[float, Field(gt=0, le=_DAY)]
Net = Annotated[
    Annotated[bool, Tag("bool")] | Annotated[list[Host], Tag("list")],
    Discriminator(
        _choice_kind,
        custom_error_type="needs",
        custom_error_message="true, false or a list of hosts",
    ),
]


Builtin = Annotated[str, _checked(names.builtin)]
Builtins = Annotated[
    Annotated[bool, Tag("bool")] | Annotated[list[Builtin], Tag("list")],
    Discriminator(
        _choice_kind,
        custom_error_type="needs",
        custom_error_message="true, false or a list of built-ins",
    ),
]


class Shape(BaseModel):
    """An object of the file: no unknown keys, no conversions."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        strict=True,
        validate_by_alias=True,
        validate_by_name=True,
    )


class CloudShape(Shape):
    """`cloud`."""

    url: Address
    api_key: Template | None = None
    keys: list[Variable] = []


class PermissionsShape(Shape):
    """`permissions`."""

    allow: list[Pattern] = []
    ask: list[Pattern] = []
    deny: list[Pattern] = []


class LimitsShape(Shape):
    """`limits`; what is not said has the default of `LimitsConfig`."""

    call_timeout_seconds: Seconds | None = None
    start_timeout_seconds: Seconds | None = None
    idle_seconds: Seconds | None = None
    wall_seconds: Seconds | None = None
    cpu_seconds: Seconds | None = None
    memory_mb: Annotated[int, Field(ge=4, le=4096)] | None = None  # what a guest can have


class RequireShape(Shape):
    """`sandbox` at the top."""

    require: Require = "landlock"


class SandboxLimitsShape(Shape):
    """`sandbox.limits` of a server."""

    memory_mb: Annotated[int, Field(ge=16, le=1 << 20)] | None = None
    procs: Annotated[int, Field(ge=1, le=1 << 16)] | None = None
    open_files: Annotated[int, Field(ge=16, le=1 << 20)] | None = None


class SandboxShape(Shape):
    """`sandbox` of a server."""

    mode: Literal["on", "off"] = "on"
    require: Require | None = None
    fs_read: list[FilledTemplate] = []
    fs_write: list[FilledTemplate] = []
    net: Net = False
    env: list[Variable] = []
    spawn: bool = False
    limits: SandboxLimitsShape = SandboxLimitsShape()


class StdioShape(Shape):
    """A local server in `mcpServers`."""

    type: Literal["stdio"] = "stdio"
    command: FilledTemplate
    args: list[Template] = []
    env: dict[Variable, Template] = {}
    sandbox: SandboxShape = SandboxShape()


class HttpShape(Shape):
    """A remote server in `mcpServers`."""

    type: Literal["http", "streamable-http", "streamableHttp"] = "http"
    url: FilledTemplate
    headers: dict[Header, Template] = {}


class InstallShape(Shape):
    """`install` of a private server, as a registry has it."""

    command: FilledTemplate
    args: list[Template] = []
    env_required: list[Variable] = []


class PrivateStdioShape(Shape):
    """A local server in `privateMcps`."""

    type: Literal["stdio"] = "stdio"
    description: str = ""
    install: InstallShape
    tools: list[ToolId] = []
    env: dict[Variable, Template] = {}
    sandbox: SandboxShape = SandboxShape()


class PrivateHttpShape(HttpShape):
    """A remote server in `privateMcps`."""

    description: str = ""
    tools: list[ToolId] = []


class FileShape(Shape):
    """`.pml.json`."""

    version: Annotated[int, AfterValidator(_this_version)] = _VERSION
    workspace: Annotated[str, _checked(names.not_empty)] | None = None
    cloud: CloudShape | None = None
    permissions: PermissionsShape = PermissionsShape()
    mcp_servers: dict[str, Any] = {}
    private_mcps: dict[str, Any] = {}
    registries: list[Address] = []
    env: dict[Variable, Template] = {}
    limits: LimitsShape = LimitsShape()
    expose: list[Pattern] = []
    builtins: Builtins | None = None
    approvals: Annotated[Approvals, AfterValidator(_only_human)] | None = None
    sandbox: RequireShape = RequireShape()


def chosen_builtins(given: bool | list[str] | None) -> tuple[str, ...] | None:
    """Give those that are switched on; None is all."""
    if isinstance(given, list):
        return tuple(name for name in names.BUILTINS if name in given)
    return () if given is False else None


class UserShape(Shape):
    """The user's own file."""

    version: Annotated[int, AfterValidator(_this_version)] = _VERSION
    approvals: Approvals = "human"
