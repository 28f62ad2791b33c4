"""What is indexed of a tool: stemmed words and concepts, each with what it counts. Pure.

A word counts by the best of its places: the name, the first sentence, the rest. What a server
wrote is untrusted: only so much of it is read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pml.discovery.words import Concepts, name_words, stem, words
from pml.model import Tool

_MOST_TEXT_CHARACTERS = 4_000
"""Of a description, or of all parameters: what a tool does is said first."""

_MOST_PARAMETERS = 200
_NAME = 1.0
_SERVER = 0.5
_SUMMARY = 0.7  # the title and the first sentence
_DESCRIPTION = 0.35
_PARAMETER = 0.2
_SAID_OF_PARAMETERS = 0.2

_SENTENCE = re.compile(r"[.!?:]\s|\n\s*\n")


def name_terms(tool: Tool) -> tuple[str, ...]:
    """Give the words of a tool's own name."""
    return tuple(dict.fromkeys(stem(word) for word in name_words(tool.name)))


def weighted_terms(tool: Tool, concepts: Concepts) -> dict[str, float]:
    """Give all terms of a tool with what they count."""
    found: dict[str, float] = {}
    for weight, place in _places(tool):
        for term in {stem(word) for word in place}:
            for one in (term, *concepts.of(term)):
                found[one] = max(weight, found.get(one, 0.0))
    return found


def _places(tool: Tool) -> Iterator[tuple[float, Iterable[str]]]:
    """Give the words of each place, and what they count there."""
    text = tool.description[:_MOST_TEXT_CHARACTERS]
    first = _SENTENCE.search(text.strip())
    end = first.start() + 1 if first else len(text)
    title = tool.definition.get("title")
    yield _NAME, name_words(tool.name)
    yield _SERVER, name_words(tool.server)
    yield _SUMMARY, words(text.strip()[:end])
    yield _SUMMARY, words(title[:_MOST_TEXT_CHARACTERS]) if isinstance(title, str) else ()
    yield _DESCRIPTION, words(text)
    names, said = _parameters(tool)
    yield _PARAMETER, name_words(" ".join(names)[:_MOST_TEXT_CHARACTERS])
    yield _SAID_OF_PARAMETERS, words(" ".join(said)[:_MOST_TEXT_CHARACTERS])


def _parameters(tool: Tool) -> tuple[list[str], list[str]]:
    """Give the names of the parameters, of one level, and what is said of them."""
    schema = tool.definition.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return [], []
    some: list[tuple[str, Any]] = list(properties.items())[:_MOST_PARAMETERS]
    schemas = [one for _, one in some if isinstance(one, Mapping)]
    said = [one.get("description") for one in schemas]
    for one in schemas:
        said += one["enum"][:_MOST_PARAMETERS] if isinstance(one.get("enum"), list) else []
    return [name for name, _ in some], [one for one in said if isinstance(one, str)]
