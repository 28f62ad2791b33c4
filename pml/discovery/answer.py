"""What was found, as the answer of `discover`: JSON for programs, one text for the model. Pure.

The text is TypeScript that can be pasted in front of a program; everything else in it is a line
comment. Whatever servers wrote is escaped, and the whole is bounded: what has no room is counted.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pml.discovery.declarations import call_path, declared, signature
from pml.discovery.escaping import line, visible_json
from pml.discovery.finding import Found, Wanted
from pml.discovery.index import Hit
from pml.model import Tool

MOST_ANSWER_CHARACTERS = 24_000
"""Of all declarations and schemas together: about six thousand tokens."""

MOST_SCHEMA_CHARACTERS = 16_000
"""Of one tool's schemas; the largest real one known to us has 9,000."""

MOST_NOTES = 20
"""Lines about servers."""

_MOST_NOTE_CHARACTERS = 200
_MOST_SERVERS = 60  # named in a hint
_MOST_WORDS_SHOWN = 80  # of what was looked for
_ID_CHARACTERS = 200


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The answer of `discover`."""

    facts: Mapping[str, Any]
    """`tools`, `total`, and `leftOut`, `hint`, `notes` if there are any."""

    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    """A tool as it is told."""

    tool: Tool
    score: float
    signature: str
    schemas: Mapping[str, Any] | None
    schema_text: str

    @property
    def size(self) -> int:
        return len(self.signature) + len(self.schema_text)

    def facts(self, *, is_ranked: bool) -> dict[str, Any]:
        return {
            "id": line(self.tool.id, _ID_CHARACTERS),
            "call": call_path(self.tool),
            "declaration": declared([(self.tool, self.signature)]),
            **({"score": round(self.score, 2)} if is_ranked else {}),
            **({"schema": self.schemas} if self.schemas is not None else {}),
        }


def answered(wanted: Wanted, found: Found, notes: Mapping[str, str] | None = None) -> Answer:
    """Give the answer; `notes` are words about servers, by name."""
    entries = list(_fitting(_entry(wanted, hit) for hit in found.hits))
    left_out = found.total - len(entries)
    hint = _hint(wanted, found, left_out)
    said = [_note(server, words) for server, words in list((notes or {}).items())[:MOST_NOTES]]
    facts: dict[str, Any] = {
        "tools": [one.facts(is_ranked=not wanted.name and bool(wanted.query)) for one in entries],
        "total": found.total,
        **({"leftOut": left_out} if left_out else {}),
        **({"hint": hint} if hint else {}),
        **({"notes": said} if said else {}),
    }
    return Answer(facts, "\n".join(_lines(entries, hint, said)))


def _lines(entries: list[_Entry], hint: str | None, notes: list[str]) -> Iterator[str]:
    if entries:
        yield declared((one.tool, one.signature) for one in entries)
    for one in entries:
        if one.schema_text:
            yield f"// schema of {call_path(one.tool)}: {one.schema_text}"
    yield from (f"// {words}" for words in ([hint] if hint else []) + notes)


def _fitting(entries: Iterable[_Entry]) -> Iterator[_Entry]:
    """Give entries while there is room; the first always has."""
    room = MOST_ANSWER_CHARACTERS
    for one in entries:
        room -= one.size
        if room < 0:
            return
        yield one


def _entry(wanted: Wanted, hit: Hit) -> _Entry:
    text = _schema_text(hit.tool) if wanted.name and wanted.schema else ""
    schemas = json.loads(text) if text else None
    return _Entry(hit.tool, hit.score, signature(hit.tool), schemas, text)


def _schema_text(tool: Tool) -> str:
    """Give a tool's schemas as one line of JSON in which everything is seen; none if too large."""
    schemas = {
        name: tool.definition[name]
        for name in ("inputSchema", "outputSchema", "annotations")
        if name in tool.definition
    }
    try:
        text = json.dumps(schemas, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return ""
    # Doubled, the backslash stays in the text after JSON has been read: seen there too.
    shown = visible_json(text, doubled=True)
    return shown if len(shown) <= MOST_SCHEMA_CHARACTERS else ""


def _note(server: str, words: str) -> str:
    return f"{line(server, _ID_CHARACTERS)}: {line(words, _MOST_NOTE_CHARACTERS)}"


def _hint(wanted: Wanted, found: Found, left_out: int) -> str | None:
    """Say what to do next, if there is something."""
    if left_out:
        return f"{left_out} more fit: ask more precisely, or with a pattern such as `server:*`"
    if found.hits:
        return None
    what = line(wanted.words, _MOST_WORDS_SHOWN)
    missing = f"nothing fits `{what}`" if what else "say what you want to do, in `query`"
    if found.nearest:
        names = ", ".join(f"`{line(name, _ID_CHARACTERS)}`" for name in found.nearest)
        return f"{missing}; near to it: {names}"
    return f"{missing}; {_servers(found)}"


def _servers(found: Found) -> str:
    if not found.servers:
        return "no server has tools"
    shown = [f"{line(name, _ID_CHARACTERS)} ({n})" for name, n in found.servers[:_MOST_SERVERS]]
    if (more := len(found.servers) - _MOST_SERVERS) > 0:
        shown.append(f"{more} more")
    return f"tools by server: {', '.join(shown)}"
