"""Which tools fit a question: a full-text index over the tools of all servers, in memory.

SQLite's FTS5 with BM25: a word in a tool's name counts most, then its description, the server's
name and the parameters; a word that only means the same counts less. A query is untrusted text:
words are taken from it, its syntax never reaches the index. Synchronous and quick; knows nothing
of where tools come from or who may see them. Above: `finding`.
"""

import dataclasses
import fnmatch
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from pml.discovery.words import Concepts, query_words, words
from pml.model import Tool

MOST_HITS = 200
"""Of one search; nobody reads further."""

MOST_PATTERN_CHARACTERS = 256
"""Of a pattern; the longest id is shorter."""

_MOST_TEXT_CHARACTERS = 4_000
"""Of a description, or of all parameters, that is indexed: what a tool does is said first."""

_MOST_PARAMETERS = 200
_NAME_BOOST = 1.0
"""For a query that is a tool's name, as a share of the best score: above all that words reach."""

_SCHEMA = """CREATE VIRTUAL TABLE tools USING fts5(
    name, server, description, parameters, name_concepts, concepts,
    tokenize = 'porter unicode61 remove_diacritics 2')"""
_WEIGHTS = "10.0, 3.0, 3.0, 1.0, 4.0, 1.0"
_SEARCH = f"SELECT rowid, -bm25(tools, {_WEIGHTS}) AS score FROM tools WHERE tools MATCH ? "  # noqa: S608 constants
_LEAST_PREFIX = 3  # characters that a beginning of a word has

Keep = Callable[[Tool], bool]
_DOTTED = re.compile(r"""\.|\["|"\]|\['|'\]""")


@dataclasses.dataclass(frozen=True, slots=True)
class Hit:
    """A tool that fits, and how well; more is better."""

    tool: Tool
    score: float


class ToolIndex:
    """The tools of all servers; used by one caller at a time, closed by whoever made it."""

    def __init__(self, concepts: Concepts | None = None) -> None:
        """Make an empty one."""
        self._concepts = concepts or Concepts()
        self._database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._database.execute(_SCHEMA)
        self._tools: dict[int, Tool] = {}
        self._rows: dict[str, range] = {}
        """By server."""

        self._next_row = 1

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Free the memory; more than once does nothing."""
        self._database.close()

    def __len__(self) -> int:
        """Count the tools."""
        return len(self._tools)

    @property
    def servers(self) -> Sequence[str]:
        """Name the servers, in order."""
        return sorted(self._rows)

    def update(self, server: str, tools: Sequence[Tool]) -> None:
        """Take these for the tools of a server, instead of those it had."""
        self._database.execute("BEGIN")
        self._drop(server)
        rows = range(self._next_row, self._next_row + len(tools))
        self._next_row = rows.stop
        self._rows[server] = rows
        self._tools.update(zip(rows, tools, strict=True))
        self._database.executemany(
            "INSERT INTO tools (rowid, name, server, description, parameters, name_concepts,"
            " concepts) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(row, *self._texts(tool)) for row, tool in zip(rows, tools, strict=True)],
        )
        self._database.execute("COMMIT")

    def remove(self, server: str) -> None:
        """Forget a server."""
        self._database.execute("BEGIN")
        self._drop(server)
        self._database.execute("COMMIT")

    def tools(self, keep: Keep | None = None) -> list[Tool]:
        """Give all tools, by id."""
        return sorted(filter(keep, self._tools.values()), key=lambda tool: tool.id)

    def search(self, query: str, limit: int = MOST_HITS, *, keep: Keep | None = None) -> list[Hit]:
        """Give the tools that fit best, best first; equals by id. Never raises on a query."""
        wanted = query_words(query)
        if not wanted:
            return []
        found = self._database.execute(
            f"{_SEARCH} ORDER BY score DESC LIMIT ?", (self._expression(wanted), MOST_HITS)
        )
        hits = [Hit(self._tools[row], score) for row, score in found]
        named = {tool.id for tool in self.by_name(query)} | self._named_by(wanted)
        boost = _NAME_BOOST * max((hit.score for hit in hits), default=0.0)
        boosted = [Hit(hit.tool, hit.score + boost * (hit.tool.id in named)) for hit in hits]
        kept = [hit for hit in boosted if keep is None or keep(hit.tool)]
        return sorted(kept, key=lambda hit: (-hit.score, hit.tool.id))[:limit]

    def by_pattern(self, pattern: str, *, keep: Keep | None = None) -> list[Tool]:
        """Give the tools whose id, or whose server's or own name, fits a glob of `*` and `?`."""
        fits = pattern_matcher(pattern)
        return [tool for tool in self.tools(keep) if fits(tool)]

    def by_name(self, name: str, *, keep: Keep | None = None) -> list[Tool]:
        """Give the tool of this id, wire name or dotted name; else all of this own name."""
        wanted = _canonical(name)
        every = self.tools(keep)
        exact = [tool for tool in every if wanted in _names(tool)]
        return exact or [tool for tool in every if tool.name == wanted]

    def _drop(self, server: str) -> None:
        rows = self._rows.pop(server, range(0))
        self._database.executemany("DELETE FROM tools WHERE rowid = ?", [(row,) for row in rows])
        for row in rows:
            del self._tools[row]

    def _texts(self, tool: Tool) -> tuple[str, ...]:
        """Give what is indexed of a tool, by column."""
        name, description = words(tool.name), words(tool.description[:_MOST_TEXT_CHARACTERS])
        parameters = words(" ".join(_parameters(tool))[:_MOST_TEXT_CHARACTERS])
        columns = (
            name,
            words(tool.server),
            description,
            parameters,
            self._concepts.among(name),
            self._concepts.among(description),
        )
        return tuple(" ".join(column) for column in columns)

    def _expression(self, wanted: Sequence[str]) -> str:
        """Give the query for FTS5: quoted words alone, so that nothing in it is syntax."""
        terms = " OR ".join(self._term(word) for word in wanted)
        plain = f"{{name server description parameters}} : ({terms})"
        concepts = self._concepts.among(wanted)
        if not concepts:
            return plain
        meant = " OR ".join(f'"{one}"' for one in concepts)
        return f"({plain}) OR ({{name_concepts concepts}} : ({meant}))"

    def _term(self, word: str) -> str:
        """Quote a word; one that no tool has may be the beginning of one that some have."""
        term = f'"{word}"'
        is_known = self._database.execute(
            "SELECT 1 FROM tools WHERE tools MATCH ? LIMIT 1", (term,)
        ).fetchone()
        return term if is_known or len(word) < _LEAST_PREFIX else f"{term}*"

    def _named_by(self, wanted: Sequence[str]) -> set[str]:
        """Give the ids of the tools whose name the words of a query are."""
        return {
            tool.id
            for tool in self._tools.values()
            if wanted in (words(tool.name), words(tool.id))
        }


def pattern_matcher(pattern: str) -> Callable[[Tool], bool]:
    """Give what says whether a tool fits a glob; letters of either case."""
    text = pattern[:MOST_PATTERN_CHARACTERS].replace("[", "[[]")
    expression = re.compile(fnmatch.translate(text), re.IGNORECASE)
    if ":" in pattern:
        return lambda tool: expression.match(tool.id) is not None
    return lambda tool: any(expression.match(part) for part in (tool.server, tool.name))


def _canonical(name: str) -> str:
    """Give an id or wire name as it is, and `mcp.a.b` or `mcp["a"]["b"]` as an id."""
    parts = [part for part in _DOTTED.split(name.strip()) if part]
    if parts[:1] == ["mcp"] and len(parts) > 2:  # noqa: PLR2004 mcp, server, tool
        return f"{parts[1]}:{'.'.join(parts[2:])}"
    return name.strip()


def _names(tool: Tool) -> tuple[str, ...]:
    return tool.id, f"{tool.server}__{tool.name}", f"{tool.server}.{tool.name}"


def _parameters(tool: Tool) -> Iterator[str]:
    """Give the names and descriptions of the parameters, of one level."""
    schema = tool.definition.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return
    for name, one in list(properties.items())[:_MOST_PARAMETERS]:
        yield name
        yield from _described(one)


def _described(schema: Any) -> Iterable[str]:
    words_said = schema.get("description") if isinstance(schema, Mapping) else None
    return (words_said,) if isinstance(words_said, str) else ()
