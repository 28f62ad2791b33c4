"""Places in a text.

swc counts lines and columns in its own way: a line ends at LF, CR LF or CR, and a column is what
a terminal would show (a tab is 4 wide, an ideograph 2). Ours are 1-based, in code points, and
lines end at LF, as the guest counts them.
"""

import re
import unicodedata

_LINE_END = re.compile(r"\r\n|\n|\r")
_BEYOND_BMP = 0x10000
_TAB_WIDTH = 4


def offset_of(text: str, line: int, shown_column: int) -> int:
    """The offset of swc's 1-based line and 0-based shown column; the end if beyond the text."""
    start = 0
    for _ in range(line - 1):
        line_end = _LINE_END.search(text, start)
        if line_end is None:
            return len(text)
        start = line_end.end()
    offset, shown = start, 0
    while offset < len(text) and shown < shown_column:
        shown += _shown_width(text[offset])
        offset += 1
    return offset


def place_of(text: str, offset: int) -> tuple[int, int]:
    """Line and column of an offset, both 1-based."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def line_at(text: str, offset: int) -> str:
    """The line around an offset, without its end."""
    end = text.find("\n", offset)
    return text[text.rfind("\n", 0, offset) + 1 : end if end >= 0 else None].removesuffix("\r")


def _shown_width(char: str) -> int:
    if char.isascii():
        return _TAB_WIDTH if char == "\t" else 1
    # swc adds the width of a character to its count of UTF-16 units, less one.
    units = 2 if ord(char) >= _BEYOND_BMP else 1
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return units - 1
    return units + (unicodedata.east_asian_width(char) in "WF")
