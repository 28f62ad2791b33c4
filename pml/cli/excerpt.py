"""The place of an error in a source, as it is shown under the message. Pure: text in, text out."""

import unicodedata

from pml.cli.console import shown

_BEFORE, _AFTER = 60, 40  # characters kept around the place: together they fit a terminal


def excerpt(name: str, source: str, line: int | None, column: int | None) -> str:
    """Give `--> name:line:column`, the source line and a caret; nothing without a place."""
    if line is None:
        return ""
    place = f"  --> {shown(name)}:{line}" + (f":{column}" if column else "")
    lines = source.split("\n", line)
    if not 0 < line <= len(lines):
        return place
    text = lines[line - 1].rstrip("\r")
    number = str(line)
    gutter = " " * len(number)
    at = min(max(column or 1, 1) - 1, len(text))
    before, after = _around(text, at)
    shown_lines = [place, f"{number} | {before}{after}".rstrip()]
    if column:
        shown_lines.append(f"{gutter} | {' ' * _width(before)}^")
    return "\n".join(shown_lines)


def _around(text: str, at: int) -> tuple[str, str]:
    """Cut a long line around a place; give what stands before it and from it on, escaped."""
    start, end = max(0, at - _BEFORE), at + _AFTER
    before = ("…" if start else "") + _line(text[start:at])
    return before, _line(text[at:end]) + ("…" if end < len(text) else "")


def _line(text: str) -> str:
    return shown(text.replace("\t", "  "))


def _width(text: str) -> int:
    """Count the terminal's columns: wide characters take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(character)
        else 2 if unicodedata.east_asian_width(character) in "WF"
        else 1
        for character in text
    )  # fmt: skip
