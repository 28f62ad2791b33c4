"""Follows the chain line by line and stops at the first break. Pure: lines in, a verdict out.

Half a line that a crash left is no break if the next record tells of it, byte for byte. Any other
thing that a process found wrong when it went on is one, for ever: its record stays in the chain.
"""

import dataclasses
import json
from typing import Any

from pml.audit.records import MOST_LINE_BYTES, START, Link, is_cut, opened
from pml.audit.resuming import OPENED, PARTIAL, RECOVERED, rest_facts

_MOST_REST_BYTES = 4 * MOST_LINE_BYTES  # what is longer was never told of by a record

_WORDS = {
    "missing": "lines after {} were missing",
    "damaged": "what followed line {} was damaged",
    "head missing": "audit.head was missing",
    "head damaged": "audit.head was damaged",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A line, or with line 0 a whole file, and what is the matter with it."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        """Give one line."""
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.reason}"


class ChainBrokenError(Exception):
    """The first break; ends the reading, and never leaves this room."""

    def __init__(self, file: str, line: int, reason: str) -> None:
        """Name the place."""
        super().__init__(reason)
        self.place = Place(file, line, reason)


class Chain:
    """What was read so far."""

    def __init__(self, key: bytes, head: Link | str = "missing") -> None:
        """Begin before the first line."""
        self.key = key
        self.head = head
        """What the head says of the last line, or what is wrong with it."""

        self._last: Link | None = None
        self._rest = b""
        self._rest_at: Place | None = None
        self._expects: int | None = None  # the number of a file that has just begun
        self.count = 0
        self.partial: list[Place] = []

    def begin_file(self, number: int) -> None:
        """Expect the first line of a file."""
        self._expects = number

    def add(self, file: str, number: int, line: bytes) -> None:
        """Take a line, with its line break if it has one; raises `ChainBrokenError`."""
        found = opened(self.key, line.removesuffix(b"\n"))
        if found is None:
            reason = "it was changed, or written without the key"
            self._rest_at = self._rest_at or Place(file, number, reason)
            self._rest += line
            if len(self._rest) > _MOST_REST_BYTES:
                raise _broken(self._rest_at)
            return
        link, previous = found
        facts = self._looked_into(file, number, line) if self._is_special(line) else {}
        self._check_rest(facts)
        self._check_order(file, number, link, previous)
        _check_problems(file, number, facts)
        self._last = link
        self.count += 1

    def finish(self, last_file: str) -> None:
        """Take the end: what must be there and is not; raises `ChainBrokenError`."""
        last = self._last or START
        if self.head == "missing" and last == START and self._rest_at is None:
            return  # the first process is just about to write
        if self._rest_at is not None:
            if not is_cut(self._rest, last):
                raise _broken(self._rest_at)
            self._note_partial(self._rest_at)
        if isinstance(self.head, str):
            raise ChainBrokenError("audit.head", 0, f"it is {self.head}")
        if self.head.number > last.number:
            reason = f"{_lines(last.number + 1, self.head.number)} missing at the end"
            raise ChainBrokenError(last_file, 0, reason)

    def _is_special(self, line: bytes) -> bool:
        return self._expects is not None or b'"problems":[' in line

    def _looked_into(self, file: str, number: int, line: bytes) -> dict[str, Any]:
        """Give the facts of a record that begins a file or tells of a problem."""
        record = json.loads(line)
        event, facts = record["event"], record["facts"]
        if self._expects is not None:
            if event != OPENED or facts.get("file") != self._expects:
                raise ChainBrokenError(file, number, "it is not how this file began")
            self._expects = None
        return dict(facts) if event in (OPENED, RECOVERED) else {}

    def _check_rest(self, facts: dict[str, Any]) -> None:
        if self._rest_at is None:
            return
        told = {name: facts.get(name) for name in ("bytes", "rest")}
        is_told = told in (rest_facts(self._rest), rest_facts(self._rest.removesuffix(b"\n")))
        if not is_told or facts.get("problems") != [PARTIAL]:
            raise _broken(self._rest_at)
        self._note_partial(self._rest_at)

    def _note_partial(self, place: Place) -> None:
        reason = "half a line, left by a crash or a full disk"
        self.partial.append(dataclasses.replace(place, reason=reason))
        self._rest, self._rest_at = b"", None

    def _check_order(self, file: str, number: int, link: Link, previous: str) -> None:
        last = self._last
        if last is None:
            last = START if link.number == 1 else Link(link.number - 1, previous)
        due = last.number + 1
        if link.number > due:
            reason = f"{_lines(due, link.number - 1)} missing before it"
            raise ChainBrokenError(file, number, reason)
        if link.number < due or previous != last.hash:
            raise ChainBrokenError(file, number, f"it is line {link.number} where {due} is due")
        if self.head[0] == link.number and self.head != link:
            raise ChainBrokenError(file, number, "it is not the line that the head knows")


def _check_problems(file: str, number: int, facts: dict[str, Any]) -> None:
    for problem in facts.get("problems", ()):
        if problem != PARTIAL:
            reason = f"when it was written, {_WORDS[problem].format(facts['after'])}"
            raise ChainBrokenError(file, number, reason)


def _broken(place: Place) -> ChainBrokenError:
    return ChainBrokenError(place.file, place.line, place.reason)


def _lines(first: int, last: int) -> str:
    return f"line {first} is" if first == last else f"lines {first} to {last} are"
