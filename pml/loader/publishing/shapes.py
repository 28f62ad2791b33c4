"""The shape of metadata as people write it, in camelCase or snake_case; checked by pydantic.

Unknown fields are refused: a misspelt one would be lost in silence. What a field means is decided
in `reading`.
"""

from typing import Annotated, Any, Literal

import pydantic
from pydantic.alias_generators import to_camel

_Text = Annotated[str, pydantic.StringConstraints(min_length=1, max_length=2000)]
_Name = Annotated[str, pydantic.StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")]
_ToolId = Annotated[
    str, pydantic.StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}:[A-Za-z0-9_./-]{1,128}$")
]
_Integrity = Annotated[str, pydantic.StringConstraints(pattern=r"^sha256-[0-9a-f]{64}$")]

MOST_TOOLS = 500
"""Of one entry; the largest real server known to us lists 311."""


class Shape(pydantic.BaseModel):
    """Reads both spellings, writes camelCase."""

    model_config = pydantic.ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True
    )


class InstallShape(Shape):
    """How a package is started; the installer resolves and pins it."""

    command: _Text
    args: list[_Text] = []
    env_required: list[_Name] | None = None


class DependencyShape(Shape):
    """An MCP server that a capability calls."""

    name: _Text
    type: Literal["stdio"] = "stdio"
    install: _Text
    version: _Text
    integrity: _Integrity
    env_required: list[_Name] | None = None


class DefinitionShape(Shape):
    """A tool as it is listed to clients."""

    model_config = pydantic.ConfigDict(extra="allow")

    name: _Text
    description: str = ""
    inputSchema: dict[str, Any]  # noqa: N815 - MCP's own spelling


class MetadataShape(Shape):
    """What is said of an MCP, whatever its type."""

    fqdn: _Text | None = None
    integrity: _Integrity | None = None
    type: Literal["deno", "stdio", "http", "cloud"]
    description: Annotated[str, pydantic.StringConstraints(max_length=2000)] = ""
    routing: Literal["client", "server", "local", "cloud"] | None = None
    tools: Annotated[list[_ToolId], pydantic.Field(max_length=MOST_TOOLS)] = []
    warnings: dict[str, Any] | None = None
    parameters_schema: dict[str, Any] | None = None
    mcp_deps: list[DependencyShape] | None = None
    install: InstallShape | None = None
    proxy_to: _Text | None = None
    headers: dict[_Text, _Text] | None = None
    env_required: list[_Name] | None = None
    definitions: Annotated[list[DefinitionShape], pydantic.Field(max_length=MOST_TOOLS)] | None = (
        None
    )
