"""Which literal values of a client's file may be keys. Pure; in doubt a value is one.

What is taken for a key wrongly only moves to `.env`; what is wrongly taken for none would stand in
a file that is committed. So a variable or header is plain only if it surely says nothing secret;
an argument, which mostly is a word of a command line, is a key if anything speaks for it.
"""

import re
from urllib.parse import urlsplit

from pml.redaction import looks_secret
from pml.redaction.shapes import masked

VARIABLE = re.compile(r"(?<!\$)\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")
SCHEME = re.compile(r"(?:bearer|basic|token)\s+", re.IGNORECASE)
SETTING = re.compile(r"(?P<name>--?[A-Za-z][\w-]*|[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
HEADER = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9-]*):(?P<space> *)(?P<value>\S.*)", re.DOTALL)

_KEY_NAME = re.compile(
    r"key|token|secret|pass|pwd|cred|auth|cookie|session|dsn|private|jwt|bearer|sign|salt|cert"
    r"|login|licen[cs]e|hook|conn|account|(?:^|[_-])(?:pat|pin|sid|uid|id)(?:$|[_-])",
    re.IGNORECASE,
)
_SETTING_INSIDE = re.compile(
    r"(?:key|token|secret|passw\w*|pwd|credentials?|auth\w*)[\"']?\s*[=:]\s*(?!\$\{)\S",
    re.IGNORECASE,
)
_FLAG = re.compile(r"-(?!-(?:no|disable|skip|without|allow)-)[\w-]+")
_PLAIN_HEADERS = frozenset(("accept", "accept-language", "content-type", "user-agent"))
_PLAIN_WORDS = frozenset((
    "true", "false", "yes", "no", "on", "off", "none", "null", "auto", "default", "debug", "info",
    "warn", "warning", "error", "trace", "silent", "production", "development", "test", "staging",
    "local", "stdio", "oauth", "http", "https", "json", "text", "utf-8", "en",
    "en_us.utf-8", "c", "utc",
))  # fmt: skip
_PLAIN_NAME = re.compile(
    r"(?:^|[_-])(?:level|mode|env|environment|region|zone|host|hostname|port|model|lang|language"
    r"|locale|tz|timezone|format|transport|type|version|timeout|limit|max|min|count|size|path"
    r"|file|dir|folder|root|home|debug|verbose|enabled|disabled)$",
    re.IGNORECASE,
)
_PLAIN_TEXT = re.compile(r"[A-Za-z0-9 ._,:/@+~-]{1,120}")
_NUMBER = re.compile(r"[0-9]{1,5}")
_HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}(?::[0-9]{1,5})?|localhost(?::[0-9]{1,5})?")
_PATH = re.compile(r"(?:/[A-Z]?[a-z._-]+|~|\.{1,2})/[^\n]*")
_PIECE = re.compile(r"[A-Za-z0-9+=_-]{8,}")
_LONG = 16  # characters: shorter pieces with digits are versions, dates and names
_PASSWORD_FILLED_IN = re.compile(r"://[A-Za-z0-9_.-]{1,20}:@")


def literal(text: str) -> str:
    """Give what of a text is not filled in; of a default, its text."""
    rest = VARIABLE.sub(lambda match: match["default"] or "", text)
    return _PASSWORD_FILLED_IN.sub("://", SCHEME.sub("", f"{rest} ", count=1)).strip()


def is_plain_value(name: str, text: str) -> bool:
    """Say that the value of a variable is surely no key."""
    if is_word(text):
        return True
    rest = literal(text)
    if _KEY_NAME.search(name) or looks_secret(name, rest) or masked(rest) != rest:
        return False
    if _NUMBER.fullmatch(rest) or _HOST.fullmatch(rest):
        return True
    if "://" in rest:
        return is_plain_address(rest)
    if _PATH.fullmatch(rest):
        return True
    is_said = _PLAIN_NAME.search(name) and _PLAIN_TEXT.fullmatch(rest)
    return bool(is_said) and not _has_odd_piece(rest)


def is_word(text: str) -> bool:
    """Tell what is surely no key, whatever it is the value of."""
    rest = literal(text)
    return not rest or rest.lower() in _PLAIN_WORDS


def is_plain_header(name: str, text: str) -> bool:
    """Say that a header is surely no key."""
    return not literal(text) or name.lower() in _PLAIN_HEADERS


def is_plain_address(text: str) -> bool:
    """Say that nothing of an address is a key: no user, no query, no odd part of the path."""
    try:
        parts = urlsplit(literal(text))
    except ValueError:
        return False
    return "@" not in parts.netloc and not parts.query and not _has_odd_piece(parts.path)


def is_key_flag(text: str) -> bool:
    """Tell an option whose value is a key."""
    return bool(_FLAG.fullmatch(text) and _KEY_NAME.search(text))


def is_plain_argument(text: str) -> bool:
    """Say that an argument on its own shows no sign of a key."""
    if is_word(text):
        return True
    rest = literal(text)
    if masked(rest) != rest or _SETTING_INSIDE.search(rest):
        return False
    if "://" in rest and " " not in rest:
        return is_plain_address(rest)
    return bool(_PATH.fullmatch(rest)) or not _has_odd_piece(rest)


def _has_odd_piece(text: str) -> bool:
    """Tell what looks random: long, or of three kinds of characters."""
    return any(_is_odd(piece) for piece in _PIECE.findall(text))


def _is_odd(piece: str) -> bool:
    has_digit = any(c.isdigit() for c in piece)
    has_letter = any(c.isalpha() for c in piece)
    mixed = has_digit and piece.lower() != piece and piece.upper() != piece
    return mixed or (has_digit and has_letter and len(piece) >= _LONG)
