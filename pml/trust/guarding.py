"""Keeps secrets out of what is stored, and still tells one value from another.

A value that may be a secret becomes a hash under the user's key: equal values are equal, others
are not, and without the key it cannot be guessed at. `Guard.readable` remembers, for this process
alone, what a human may see of each hash: the question whether to trust a value shows the value.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import blake3

from pml.config.expansion import expand

HASH = "hash:"
_CONTEXT = "pml 2026 trust: literal values of a configuration"
_REFERENCE = re.compile(r"(?:(?:Bearer|Basic|Token|token) )?\$\{[A-Za-z_][A-Za-z0-9_]*\}")
"""A value of which every part may be kept: one variable, perhaps after the scheme of a header."""

_SECRET_NAME = re.compile(
    r"key|token|secret|passw|credential|auth|cookie|session|dsn|private", re.IGNORECASE
)
_SECRET_PART = re.compile(
    r"(?<![A-Za-z0-9_/.@-])(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{24,}(?![A-Za-z0-9_/.@-])"
    r"|\b(?:sk|pk|ghp|gho|ghs|github_pat|glpat|xox[abps]|AKIA|AIza)[-_A-Za-z0-9]{10,}"
    r"|(?<=://)[^/\s@]+(?=@)"
)
_OPAQUE = re.compile(r"[A-Za-z0-9+=_~-]+")
"""What a key may look like and no path, address, list of options or line of a shell does. Only
that is hidden from whoever is asked to trust it: nothing that could be obeyed is."""

_FLAG = re.compile(r"--?[A-Za-z0-9_-]+")


class Guard:
    """Hashes the secrets of one configuration."""

    def __init__(self, key: bytes) -> None:
        """Take the user's key."""
        self._key = blake3.blake3(key, derive_key_context=_CONTEXT).digest()
        self.readable: dict[str, str] = {}

    def value(self, name: str, text: str) -> str:
        """Keep the value of a variable or header: its variables, never its text."""
        if _REFERENCE.fullmatch(text):
            return text
        return self._hashed(text, secret=bool(_SECRET_NAME.search(name)))

    def literal(self, name: str, text: str) -> str:
        """Keep a value in which nothing is filled in."""
        return self._hashed(text, secret=bool(_SECRET_NAME.search(name)))

    def text(self, text: str) -> str:
        """Keep an argument or address as it is, unless some of it looks like a secret."""
        if _SECRET_PART.search(text) or text.startswith(HASH):
            return self._hashed(text)
        return text

    def arguments(self, args: Sequence[str]) -> list[str]:
        """Keep arguments; what follows a flag such as `--token` is a secret."""
        return [self._argument(one, before) for before, one in pairwise(("", *args))]

    def _argument(self, text: str, before: str) -> str:
        flag, _, value = text.partition("=")
        if value and _is_secret_flag(flag) and not _REFERENCE.fullmatch(value):
            return self._hashed(text, hidden=value)
        if _is_secret_flag(before) and not _REFERENCE.fullmatch(text):
            return self._hashed(text, secret=True)
        return self.text(text)

    def _hashed(self, text: str, *, secret: bool = False, hidden: str = "") -> str:
        digest = blake3.blake3(text.encode(), key=self._key).hexdigest()
        kept = f"{HASH}{digest}"
        seen = _SECRET_PART.sub(_hidden, text)
        if hidden or secret:
            token = hidden or text
            masked = f"({len(token)} characters not shown)"
            seen = text.replace(token, masked) if _OPAQUE.fullmatch(token) else seen
        self.readable[kept] = seen
        return kept


def variables(text: str) -> tuple[str, ...]:
    """Give the names of the variables that a text asks for."""
    names: dict[str, None] = {}

    def look_up(name: str) -> str:
        names[name] = None
        return ""

    expand(text, look_up)
    return tuple(names)


def _hidden(match: re.Match[str]) -> str:
    return f"({len(match[0])} characters not shown)"


def _is_secret_flag(text: str) -> bool:
    return bool(_FLAG.fullmatch(text) and _SECRET_NAME.search(text))
