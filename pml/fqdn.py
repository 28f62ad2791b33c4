"""Names of what a registry serves, and hashes of content. Pure: text and bytes in, values out.

    registry   org.project.namespace.action.hash    pml.std.filesystem.read_file.b2c4
    tool id    namespace:action                     filesystem:read_file
    code       mcp.namespace.action                 mcp.filesystem.read_file

The hash in a name is the first 4 hex of the sha256 of the real content: it tells versions apart
for a reader and proves nothing. What is verified is the whole, written `sha256-` and 64 hex.
Without it a name means the current version. Knows no registry, no file and no policy.

    NamingError (PmlError)
    ├── FqdnInvalidError          fqdn_invalid: no name of a registry
    ├── ToolNameInvalidError      tool_name_invalid: no tool id, or no name in code
    └── IntegrityInvalidError     integrity_invalid: no hash in the form that is used everywhere
"""

import dataclasses
import hashlib
import re
from typing import Self

from pml.errors import PmlError
from sandbox_host.errors import printable

HASH_CHARACTERS = 4
"""Of the sha256, in a name."""

STANDARD = ("pml", "std")
"""Organisation and project of what comes with PML."""

SERVERS = ("pml", "mcp")
"""Organisation and project of MCP servers."""

SERVER_ACTION = "server"
"""In place of an action, where a name means a whole server: `pml.mcp.serena.server`."""

_PREFIX = "sha256-"
_PARTS = 4
_SHOWN_CHARACTERS = 120  # of a text that is no name
_PART = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ACTION = re.compile(r"[A-Za-z0-9_-]{1,128}")
_HASH = re.compile(r"[0-9a-f]{4}")
_STATED = re.compile(r"[A-Za-z0-9]{1,64}")
_INTEGRITY = re.compile(r"sha256-[0-9a-f]{64}")
_TOOL_ID = re.compile(r"(?P<server>[A-Za-z0-9_-]{1,64}):(?P<tool>[A-Za-z0-9_./-]{1,128})")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CODE = re.compile(
    r"mcp(?:\.(?P<server>[A-Za-z_]\w*)|\[\"(?P<server_text>[A-Za-z0-9_-]+)\"\])"
    r"(?:\.(?P<tool>[A-Za-z_]\w*)|\[\"(?P<tool_text>[A-Za-z0-9_./-]+)\"\])(?:\(\))?",
    re.ASCII,
)


class NamingError(PmlError):
    """A text is not the name that it should be."""

    code = "naming"


class FqdnInvalidError(NamingError):
    """A text is no name of a registry."""

    code = "fqdn_invalid"

    def __init__(self, text: str, reason: str) -> None:
        """Name the text and what is wrong with it."""
        super().__init__(
            f"`{printable(text, _SHOWN_CHARACTERS)}` is no name in a registry: {reason}",
            hint="org.project.namespace.action, then perhaps a dot and 4 hex of its hash",
        )


class ToolNameInvalidError(NamingError):
    """A text names no tool."""

    code = "tool_name_invalid"

    def __init__(self, text: str) -> None:
        """Name the text."""
        super().__init__(
            f"`{printable(text, _SHOWN_CHARACTERS)}` names no tool",
            hint="`server:tool` in configuration, `mcp.server.tool` in code",
        )


class IntegrityInvalidError(NamingError):
    """A text is no hash that we use."""

    code = "integrity_invalid"

    def __init__(self, text: str) -> None:
        """Name the text."""
        super().__init__(
            f"`{printable(text, _SHOWN_CHARACTERS)}` is no hash of content",
            hint="`sha256-` and 64 hexadecimal digits in lower case",
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Fqdn:
    """A name in a registry. Every one that exists is well-formed."""

    org: str
    project: str
    namespace: str
    action: str
    hash: str | None = None
    """The first 4 hex of the content's sha256; None means the current version."""

    def __post_init__(self) -> None:
        """Raise `FqdnInvalidError` unless all parts can be parts of a name."""
        reason = _complaint(self)
        if reason is not None:
            raise FqdnInvalidError(str(self), reason)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a name of 4 or 5 parts; raises `FqdnInvalidError`."""
        parts = _parts(text)
        return cls(*parts)

    @classmethod
    def split(cls, text: str) -> tuple[Self, str | None]:
        """Read what a stranger asks for: the name without a hash, and what stands in its place.

        That need not be the hash of anything, nor hex: whoever serves answers what is current.
        Raises `FqdnInvalidError`.
        """
        parts = _parts(text)
        stated = parts[_PARTS] if len(parts) > _PARTS else None
        if stated is not None and not _STATED.fullmatch(stated):
            raise FqdnInvalidError(text, "a hash is letters and digits")
        return cls(*parts[:_PARTS]), stated

    @classmethod
    def of_standard(cls, module: str, tool: str) -> Self:
        """Give the name of a built-in capability: `pml.std.module.tool`."""
        return cls(*STANDARD, module, tool)

    @classmethod
    def of_server(cls, server: str) -> Self:
        """Give the name of a whole MCP server: `pml.mcp.server.server`."""
        return cls(*SERVERS, server, SERVER_ACTION)

    @classmethod
    def of_tool(cls, tool_id: str, org: str, project: str) -> Self:
        """Give the name of a tool in somebody's project; raises a `NamingError`."""
        namespace, action = split_tool_id(tool_id)
        return cls(org, project, namespace, action)

    @property
    def base(self) -> str:
        """Give the name without its hash."""
        return f"{self.org}.{self.project}.{self.namespace}.{self.action}"

    @property
    def tool_id(self) -> str:
        """Give the name in configuration, permissions and messages."""
        return f"{self.namespace}:{self.action}"

    @property
    def code_name(self) -> str:
        """Give the name in programs."""
        return tool_id_to_code(self.tool_id)

    @property
    def is_server(self) -> bool:
        """Say whether it names a whole MCP server, whose tools have names of their own."""
        return (self.org, self.project, self.action) == (*SERVERS, SERVER_ACTION)

    def with_hash(self, sha256_hex: str) -> Self:
        """Give the name of one version, by the whole sha256 of its content."""
        return dataclasses.replace(self, hash=sha256_hex[:HASH_CHARACTERS])

    def without_hash(self) -> Self:
        """Give the name of the current version."""
        return dataclasses.replace(self, hash=None)

    def fits(self, integrity: str) -> bool:
        """Say whether content of this integrity may have this name."""
        return self.hash is None or self.hash == short_hash(integrity)

    def __str__(self) -> str:
        """Give the whole name."""
        return self.base if self.hash is None else f"{self.base}.{self.hash}"


def content_hash(content: bytes) -> str:
    """Give the whole sha256 of content, as hex."""
    return hashlib.sha256(content).hexdigest()


def integrity_of(content: bytes) -> str:
    """Give the hash of content in the form that is stored and compared everywhere."""
    return f"{_PREFIX}{content_hash(content)}"


def checked_integrity(text: str) -> str:
    """Give the text if it is `sha256-` and 64 hex; raises `IntegrityInvalidError`."""
    if not _INTEGRITY.fullmatch(text):
        raise IntegrityInvalidError(text)
    return text


def short_hash(integrity: str) -> str:
    """Give the 4 hex that stand in a name, of `sha256-` and 64 hex."""
    return checked_integrity(integrity).removeprefix(_PREFIX)[:HASH_CHARACTERS]


def split_tool_id(tool_id: str) -> tuple[str, str]:
    """Give server and tool of `server:tool`; raises `ToolNameInvalidError`."""
    found = _TOOL_ID.fullmatch(tool_id)
    if found is None:
        raise ToolNameInvalidError(tool_id)
    return found["server"], found["tool"]


def tool_id_to_code(tool_id: str) -> str:
    """Give `mcp.server.tool`, with `["my-server"]` where JavaScript needs it."""
    server, tool = split_tool_id(tool_id)
    return f"mcp{_member(server)}{_member(tool)}"


def code_to_tool_id(code: str) -> str:
    """Give `server:tool` of `mcp.server.tool`, with or without `()`."""
    found = _CODE.fullmatch(code)
    if found is None:
        raise ToolNameInvalidError(code)
    server = found["server"] or found["server_text"]
    tool_id = f"{server}:{found['tool'] or found['tool_text']}"
    split_tool_id(tool_id)
    return tool_id


def _parts(text: str) -> list[str]:
    parts = text.split(".")
    if len(parts) not in (_PARTS, _PARTS + 1):
        raise FqdnInvalidError(text, f"it has {len(parts)} parts, and 4 or 5 are needed")
    return parts


def _complaint(name: Fqdn) -> str | None:
    for what in ("org", "project", "namespace"):
        if not _PART.fullmatch(getattr(name, what)):
            return f"the {what} is not 1 to 64 letters, digits, `_` and `-`"
    if "__" in name.namespace:
        return "the namespace has `__`, which separates server and tool for clients"
    if not _ACTION.fullmatch(name.action):
        return "the action is not 1 to 128 letters, digits, `_` and `-`"
    if name.hash is not None and not _HASH.fullmatch(name.hash):
        return "the hash is not 4 hexadecimal digits in lower case"
    return None


def _member(name: str) -> str:
    return f".{name}" if _IDENTIFIER.fullmatch(name) else f'["{name}"]'
