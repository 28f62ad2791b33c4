"""What a `discover` call asks for, and the tools that answer it.

By name, by pattern, by words, or by pattern and words. What the caller does not let be seen is not
found, not counted and not hinted at. Above: `answer`, the gateway. Below: the index.
"""

import dataclasses
import difflib
from collections.abc import Sequence

from pml.discovery.index import Hit, Keep, ToolIndex, pattern_matcher
from pml.discovery.words import MOST_QUERY_CHARACTERS
from pml.model import Tool

DEFAULT_LIMIT = 8
"""Tools in an answer: enough for a choice, about two thousand tokens."""

MOST_LIMIT = 50

_NEAREST = 5  # names in a hint
_NEAREST_CHARACTERS = 100  # of what they are compared with
_LIKENESS = 0.5
_LEAST_SHARE = 0.35
"""Of the best score, that counts as found: a single common word fits half of all tools."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for."""

    query: str | None = None
    pattern: str | None = None
    name: str | None = None
    limit: int = DEFAULT_LIMIT
    """1 to `MOST_LIMIT`; what lies outside is taken for the nearest."""

    schema: bool = False
    """Whether the full JSON Schema is told as well, of tools asked for by name."""

    @property
    def bounded_limit(self) -> int:
        """Give the limit that holds."""
        return max(1, min(self.limit, MOST_LIMIT))

    @property
    def words(self) -> str:
        """Give what was looked for, whichever way."""
        return self.name or self.query or self.pattern or ""


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """What fits."""

    hits: tuple[Hit, ...] = ()
    """The best, as many as were wanted."""

    total: int = 0
    """How many fit."""

    nearest: tuple[str, ...] = ()
    """Ids like what was looked for, if nothing fits."""

    servers: tuple[tuple[str, int], ...] = ()
    """All servers and how many tools each has, if nothing was asked for or nothing fits."""


def find(index: ToolIndex, wanted: Wanted, *, visible: Keep | None = None) -> Found:
    """Look."""
    hits = _hits(index, wanted, visible)
    if hits:
        return Found(tuple(hits[: wanted.bounded_limit]), len(hits))
    every = index.tools(visible)
    return Found((), 0, _nearest(wanted.words, every), _counted(every))


def _hits(index: ToolIndex, wanted: Wanted, visible: Keep | None) -> list[Hit]:
    if wanted.name:
        return _plain(index.by_name(wanted.name, keep=visible))
    if wanted.query and wanted.pattern:
        fits = pattern_matcher(wanted.pattern)
        return _fitting(
            index.search(
                wanted.query, keep=lambda tool: fits(tool) and (visible is None or visible(tool))
            )
        )
    if wanted.query:
        return _fitting(index.search(wanted.query, keep=visible))
    return _plain(index.by_pattern(wanted.pattern, keep=visible)) if wanted.pattern else []


def _plain(tools: Sequence[Tool]) -> list[Hit]:
    return [Hit(tool, 1.0) for tool in tools]


def _fitting(hits: list[Hit]) -> list[Hit]:
    return [hit for hit in hits if hit.score >= hits[0].score * _LEAST_SHARE]


def _nearest(text: str, tools: Sequence[Tool]) -> tuple[str, ...]:
    """Give the ids whose own name, or which themselves, look like a text."""
    wanted = text[:MOST_QUERY_CHARACTERS].strip().lower()[:_NEAREST_CHARACTERS]
    names: dict[str, list[str]] = {}
    for tool in tools:
        for name in (tool.name.lower(), tool.id.lower()):
            names.setdefault(name, []).append(tool.id)
    close = difflib.get_close_matches(wanted, names, n=_NEAREST, cutoff=_LIKENESS)
    return tuple(dict.fromkeys(one for name in close for one in names[name]))[:_NEAREST]


def _counted(tools: Sequence[Tool]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for tool in tools:
        counts[tool.server] = counts.get(tool.server, 0) + 1
    return tuple(counts.items())
