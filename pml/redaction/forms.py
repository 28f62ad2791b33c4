"""In which forms a secret can stand in a text: as strings to look for, and as a pattern to mask.

A pattern takes every character as it is, percent-encoded or escaped as in JSON, in any mixture,
with up to 15 backslashes (JSON four times in JSON); or the whole as hex; or as base64 behind
anything, which moves it by 0, 1 or 2 bytes. No pattern goes back over more than a few characters:
the text may be made to take long.
"""

import base64
import re
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

_BASE64_CHARACTER = r"(?:[A-Za-z0-9+/_-])"
_BACKSLASHES = r"\\{1,15}"
_RUNS = re.compile(r"\\+|.", re.DOTALL)
_SHORT_ESCAPES = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f", '"': '"', "/": "/"}
_SHORT = {letter: character for character, letter in _SHORT_ESCAPES.items()}
_ESCAPE = re.compile(  # both ways begin with one character: the search skips to it
    r"%(?P<percent>[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*)"
    r"|\\\\{0,14}(?:(?P<units>u[0-9A-Fa-f]{4}(?:\\{1,15}u[0-9A-Fa-f]{4})*)|(?P<short>[ntrbf\"/]))"
)
_UNIT = re.compile(r"u([0-9A-Fa-f]{4})")


def aligned_base64(value: bytes) -> Iterator[str]:
    """Give the characters that encode `value` alone, behind 0, 1 and 2 other bytes."""
    for shift in range(3):
        text = base64.b64encode(bytes(shift) + value).decode()
        yield text[-(-8 * shift // 6) : 8 * (shift + len(value)) // 6]


def url_safe(text: str) -> str:
    """Give base64 in its other alphabet."""
    return text.replace("+", "-").replace("/", "_")


def decoded(text: str) -> str:
    """Give the text with its percent-encodings and JSON escapes undone."""
    return _ESCAPE.sub(_plain, text) if "%" in text or "\\" in text else text


def _plain(match: re.Match[str]) -> str:
    if match["percent"]:
        return unquote_to_bytes(f"%{match['percent']}").decode(errors="replace")
    if match["units"]:
        units = b"".join(int(unit, 16).to_bytes(2) for unit in _UNIT.findall(match["units"]))
        return units.decode("utf-16-be", errors="replace")
    return _SHORT[match["short"]]


def pattern(value: str) -> re.Pattern[str]:
    """Give what finds every form of a secret."""
    raw = value.encode(errors="surrogatepass")
    encoded = sorted(map(_base64_pattern, aligned_base64(raw)), key=len, reverse=True)
    plain = "".join(map(_run_pattern, _RUNS.findall(value)))
    return re.compile("|".join([plain, f"(?i:{raw.hex()})", *encoded]))


def _base64_pattern(text: str) -> str:
    """Take the character on either side too: it may hold some bits of the secret."""
    body = "".join(
        r"(?:[+-]|%2[bB])" if c == "+" else r"(?:\\{0,15}/|_|%2[fF])" if c == "/" else c
        for c in text
    )
    return f"{_BASE64_CHARACTER}?{body}{_BASE64_CHARACTER}?"


def _run_pattern(run: str) -> str:
    """Take backslashes together: each JSON around them doubles their number."""
    if run[0] != "\\":
        return _character_pattern(run)
    single = rf"(?:\\|%5[cC]|{_BACKSLASHES}u005[cC])"
    return rf"(?:\\{{{len(run)},{16 * len(run)}}}|{single}{{{len(run)}}})"


def _character_pattern(character: str) -> str:
    raw = character.encode(errors="surrogatepass")
    units = character.encode("utf-16-be", errors="surrogatepass").hex()
    ways = [
        re.escape(character),
        "".join(f"%{_any_case(f'{byte:02x}')}" for byte in raw),
        "".join(f"{_BACKSLASHES}u{_any_case(units[i : i + 4])}" for i in range(0, len(units), 4)),
    ]
    if character in _SHORT_ESCAPES:
        ways.append(f"{_BACKSLASHES}{_SHORT_ESCAPES[character]}")
    if character == " ":
        ways.append(r"\+")
    return f"(?:{'|'.join(ways)})"


def _any_case(digits: str) -> str:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)
