"""Source maps, version 3: from a place in transformed code back to the source.

Reads only `mappings`, of one source. Columns inside a map are UTF-16 units; outside, here as
everywhere, code points. https://tc39.es/ecma426/
"""

from bisect import bisect_right
from collections.abc import Iterator

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_DIGITS = {char: value for value, char in enumerate(_BASE64)}
_CONTINUED = 0x20
_WITH_SOURCE = 4
"""A segment of one number has no source: made by the compiler."""

_Segment = tuple[int, int, int, int]  # generated line and column, source line and column, 0-based


class SourceMap:
    """The way back from `code`, decoded when first asked."""

    def __init__(
        self, mappings: str, source: str, code: str, *, skip_lines: int = 0, skip_columns: int = 0
    ) -> None:
        """Keep both texts.

        Args:
            mappings: of the code before it was cut to `code`.
            source: the text to find places in.
            code: the transformed text.
            skip_lines: how many lines were cut off before `code`.
            skip_columns: how many columns stood before the first line of `source`.
        """
        self._mappings = mappings
        self._source_lines = source.split("\n")
        self._code_lines = code.split("\n")
        self._skip_lines = skip_lines
        self._skip_columns = skip_columns
        self._segments: list[_Segment] | None = None

    def original(self, line: int, column: int) -> tuple[int, int]:
        """The place in the source of the nearest segment at or before a place in the code."""
        if self._segments is None:
            self._segments = list(_decoded(self._mappings))
        text = self._code_lines[line - 1] if 0 < line <= len(self._code_lines) else ""
        wanted = (line - 1 + self._skip_lines, _units(text[: max(column - 1, 0)]))
        index = bisect_right(self._segments, wanted, key=lambda segment: segment[:2])
        _, _, source_line, units = self._segments[index - 1] if index else (0, 0, 0, 0)
        if source_line == 0:
            units = max(units - self._skip_columns, 0)
        return self._within(source_line, units)

    def _within(self, line: int, units: int) -> tuple[int, int]:
        line = min(line, len(self._source_lines) - 1)
        text = self._source_lines[line]
        before = text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore")
        return line + 1, len(before) + 1


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _decoded(mappings: str) -> Iterator[_Segment]:
    source_line = source_column = 0
    for line, group in enumerate(mappings.split(";")):
        column = 0
        for numbers in map(_numbers, filter(None, group.split(","))):
            column += numbers[0]
            if len(numbers) >= _WITH_SOURCE:
                source_line += numbers[2]
                source_column += numbers[3]
                yield line, column, source_line, source_column


def _numbers(segment: str) -> list[int]:
    """Base64 VLQ: 5 bits a digit, least significant first; the lowest bit is the sign."""
    numbers, value, shift = [], 0, 0
    for digit in map(_DIGITS.__getitem__, segment):
        value += (digit & ~_CONTINUED) << shift
        shift += 5
        if not digit & _CONTINUED:
            numbers.append(-(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    return numbers
