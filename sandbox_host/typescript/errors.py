"""What can go wrong while erasing, as the caller sees it.

    EraserError
    ├── SyntaxProblem         the source is at fault: message, line, column, source_line
    ├── EraserTimeoutError    the source took longer than its ticks
    └── EraserBrokenError     the eraser is at fault: a wrong build, or a bug

The texts of a SyntaxProblem come from the source: capped, control and bidi characters escaped.
"""

import unicodedata

from sandbox_host.typescript import positions

MESSAGE_CHARS = 300
"""swc lists every token it would have taken; the first ones say enough."""

SOURCE_LINE_CHARS = 200
"""Enough to see the place, little enough for a terminal and a model."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class EraserError(Exception):
    """Base of what this room raises."""

    code = "eraser"


class SyntaxProblem(EraserError):  # noqa: N818  # said of the source, not of the eraser
    """The source is not a program we run.

    Attributes:
        message: what is wrong, one line.
        line: 1-based; lines end at a line feed.
        column: 1-based, in code points.
        source_line: the text of that line, at most `SOURCE_LINE_CHARS` long.
    """

    code = "syntax"

    def __init__(self, message: str, line: int, column: int, source_line: str) -> None:
        """Keep the facts, safe to show."""
        self.message = _shown(message, MESSAGE_CHARS)
        self.line = line
        self.column = column
        self.source_line = _shown(source_line, SOURCE_LINE_CHARS)
        super().__init__(f"{self.message} (line {line}, column {column})")

    @classmethod
    def at(cls, source: str, offset: int, message: str) -> "SyntaxProblem":
        """The problem at an offset of `source`."""
        line, column = positions.place_of(source, offset)
        return cls(message, line, column, positions.line_at(source, offset))


class EraserTimeoutError(EraserError):
    """Erasing was stopped at its deadline."""

    code = "eraser_timeout"

    def __init__(self, deadline_ticks: int) -> None:
        """Keep the deadline that was passed."""
        self.deadline_ticks = deadline_ticks
        super().__init__(f"erasing the types took longer than {deadline_ticks} ticks")


class EraserBrokenError(EraserError):
    """The eraser itself failed: nothing is known about the source."""

    code = "eraser_broken"

    def __init__(self, fact: str) -> None:
        """Say what failed."""
        super().__init__(f"the type eraser failed: {_shown(fact, MESSAGE_CHARS)}")


def _shown(text: str, limit: int) -> str:
    capped = text if len(text) <= limit else text[: limit - 1] + "…"
    if capped.isascii() and capped.isprintable():
        return capped
    return "".join(map(_shown_char, capped))


def _shown_char(char: str) -> str:
    if char == "\t" or unicodedata.category(char) not in _UNSEEN:
        return char
    return f"\\u{{{ord(char):x}}}"
