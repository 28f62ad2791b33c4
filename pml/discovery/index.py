"""Which tools fit a question: an index from words to the tools of all servers, in memory.

Each word of a question counts once for a tool: by where the tool has it, best in its name, and by
how few tools have it. A word that only means the same counts less; one that begins alike or is
spelled alike less still, and only if no tool has the word itself. It helps a tool to have all of
the question, to have nothing else in its name, and to be of a server that was named. A query is
untrusted text of which words are taken, nothing else. Synchronous and quick; knows nothing of
where tools come from or who may see them. Above: `finding`. Below: `terms`.
"""

import dataclasses
import fnmatch
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from pml.discovery.terms import name_terms, weighted_terms
from pml.discovery.words import Concepts, name_words, query_words, stem
from pml.model import Tool

MOST_HITS = 200
"""Of one search; nobody reads further."""

MOST_PATTERN_CHARACTERS = 256
"""Of a pattern; the longest id is shorter."""

_CONCEPT, _BEGINNING, _LIKE = 0.9, 0.5, 0.4
"""What a term counts that is not the word itself: means the same, begins with it, looks so."""

_LEAST_NEAR = 4  # letters of a word that may begin another; a slip needs one more
_COVERED = 0.7
"""Share of a score that depends on how much of the question a tool has."""

_NAME_SHARE = 1.0
"""What is added, as a share, to a tool all of whose name was asked for."""

_SERVER_MEANT = 1.0
"""What is added, as a share, to the tools of a server that was surely named."""

_NAME_BOOST = 1.0
"""For a query that is a tool's name, as a share of the best score: above all that words reach."""

Keep = Callable[[Tool], bool]
_DOTTED = re.compile(r"""\.|\["|"\]|\['|'\]""")


@dataclasses.dataclass(frozen=True, slots=True)
class Hit:
    """A tool that fits, and how well; more is better."""

    tool: Tool
    score: float


@dataclasses.dataclass(frozen=True, slots=True)
class _Word:
    """A word of a question, as the terms that stand for it, each with what it counts."""

    terms: tuple[tuple[str, float], ...]

    @property
    def most(self) -> float:
        """Give what the word counts at best."""
        return max(value for _, value in self.terms)


class ToolIndex:
    """The tools of all servers; used by one caller at a time, closed by whoever made it."""

    def __init__(self, concepts: Concepts | None = None) -> None:
        """Make an empty one."""
        self._concepts = concepts or Concepts()
        self._tools: dict[int, Tool] = {}
        self._rows: dict[str, range] = {}
        """By server."""

        self._names: dict[int, tuple[str, ...]] = {}
        """The terms of each tool's own name."""

        self._terms: dict[int, tuple[str, ...]] = {}
        """All terms of each tool."""

        self._places: dict[str, dict[int, float]] = {}
        """By term: what it counts for which tool."""

        self._rarities: dict[str, float] = {}
        """Of the terms that were asked for since the tools changed."""

        self._next_row = 1

    def __enter__(self) -> Self:
        """Use it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Free the memory; more than once does nothing."""
        self._tools.clear()
        self._rows.clear()
        self._names.clear()
        self._terms.clear()
        self._places.clear()
        self._rarities.clear()

    def __len__(self) -> int:
        """Count the tools."""
        return len(self._tools)

    @property
    def servers(self) -> Sequence[str]:
        """Name the servers, in order."""
        return sorted(self._rows)

    def update(self, server: str, tools: Sequence[Tool]) -> None:
        """Take these for the tools of a server, instead of those it had."""
        self.remove(server)
        rows = range(self._next_row, self._next_row + len(tools))
        self._next_row = rows.stop
        self._rows[server] = rows
        for row, tool in zip(rows, tools, strict=True):
            self._tools[row] = tool
            self._names[row] = name_terms(tool)
            weights = weighted_terms(tool, self._concepts)
            self._terms[row] = tuple(weights)
            for term, weight in weights.items():
                self._places.setdefault(term, {})[row] = weight

    def remove(self, server: str) -> None:
        """Forget a server."""
        self._rarities.clear()
        for row in self._rows.pop(server, range(0)):
            for term in self._terms.pop(row):
                del self._places[term][row]
                if not self._places[term]:
                    del self._places[term]
            del self._tools[row], self._names[row]

    def tools(self, keep: Keep | None = None) -> list[Tool]:
        """Give all tools, by id."""
        return sorted(filter(keep, self._tools.values()), key=lambda tool: tool.id)

    def search(self, query: str, limit: int = MOST_HITS, *, keep: Keep | None = None) -> list[Hit]:
        """Give the tools that fit best, best first; equals by id. Never raises on a query."""
        asked = query_words(query)
        wanted = [word for word in map(self._word, asked) if word.terms]
        scores = self._scores(wanted)
        boost = _NAME_BOOST * max(scores.values(), default=0.0)
        for row in self._named(query, asked):
            scores[row] = scores.get(row, 0.0) + boost
        hits = (Hit(self._tools[row], score) for row, score in scores.items())
        kept = [hit for hit in hits if keep is None or keep(hit.tool)]
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

    def _scores(self, wanted: Sequence[_Word]) -> dict[int, float]:
        """Give what each tool that has something of a question reaches."""
        scores: defaultdict[int, float] = defaultdict(float)
        covered: defaultdict[int, float] = defaultdict(float)
        for word in wanted:
            for row, value in self._best(word).items():
                scores[row] += value
                covered[row] += word.most
        whole = sum(word.most for word in wanted)
        terms = {term for word in wanted for term, _ in word.terms}
        meant = self._meant(terms)
        return {
            row: score
            * (1 - _COVERED + _COVERED * covered[row] / whole)
            * (1 + _NAME_SHARE * self._named_share(row, terms))
            * (1 + _SERVER_MEANT * meant.get(self._tools[row].server, 0.0))
            for row, score in scores.items()
        }

    def _meant(self, terms: set[str]) -> dict[str, float]:
        """Give the servers whose name was said, and how surely: `redis` is no other's word."""
        found: dict[str, float] = {}
        for server, rows in self._rows.items():
            for term in terms.intersection(stem(word) for word in name_words(server)):
                surely = len(rows) / len(self._places[term])
                found[server] = max(surely, found.get(server, 0.0))
        return found

    def _best(self, word: _Word) -> dict[int, float]:
        """Give what a word counts for each tool, by the best of its terms."""
        best: dict[int, float] = {}
        for term, value in word.terms:
            for row, weight in self._places[term].items():
                best[row] = max(best.get(row, 0.0), weight * value)
        return best

    def _named_share(self, row: int, terms: set[str]) -> float:
        """Give how much of a tool's name was asked for."""
        whole = asked = 0.0
        for term in self._names[row]:
            rarity = self._rarity(term)
            whole += rarity
            if term in terms:
                asked += rarity
            elif not terms.isdisjoint(self._concepts.of(term)):
                asked += rarity * _CONCEPT
        return asked / whole if whole else 0.0

    def _word(self, word: str) -> _Word:
        """Give the terms that stand for a word; none if no tool has any of them."""
        own = stem(word)
        found = {term: _CONCEPT for term in self._concepts.of(own) if term in self._places}
        if own in self._places:
            found[own] = 1.0
        elif not found:
            found = dict(self._near(own))
        return _Word(tuple((term, share * self._rarity(term)) for term, share in found.items()))

    def _rarity(self, term: str) -> float:
        """Give what a term counts: the more, the fewer tools have it."""
        if term not in self._rarities:
            self._rarities[term] = math.log(1 + len(self._tools) / len(self._places[term]))
        return self._rarities[term]

    def _near(self, own: str) -> Iterator[tuple[str, float]]:
        """Give the terms that begin with a word; else those of which it may be a slip."""
        if len(own) < _LEAST_NEAR:
            return
        longer = [term for term in self._places if term.startswith(own)]
        yield from ((term, _BEGINNING) for term in longer)
        if not longer and len(own) > _LEAST_NEAR:
            yield from ((term, _LIKE) for term in self._places if _is_slip(own, term))

    def _named(self, query: str, asked: Sequence[str]) -> Iterator[int]:
        """Give the tools whose name, or id, a query is."""
        own = tuple(stem(word) for word in asked)
        yield from (row for row, name in self._names.items() if name == own)
        wanted = _canonical(query)
        if " " not in wanted:  # a question has some, a name has none
            for row, tool in self._tools.items():
                if wanted in (*_names(tool), tool.name) and self._names[row] != own:
                    yield row


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


def _is_slip(one: str, other: str) -> bool:
    """Say whether words differ by one letter, or by two that changed places; not the first."""
    if one[0] != other[0] or abs(len(one) - len(other)) > 1:
        return False
    return not _shorter(one).isdisjoint(_shorter(other))


def _shorter(word: str) -> set[str]:
    """Give a word, and it without any one letter."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}
