"""Where in a configuration file something stands: file, line, column and JSON path. Pure."""

import dataclasses
import re
from pathlib import Path

JsonPath = tuple[str | int, ...]
"""The way from the top of a document to a value: keys and list positions."""

_PLAIN = re.compile(r"[$\w-]+")
_SHOWN_CHARACTERS = 80  # of a key: names are short, and a message has to stay readable


@dataclasses.dataclass(frozen=True, slots=True)
class Spot:
    """A place in a file; a file that cannot be read has no line."""

    file: Path
    line: int | None = None
    column: int | None = None
    """Both count from 1; a column is a character, not a byte."""

    path: JsonPath = ()

    def __str__(self) -> str:
        """Give `file:line:column: path`, which editors and terminals turn into a link."""
        place = str(self.file) if self.line is None else f"{self.file}:{self.line}:{self.column}"
        return f"{place}: `{dotted(self.path)}`" if self.path else place


def dotted(path: JsonPath) -> str:
    """Write a path as `mcpServers.github.args[0]`."""
    words = ""
    for step in path:
        if isinstance(step, int):
            words += f"[{step}]"
        elif _PLAIN.fullmatch(step):
            words += f".{shown(step)}" if words else shown(step)
        else:
            words += f'["{shown(step)}"]'
    return words


def shown(text: str) -> str:
    """Show a key of the file: capped, and what a terminal would obey escaped."""
    cut = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in cut)
