"""Words of names, descriptions and queries: split, without the empty ones, with their like. Pure.

Agents say `folder` where a tool says `directory`. Words that mean the same to someone who looks
for a tool belong to one concept, named by the first of them; stemming of all other words is left
to the index.
"""

import re
from collections.abc import Iterable, Mapping

MOST_QUERY_CHARACTERS = 1_000
"""Of a query; the rest is not read."""

MOST_QUERY_WORDS = 24
"""Different ones that are searched for; a question has about ten."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_MOST_WORD_CHARACTERS = 40

_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "but",
        "by",
        "can",
        "could",
        "do",
        "does",
        "for",
        "from",
        "get",
        "give",
        "had",
        "has",
        "have",
        "help",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "let",
        "like",
        "me",
        "my",
        "need",
        "not",
        "of",
        "on",
        "or",
        "our",
        "out",
        "please",
        "should",
        "so",
        "some",
        "somebody",
        "something",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "up",
        "us",
        "use",
        "used",
        "using",
        "want",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "will",
        "with",
        "would",
        "you",
        "your",
    ]
)

_CONCEPTS = (
    "delete remove erase drop destroy discard unlink clear purge wipe",
    "directory folder dir",
    "fetch get download retrieve obtain pull",
    "search find query grep lookup locate seek",
    "create make new add generate build",
    "list show enumerate display browse",
    "update modify change edit alter adjust",
    "write save store put",
    "read view open load see inspect",
    "move rename relocate",
    "execute run invoke launch",
    "command shell terminal bash",
    "file document",
    "image picture photo screenshot",
    "website webpage page url site web",
    "repository repo",
    "issue ticket bug",
    "send post publish",
    "compare diff difference",
    "convert transform turn translate",
    "calculate compute evaluate arithmetic math",
    "database db",
    "row record entry document",
    "count number total many",
    "wait sleep pause delay",
    "copy duplicate clone",
    "log history",
    "click press tap",
    "chart graph plot diagram",
    "cell range spreadsheet sheet worksheet excel",
    "key keyboard",
    "paper article preprint publication",
)
_ENDINGS = ("ies", "ing", "ed", "es", "s")


def words(text: str) -> list[str]:
    """Split text at everything that is no letter or digit, and names at their capitals."""
    found = _WORD.findall(_CAMEL.sub(" ", text))
    return [word.lower() for word in found if len(word) <= _MOST_WORD_CHARACTERS]


def query_words(text: str) -> list[str]:
    """Give the different words of a query that say something; all if none does."""
    every = list(dict.fromkeys(words(text[:MOST_QUERY_CHARACTERS])))
    telling = [word for word in every if word not in _STOP]
    return (telling or every)[:MOST_QUERY_WORDS]


class Concepts:
    """Which words mean the same."""

    def __init__(self, groups: Iterable[str] = _CONCEPTS) -> None:
        """Take groups of words, each named by its first."""
        self._named: Mapping[str, tuple[str, ...]] = _by_word(groups)

    def of(self, word: str) -> tuple[str, ...]:
        """Give the concepts that a word belongs to."""
        return self._named.get(word) or self._named.get(stem(word), ())

    def among(self, found: Iterable[str]) -> list[str]:
        """Give the concepts of several words, each once."""
        return list(dict.fromkeys(one for word in found for one in self.of(word)))


def stem(word: str) -> str:
    """Cut an English ending, roughly: to look up a word, not to index it."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:  # noqa: PLR2004 what is left
            return word.removesuffix(ending).removesuffix("e")
    return word.removesuffix("e")


def _by_word(groups: Iterable[str]) -> dict[str, tuple[str, ...]]:
    named: dict[str, tuple[str, ...]] = {}
    for group in groups:
        name, *_ = members = group.split()
        for form in dict.fromkeys(form for word in members for form in (word, stem(word))):
            named[form] = (*named.get(form, ()), name)
    return named
