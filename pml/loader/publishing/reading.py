"""From what somebody hands in to a `Publication`: the only maker of one. Pure.

Two forms. Code: TypeScript whose first comment says what it is, so that the hash covers that too.
Metadata: a JSON object. The hash of a remote server is that of its metadata, as clients compute
it; of a package it is that of the package's tree, which whoever publishes knows (`integrity`).

    // __meta__: {"fqdn": "acme.tools.text.shout", "description": "...", "routing": "server"}
    export function shout(args: {text: string}) { ... }
"""

import json
import re
from collections.abc import Mapping
from typing import Any

import pydantic

from pml.fqdn import Fqdn, NamingError, integrity_of
from pml.loader.metadata import McpType, description_integrity, unfit
from pml.loader.publishing.errors import PublicationInvalidError
from pml.loader.publishing.publication import Publication
from pml.loader.publishing.shapes import MetadataShape
from pml.routing import Routing
from pml.routing.resolver import CLIENT_NAMESPACES

BUILTIN = "json"
"""The built-in capability that needs nothing of anybody's machine."""

MOST_BYTES = 1 << 20
"""Of a publication: as much as the sandbox takes for a program."""

_META = re.compile(r"^[ \t]*//[ \t]*__meta__:[ \t]*(\{.*\})[ \t]*\r?$", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NEEDED = {McpType.STDIO: "install", McpType.HTTP: "proxyTo"}
_ALLOWED = {
    McpType.DENO: frozenset({"mcpDeps", "parametersSchema", "definitions", "envRequired"}),
    McpType.STDIO: frozenset({"install", "definitions", "envRequired"}),
    McpType.HTTP: frozenset({"proxyTo", "headers", "definitions", "envRequired"}),
}
_COMMON = frozenset({"type", "description", "routing", "tools", "warnings"})


def publication_of(name: str, content: bytes, base: str | None = None) -> Publication:
    """Read what a file holds, by its name: `.json` is the metadata of a server, else code."""
    read = metadata_publication if name.lower().endswith(".json") else code_publication
    return read(name, content, base)


def code_publication(name: str, content: bytes, base: str | None = None) -> Publication:
    """Read a capability; `name` is the file's, for messages, `base` the wanted FQDN."""
    text = _text(name, content)
    found = _META.search(text)
    if found is None or _is_late(text, found):
        raise PublicationInvalidError(
            name,
            "it does not begin with what it is",
            hint='first line: // __meta__: {"fqdn": "org.project.namespace.action"}',
        )
    said = {"type": "deno", **_object(name, found[1])}
    return _publication(name, said, base, content)


def metadata_publication(name: str, content: bytes, base: str | None = None) -> Publication:
    """Read the metadata of a server."""
    said = _object(name, _text(name, content))
    if said.get("type") == McpType.DENO:
        hint = "publish the code, with this in its first comment"
        raise PublicationInvalidError(name, "a capability is its code", hint=hint)
    return _publication(name, said, base, None)


def variables(text: str) -> list[str]:
    """Name the keys that stand in a header's value as `${NAME}`."""
    return _VARIABLE.findall(text)


def filled(text: str, keys: Mapping[str, str]) -> str:
    """Put keys in their places; the caller has looked that all are there."""
    return _VARIABLE.sub(lambda found: keys[found[1]], text)


def _publication(
    name: str, said: Mapping[str, Any], base: str | None, code: bytes | None
) -> Publication:
    shape = _checked(name, said)
    fqdn = _fqdn(name, shape.fqdn, base)
    kind = McpType.HTTP if shape.type == "cloud" else McpType(shape.type)
    default = Routing.SERVER if kind is McpType.HTTP else Routing.CLIENT
    routing = Routing.read(shape.routing) if shape.routing else default
    tools = tuple(shape.tools) or (fqdn.tool_id,)
    plain = shape.model_dump(by_alias=True, exclude_none=True, exclude={"fqdn", "integrity"})
    metadata = {**plain, "type": kind.value, "routing": routing.value, "tools": list(tools)}
    integrity = _integrity(kind, shape.integrity, metadata, code)
    reason = _fault(fqdn, kind, metadata) or _hash_fault(kind, shape.integrity, integrity)
    if reason is not None:
        raise PublicationInvalidError(name, reason)
    sha256 = integrity.removeprefix("sha256-")
    return Publication(
        fqdn, kind, routing, shape.description, tools, metadata, sha256, code or b""
    )


def _integrity(
    kind: McpType, said: str | None, metadata: Mapping[str, Any], code: bytes | None
) -> str:
    if kind is McpType.STDIO:
        return said or ""
    return description_integrity(metadata) if code is None else integrity_of(code)


def _hash_fault(kind: McpType, said: str | None, actual: str) -> str | None:
    if kind is McpType.STDIO:
        return None if said else "`integrity` must be the hash of the package's tree"
    return None if said in (None, actual) else f"its `integrity` should be {actual}"


def _fqdn(name: str, said: str | None, base: str | None) -> Fqdn:
    wanted = base or said
    if wanted is None:
        hint = 'say "fqdn": "org.project.namespace.action"'
        raise PublicationInvalidError(name, "it has no name in the registry", hint=hint)
    try:
        found, given = Fqdn.parse(wanted).without_hash(), Fqdn.parse(said or wanted).without_hash()
    except NamingError as error:
        raise PublicationInvalidError(name, error.message, hint=error.hint) from None
    if found != given:
        raise PublicationInvalidError(name, f"it says that it is {given}, not {found}")
    return found


def _fault(fqdn: Fqdn, kind: McpType, metadata: Mapping[str, Any]) -> str | None:
    """Say what no reader could use, if anything."""
    needed = _NEEDED.get(kind)
    if needed is not None and needed not in metadata:
        return f"type {kind} needs `{needed}`"
    strange = sorted(metadata.keys() - _COMMON - _ALLOWED[kind])
    if strange:
        return f"type {kind} has no `{strange[0]}`"
    if not all(c.isprintable() or c in "\n\t" for c in metadata["description"]):
        return "`description` has characters that nobody can see"
    elsewhere = [tool for tool in metadata["tools"] if tool.split(":")[0] != fqdn.namespace]
    if elsewhere:
        return f"`{elsewhere[0]}` is not in its namespace `{fqdn.namespace}`"
    return _routing_fault(fqdn, kind, metadata) or _header_fault(metadata)


def _routing_fault(fqdn: Fqdn, kind: McpType, metadata: Mapping[str, Any]) -> str | None:
    if metadata["routing"] != Routing.SERVER:
        return "type http runs at the cloud: routing server" if kind is McpType.HTTP else None
    if kind is McpType.STDIO:
        return "type stdio runs on the user's machine: routing client"
    if fqdn.namespace in CLIENT_NAMESPACES:
        return f"`{fqdn.namespace}` runs on the user's machine, never at the cloud"
    if fqdn.namespace == BUILTIN:
        return f"`{fqdn.namespace}` is built in"
    return None


def _header_fault(metadata: Mapping[str, Any]) -> str | None:
    known = set(metadata.get("envRequired", ()))
    for header, value in metadata.get("headers", {}).items():
        for wanted in variables(value):
            if wanted not in known:
                return f"header `{header}` uses {wanted}, which `envRequired` does not name"
    return None


def _checked(name: str, said: Mapping[str, Any]) -> MetadataShape:
    try:
        return MetadataShape.model_validate(dict(said))
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "metadata"
        raise PublicationInvalidError(name, f"`{place}`: {first['msg']}") from None


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise PublicationInvalidError(name, f"its metadata is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise PublicationInvalidError(name, "its metadata is not a JSON object")
    if (reason := unfit(value)) is not None:
        raise PublicationInvalidError(name, reason)
    return value


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _text(name: str, content: bytes) -> str:
    if len(content) > MOST_BYTES:
        raise PublicationInvalidError(name, f"it is larger than {MOST_BYTES >> 20} MiB")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        reason = f"it is not UTF-8 text at byte {error.start}"
        raise PublicationInvalidError(name, reason) from None


def _is_late(text: str, found: re.Match[str]) -> bool:
    """Say whether anything but comments and blank lines stands before."""
    before = (line.strip() for line in text[: found.start()].splitlines())
    return any(line and not line.startswith("//") for line in before)
