"""Inputs out of other inputs: cut, put in, turned over, repeated. Pure.

One way for both who need it: Hypothesis draws the edits in the tests, a seeded generator draws
them in a campaign. Repeating is what a fuzzer of single bytes never finds by itself: nesting a
thousand levels deep, numbers of hundreds of digits.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

MOST_BYTES = 20_000
"""Of one input: deep enough for every reader's stack, small enough to be fast."""

MOST_REPEATS = 3_000
KINDS = ("cut", "put", "turn", "repeat", "copy")


class Edit(NamedTuple):
    """One change; the numbers are taken modulo what there is."""

    kind: str
    at: int
    size: int
    number: int
    """Which word, which byte, how often."""


def edited(data: bytes, edits: Sequence[Edit], words: Sequence[bytes]) -> bytes:
    """Give the data after the edits, at most `MOST_BYTES` of it."""
    for edit in edits:
        data = _edited(data, edit, words)[:MOST_BYTES]
    return data


def drawn(chance: random.Random) -> list[Edit]:
    """Draw a few edits."""
    return [
        Edit(
            chance.choice(KINDS),
            chance.randrange(MOST_BYTES),
            chance.choice((1, 1, 2, 3, 5, 8, 40, 300)),
            chance.choice((chance.randrange(256), chance.randrange(MOST_REPEATS))),
        )
        for _ in range(chance.choice((1, 1, 2, 3, 5)))
    ]


def _edited(data: bytes, edit: Edit, words: Sequence[bytes]) -> bytes:
    at = edit.at % (len(data) + 1)
    before, part, after = data[:at], data[at : at + edit.size], data[at + edit.size :]
    if edit.kind == "cut":
        return before + after
    if edit.kind == "put":
        return before + words[edit.number % len(words)] + part + after
    if edit.kind == "turn":
        return before + bytes(byte ^ edit.number % 256 for byte in part) + after
    if edit.kind == "repeat":
        return before + part * (2 + edit.number % MOST_REPEATS) + after
    there = edit.number % (len(data) + 1)
    return data[:there] + part + data[there:]
