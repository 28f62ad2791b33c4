"""Words of names, descriptions and queries: split, stemmed, without the empty ones. Pure.

A name is taken apart at its capitals; in prose `GitHub` is one word. What several words mean
together, and which words mean the same, is told by `thesaurus`.
"""

import re
from collections.abc import Iterable, Mapping

from pml.discovery.thesaurus import EMPTY, GROUPS, PHRASES

MOST_QUERY_CHARACTERS = 1_000
"""Of a query; the rest is not read."""

MOST_QUERY_WORDS = 24
"""Different ones that are searched for; a question has about ten."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_FILE = re.compile(r"(?<![\w/])[\w*-]+\.(?!com\b|org\b|net\b|io\b)([a-z]{1,4}\d?)\b")
_MOST_WORD_CHARACTERS = 40
_OBJECT = r"((?: \w+){0,4}?) "
_PHRASES = tuple(
    (re.compile(rf"\b{said.replace(' ... ', _OBJECT)}\b"), meant)
    for said, meant in PHRASES.items()
)
_VOWEL = re.compile("[aeiouy]")


def words(text: str) -> list[str]:
    """Split prose; `dryRun` is two words, `GitHub` is one."""
    return name_words(" ".join(
        word.lower() if word[0].isupper() else word for word in _WORD.findall(text)
    ))  # fmt: skip


def name_words(text: str) -> list[str]:
    """Split a name, at its capitals too."""
    found = _WORD.findall(_CAMEL.sub(" ", text))
    return [word.lower() for word in found if len(word) <= _MOST_WORD_CHARACTERS]


def stem(word: str) -> str:
    """Cut English endings, roughly: forms of one word come out the same."""
    word = _singular(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) > 2 and _VOWEL.search(rest):  # noqa: PLR2004 what is left
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    if word.endswith(("tion", "sion")) and len(word) > 7:  # noqa: PLR2004 not `notion`
        word = word[:-3]
    if word.endswith("ly") and len(word) > 5:  # noqa: PLR2004 not `apply`
        word = word[:-2]
    word = word.removesuffix("e") if len(word) > 3 else word  # noqa: PLR2004 not `the`
    if word.endswith("is") and len(word) > 5:  # noqa: PLR2004 not `this`
        word = f"{word[:-1]}z"
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > 3 else word  # noqa: PLR2004 `key`


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:  # noqa: PLR2004 not `ties`
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and len(word) > 3 and word[-2] not in "sui":  # noqa: PLR2004 not `gas`
        return word[:-1]
    return word


class Concepts:
    """Which words mean the same."""

    def __init__(self, groups: Iterable[str] = GROUPS) -> None:
        """Take groups of words, each named by its first."""
        named: dict[str, tuple[str, ...]] = {}
        for group in groups:
            name, *_ = members = [stem(word) for word in group.split()]
            for one in dict.fromkeys(members):
                named[one] = (*named.get(one, ()), f"={name}")
        self._named: Mapping[str, tuple[str, ...]] = named

    def of(self, stemmed: str) -> tuple[str, ...]:
        """Give the concepts that a stemmed word belongs to, as terms that no word is."""
        return self._named.get(stemmed, ())


_EMPTY = frozenset(map(stem, EMPTY.split()))


def query_words(text: str) -> list[str]:
    """Give the different words of a query that say something, not stemmed; all if none does."""
    plain = words(_FILE.sub(r" file \1 ", text[:MOST_QUERY_CHARACTERS]))
    every = list(dict.fromkeys(_meant(" ".join(plain)).split()))
    telling = [word for word in every if stem(word) not in _EMPTY and not word.isdecimal()]
    return (telling or every)[:MOST_QUERY_WORDS]


def _meant(text: str) -> str:
    """Replace phrases by what they mean."""
    for phrase, meant in _PHRASES:
        text = phrase.sub(f"{meant} \\1" if phrase.groups else meant, text)
    return text
