"""What names, patterns, hosts and addresses may look like. Pure: text in, a complaint out.

No complaint repeats the text: what was meant as a name may be a key in the wrong place.
"""

import re
from typing import NamedTuple
from urllib.parse import urlsplit

RESERVED = {
    "pml": "it is the name of PML's own tools",
    "std": "it is the name of the built-in capabilities",
    "mcp": "it is the object that programs call servers on",
}
"""Names that no server may have, and why."""

BUILTINS = (
    "filesystem", "json", "text", "csv", "math", "datetime", "crypto", "diff", "shell",
)  # fmt: skip
"""What comes with PML; a configured server of the same name goes before."""

WIRE_SEPARATOR = "__"
"""Between server and tool in the names that clients see."""

_SERVER = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TOOL = re.compile(r"[A-Za-z0-9_./-]{1,128}")
_PATTERN_SERVER = re.compile(r"[A-Za-z0-9_*?-]{1,64}")
_PATTERN_TOOL = re.compile(r"[A-Za-z0-9_./*?-]{1,128}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a `token` of RFC 9110
_HOST = re.compile(
    r"(?=.{1,253}(?::|$))[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*"
    r"(:(?P<port>[0-9]{1,5}))?"
)
_MOST_PORT = 65535
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Complaint(NamedTuple):
    """What is wrong, and what to do."""

    fact: str
    hint: str | None = None


def server_name(text: str) -> Complaint | None:
    """Check the name of a server."""
    if not _SERVER.fullmatch(text):
        return Complaint("a server's name is 1 to 64 letters, digits, `_` and `-`")
    if WIRE_SEPARATOR in text:
        return Complaint("a server's name has no `__`: clients see its tools as `server__tool`")
    if text.lower() in RESERVED:
        return Complaint(f"this name is reserved: {RESERVED[text.lower()]}")
    return None


def tool_id(text: str) -> Complaint | None:
    """Check `server:tool`."""
    server, colon, tool = text.partition(":")
    if not colon or not _SERVER.fullmatch(server) or not _TOOL.fullmatch(tool):
        return Complaint("a tool is named `server:tool`")
    return None


def builtin(text: str) -> Complaint | None:
    """Check the name of a built-in."""
    if text in BUILTINS:
        return None
    return Complaint("no such built-in", f"there are {', '.join(BUILTINS)}")


def pattern(text: str) -> Complaint | None:
    """Check a pattern of `permissions`: `*`, `server`, `server:*`, `server:tool`, globs."""
    server, colon, tool = text.partition(":")
    is_fine = _PATTERN_SERVER.fullmatch(server) and (not colon or _PATTERN_TOOL.fullmatch(tool))
    if is_fine and WIRE_SEPARATOR not in server:
        return None
    hint = "`*`, `server`, `server:*` or `server:tool`; `*` and `?` are the wildcards"
    if not colon and (WIRE_SEPARATOR in text or "." in text):
        hint = "server and tool are joined by a colon: `server:tool`"
    return Complaint("not a pattern of tools", hint)


def variable_name(text: str) -> Complaint | None:
    """Check the name of an environment variable."""
    if _VARIABLE.fullmatch(text):
        return None
    hint = "only the name, without `$`, `=` or a value"
    return Complaint("a variable's name is letters, digits and `_`, no digit first", hint)


def header_name(text: str) -> Complaint | None:
    """Check the name of an HTTP header."""
    return None if _HEADER.fullmatch(text) else Complaint("not the name of an HTTP header")


def header_value(text: str) -> Complaint | None:
    """Check the value of an HTTP header: a line break in it would begin another header."""
    if all(character == "\t" or character.isprintable() for character in text):
        return None
    return Complaint("a header's value has no line breaks or control characters")


def host(text: str) -> Complaint | None:
    """Check `host` or `host:port`."""
    match = _HOST.fullmatch(text.lower())
    if match and (match["port"] is None or 0 < int(match["port"]) <= _MOST_PORT):
        return None
    return Complaint(
        "not a host", "`api.example.com` or `api.example.com:443`: no scheme, path or wildcard"
    )


def url(text: str, *, needs_tls: bool) -> Complaint | None:
    """Check an address; without TLS only this machine, if `needs_tls`."""
    if not text.isascii() or not text.isprintable() or " " in text:
        return Complaint("an address has no spaces, control or non-ASCII characters")
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        has_host = False
    if not has_host or parts.scheme not in ("http", "https"):
        return Complaint("not an address", "`https://host/path`")
    if "@" in parts.netloc:
        return Complaint("an address holds no user or password", "send it as a header")
    if needs_tls and parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        return Complaint("an address that is not on this machine begins with `https://`")
    return None


def no_nul(text: str) -> Complaint | None:
    """Check text that goes to the operating system."""
    return Complaint("has a NUL character, which nothing can be given") if "\0" in text else None


def not_empty(text: str) -> Complaint | None:
    """Check text that must say something."""
    return no_nul(text) if text.strip() else Complaint("is empty")
