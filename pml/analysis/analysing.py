"""The way from a source to its analysis: measure, parse, name, resolve, fold."""

import re

from pml.analysis import aliases
from pml.analysis.findings import Analysis, Call, Dynamic, Problem
from pml.analysis.folding import Folder
from pml.analysis.scopes import Scopes
from pml.analysis.spotting import MOST_STEPS
from pml.analysis.syntax import Original, Parsed, Source

SOURCE_BYTES = 1 << 20
"""The largest source that is looked at; as much as the eraser takes."""

_TOO_LARGE = Problem(f"the source is larger than {SOURCE_BYTES >> 20} MiB: it was not looked at")
_NO_TEXT = Problem("the source is no text: it was not looked at")
_TOO_DENSE = Problem("the source has too many parts: not all of it was looked at")
_CUT = Problem(f"more than {MOST_STEPS} calls: the rest is left out")
_NOT_READ = "this is not JavaScript that can be read: calls around it may be missing"

_OF_INTEREST = re.compile(rb"mcp|[tT]his|eval|Function|\\[ux]")
"""Without any of these there is nothing to find."""


def analyse(code: str, original: Original = lambda line, column: (line, column)) -> Analysis:
    """Say what a program would call; advice only, see the room's docstring.

    Args:
        code: JavaScript, as the eraser leaves it.
        original: from a line and column of it to those of the source.
    """
    try:
        content = code.encode()
    except UnicodeEncodeError:
        return Analysis(problem=_NO_TEXT)
    if len(content) > SOURCE_BYTES:
        return Analysis(problem=_TOO_LARGE)
    source = Source(content, original)
    parsed = Parsed(content)
    if not _OF_INTEREST.search(content):
        return Analysis(problem=_problem(parsed, source))
    aliases.resolve(parsed, Scopes(parsed, source), source)
    folder = Folder(source)
    for node in parsed.nodes:
        folder.fold(node)
    found = folder.spotter
    return Analysis(
        tuple(sorted(found.calls, key=_position)),
        tuple(sorted(found.dynamic, key=_position)),
        parsed.root.steps,
        _CUT if found.is_cut else _problem(parsed, source),
    )


def _position(spot: Call | Dynamic) -> tuple[int, int]:
    return spot.place.line, spot.place.column


def _problem(parsed: Parsed, source: Source) -> Problem | None:
    if not parsed.is_whole:
        return _TOO_DENSE
    return None if parsed.error is None else Problem(_NOT_READ, source.place(parsed.error))
