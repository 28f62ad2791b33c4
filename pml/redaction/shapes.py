"""Tokens that are known by their shape alone, whoever they belong to.

For logs only: a program may need what looks like a token in a result.
"""

import re

MASK = "[token]"

_LEAST_CHARACTERS = 14  # the shortest that any shape takes: `Basic` and eight

_HINTS = (
    "sk-", "gh", "glpat-", "xox", "AKIA", "ASIA", "AIza", "npm_", "pypi-", "hf_", "tvly-", "eyJ",
    "earer", "asic ", "PRIVATE KEY", "_key", "_KEY",
)  # fmt: skip

_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?P<kept>\b[Bb]earer\s+|\b[Bb]asic\s+"
    r"|\baws_secret_access_key[\"']?\s*[=:]\s*[\"']?"
    r"|\b[A-Z0-9_]*API_KEY[\"']?\s*[=:]\s*[\"']?)[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<![A-Za-z0-9])(?:"
    r"sk-(?:ant-|proj-)?[A-Za-z0-9_-]{20,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{20,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[A-Za-z0-9_-]{35}"
    r"|npm_[A-Za-z0-9]{36}"
    r"|pypi-[A-Za-z0-9_-]{40,}"
    r"|hf_[A-Za-z0-9]{30,}"
    r"|tvly-[A-Za-z0-9-]{20,}"
    r"|(?<![_.-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"
    r")",
    re.DOTALL,
)


def masked(text: str) -> str:
    """Give the text without what looks like a token."""
    if len(text) < _LEAST_CHARACTERS:
        return text
    for hint in _HINTS:
        if hint in text:
            return _SHAPES.sub(lambda match: f"{match['kept'] or ''}{MASK}", text)
    return text
