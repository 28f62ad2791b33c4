r"""The form of `.env`: `NAME=value` lines. Pure, strict, and nothing in it is ever carried out.

    # a comment
    export NAME=value            # `export` is allowed; a comment begins with a space and `#`
    NAME='as it is, $ and \ too'
    NAME="with \n, \t, \" and \\, over
    several lines"

Other readers of such files fill in variables, some run commands. A value that asks for that, in a
file that other programs use too, is a complaint about this one name, told when it is needed.
"""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path

from pml.keys.errors import EnvFileInvalidError

_NAME = re.compile(r"[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*")
_BLANK = re.compile(r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
_SINGLE = re.compile(r"'(?P<value>[^']*)'")
_DOUBLE = re.compile(r'"(?P<value>(?:[^"\\]|\\.)*)"', re.DOTALL)
_PLAIN = re.compile(r"(?P<value>[^\n]*)")
_COMMENT = re.compile(r"(?:^|[ \t])#.*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$", "\n": ""}
_FILLED_IN = re.compile(r"(?<!\\)\$[{(]|`")

_NO_ENTRY = "a line is `NAME=value`, a comment, or empty"
_NOT_CLOSED = "a quote is not closed"
_AFTER_QUOTE = "something stands after the closing quote"
_NUL = "the value has a NUL character"
_NOT_FILLED_IN = "variables and commands are not filled in here"
_UNKNOWN_ESCAPE = "an unknown escape in double quotes"
_AS_IT_IS = "put the value into single quotes if it is meant as it is"

Value = str | EnvFileInvalidError
"""What a name is set to, or why that cannot be said."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Spot:
    """The line that is looked at."""

    path: Path
    line: int

    def error(self, reason: str, hint: str | None = None) -> EnvFileInvalidError:
        return EnvFileInvalidError(self.path, self.line, reason, hint)


def parse_dotenv(text: str, path: Path) -> Mapping[str, Value]:
    """Give the variables of a file; raises `EnvFileInvalidError` for a line that is none."""
    text = text.replace("\r\n", "\n")
    found: dict[str, Value] = {}
    lines: dict[str, int] = {}
    position, line = 0, 1
    while position < len(text):
        start = position
        blank = _BLANK.match(text, position)
        if blank:
            position = blank.end()
        else:
            spot = _Spot(path, line)
            name, value, position = _entry(text, position, spot)
            if name in found:
                value = spot.error(f"{name} is already set, on line {lines[name]}", "remove one")
            found[name] = value
            lines.setdefault(name, line)
        line += text.count("\n", start, position)
    return found


def _entry(text: str, position: int, spot: _Spot) -> tuple[str, Value, int]:
    """Give name, value and where the next line begins."""
    start = _NAME.match(text, position)
    if start is None:
        raise spot.error(_NO_ENTRY)
    quote = text[start.end() : start.end() + 1]
    match = {"'": _SINGLE, '"': _DOUBLE}.get(quote, _PLAIN).match(text, start.end())
    if match is None:
        raise spot.error(_NOT_CLOSED)
    rest = _BLANK.match(text, match.end())
    if rest is None:
        raise spot.error(_AFTER_QUOTE)
    return start["name"], _value(match["value"], quote, spot), rest.end()


def _value(text: str, quote: str, spot: _Spot) -> Value:
    if "\0" in text:
        return spot.error(_NUL)
    if quote == "'":
        return text
    if quote != '"':
        text = _COMMENT.sub("", text).rstrip()
    if _FILLED_IN.search(text):
        return spot.error(_NOT_FILLED_IN, _AS_IT_IS)
    if quote != '"':
        return text
    if any(escape[1] not in _ESCAPES for escape in _ESCAPE.finditer(text)):
        return spot.error(_UNKNOWN_ESCAPE, _AS_IT_IS)
    return _ESCAPE.sub(lambda escape: _ESCAPES[escape[1]], text)
