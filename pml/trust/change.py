"""One difference between what is trusted and what the file says, in words that cannot mislead.

Text of the file is untrusted: control and bidirectional characters are escaped, and what is cut is
said to be cut. Pure.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from pml.config.spots import JsonPath, dotted

Kind = Literal["tightened", "loosened", "changed"]
"""Applies at once; waits for the human; is neither more nor less but other, and waits too."""

MOST_CHARACTERS = 4000
"""Of one value: the human must see what a command does; a longer one is told to be longer."""


_HASH = re.compile(r"hash:[0-9a-f]{64}")
_UNKNOWN = "(a value of which only a hash was kept)"


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """A difference for a human; all text in it may be shown as it is."""

    path: str
    """`permissions.allow`, `mcpServers.github.command`."""

    kind: Kind
    old: str | None
    new: str | None
    sentence: str
    server: str | None = None
    """Whose it is, if it is a server's."""

    @property
    def waits(self) -> bool:
        """Say whether it waits for the human."""
        return self.kind != "tightened"


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """The same with the values of two statements, as they are."""

    path: JsonPath
    kind: Kind
    old: Any
    new: Any
    """None is a value that is not there."""

    sentence: str
    server: str | None = None

    def told(self, readable: Mapping[str, str]) -> Change:
        """Word it for a human, who sees values in place of the hashes that we know."""
        return Change(
            dotted(self.path),
            self.kind,
            None if self.old is None else _worded(_seen(self.old, readable)),
            None if self.new is None else _worded(_seen(self.new, readable)),
            escaped(_seen(self.sentence, readable)),
            self.server,
        )


def direction(*, looser: bool) -> Kind:
    """Say which way a value went."""
    return "loosened" if looser else "tightened"


def escaped(text: str) -> str:
    """Escape what a terminal would obey or not show; cap, and say so."""
    shown = "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
    more = len(shown) - MOST_CHARACTERS
    return shown if more <= 0 else f"{shown[:MOST_CHARACTERS]}… ({more} more characters)"


def _worded(value: Any) -> str:
    """Write a value: text as it is, other things as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return escaped(text)


def _seen(value: Any, readable: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _HASH.sub(lambda match: readable.get(match[0], _UNKNOWN), value)
    if isinstance(value, Mapping):
        return {key: _seen(inner, readable) for key, inner in value.items()}
    return [_seen(inner, readable) for inner in value] if isinstance(value, list) else value
