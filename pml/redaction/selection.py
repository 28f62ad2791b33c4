"""Which values of an environment or of headers are secrets: by their names, else by their look.

Masking what is none would spoil results (a folder, a model's name), so in doubt about a name the
value has to look random.
"""

import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_WORDS = frozenset((
    "key", "keys", "apikey", "token", "tokens", "secret", "secrets", "password", "passwd",
    "pass", "passphrase", "pwd", "credential", "credentials", "auth", "authorization", "cookie",
    "pat", "jwt", "bearer", "signature", "salt",
))  # fmt: skip
_PLAIN_WORDS = frozenset((
    "file", "path", "dir", "folder", "name", "user", "username", "email", "host", "port",
    "region", "version", "model", "id", "url", "uri", "public", "type", "count", "limit", "max",
    "min", "timeout", "ttl",
))  # fmt: skip
"""With one of these at the end (or `public` anywhere) the name speaks of something else."""

_SCHEME = re.compile(r"(?:bearer|basic|token)\s+(?=\S)", re.IGNORECASE)
_PIECE = re.compile(r"[A-Za-z0-9+/=]{16,}")
_PLAIN_VALUES = frozenset(("true", "false", "yes", "no", "on", "off", "none", "null"))


def secrets_of(*blocks: Mapping[str, str]) -> dict[str, str]:
    """Give the secrets of environments or headers, by name; of a header, without its scheme.

    Two servers may call two keys the same: the second one is then `NAME (2)`.
    """
    found: dict[str, str] = {}
    for block in blocks:
        for entry in block.items():
            name, value = _secret(*entry)
            if value and value not in found.values():
                found[_free(name, found)] = value
    return found


def _secret(name: str, value: str) -> tuple[str, str]:
    """Give what is secret of a value, empty if nothing is, and what to call it."""
    password = _password(value)
    if password:
        return f"{name} password", password
    return name, _SCHEME.sub("", value, count=1) if looks_secret(name, value) else ""


def _free(name: str, taken: Mapping[str, str]) -> str:
    number = 1
    while (free := name if number == 1 else f"{name} ({number})") in taken:
        number += 1
    return free


def looks_secret(name: str, value: str) -> bool:
    """Say whether a value of this name is to be hidden."""
    text = value.strip()
    if not text or text.lower() in _PLAIN_VALUES:
        return False
    return _names_secret(name) or _looks_random(text)


def _names_secret(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _PLAIN_WORDS or "public" in words:
        return False
    return not _SECRET_WORDS.isdisjoint(words)


def _looks_random(text: str) -> bool:
    """One long piece that mixes digits with letters; no words, paths, hosts or versions."""
    if text.startswith(("/", "~", ".")) or "://" in text or " " in text:
        return False
    return any(
        any(c.isdigit() for c in piece) and any(c.isalpha() for c in piece)
        for piece in _PIECE.findall(text)
    )


def _password(value: str) -> str | None:
    if "://" not in value or "@" not in value:
        return None
    try:
        return unquote(urlsplit(value.strip()).password or "") or None
    except ValueError:
        return None
