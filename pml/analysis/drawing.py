"""A shape as text: a tree for terminals, a Mermaid flowchart, plain data for machines. Pure.

Names and sources are the program's. In trees and charts they are cut and escaped here, so that
nothing in them can be obeyed by a terminal or read as a chart; data is exact.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pml.analysis.findings import (
    Branch,
    Call,
    Dynamic,
    Expression,
    Function,
    Loop,
    Parallel,
    Step,
    Steps,
)

MOST_DRAWN = 500
"""Steps of a tree or chart: more are not read."""

_SHOWN_CHARACTERS = 100
_CHART_SAFE = frozenset(" _-.:/,=")  # beside letters and digits: no part of Mermaid's syntax
_BRANCHES = {
    "catch": "catch: if it fails",
    "either": "one of",
    "switch": "switch: one of",
}

Notes = Mapping[str, str]
"""What to write beside a tool."""


def escaped(text: str) -> str:
    """Cut, and escape what a terminal would obey; one line."""
    cut = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
    return "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in cut)


def tree(shape: Steps, notes: Notes) -> list[str]:
    """Give the lines of a tree."""
    lines: list[str] = []
    _grow(_entries(shape, notes), "", lines)
    more = len(lines) - MOST_DRAWN
    return lines if more <= 0 else [*lines[:MOST_DRAWN], f"… {more} more lines"]


def mermaid(shape: Steps, notes: Notes) -> str:
    """Give a flowchart."""
    chart = _Chart(notes)
    ends = chart.draw(shape, [chart.node("([{}])", "start")])
    chart.node("([{}])", "end of the program", ends)
    return "\n".join(["flowchart TD", *chart.lines])


def as_data(steps: Steps) -> list[dict[str, Any]]:
    """Give steps as JSON values."""
    return [_data(step) for step in steps]


def arguments_data(value: Any) -> Any:
    """Give arguments as JSON values; `{"$expression": "..."}` is known only when it runs."""
    match value:
        case Expression(text=text):
            return {"$expression": text}
        case dict():
            return {key: arguments_data(one) for key, one in value.items()}
        case list() | tuple():
            return [arguments_data(one) for one in value]
    return value


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    label: str
    inside: "list[_Entry]" = dataclasses.field(default_factory=list)


def _entries(steps: Steps, notes: Notes) -> list[_Entry]:
    return [_entry(step, notes) for step in steps]


def _entry(step: Step, notes: Notes) -> _Entry:
    label = _label(step, notes)
    match step:
        case Parallel(branches=arms) | Branch(arms=arms):
            return _Entry(label, [_arm(arm, notes) for arm in arms])
        case Loop(body=body) | Function(body=body):
            return _Entry(label, _entries(body, notes))
    return _Entry(label)


def _arm(steps: Steps, notes: Notes) -> _Entry:
    inside = _entries(steps, notes)
    return inside[0] if len(inside) == 1 else _Entry("in sequence", inside)


def _grow(entries: Sequence[_Entry], indent: str, lines: list[str]) -> None:
    for number, entry in enumerate(entries, 1):
        is_last = number == len(entries)
        lines.append(f"{indent}{'└─' if is_last else '├─'} {entry.label}")
        _grow(entry.inside, f"{indent}{'   ' if is_last else '│  '}", lines)


def _label(step: Step, notes: Notes) -> str:
    match step:
        case Call(place=place):
            note = notes.get(step.tool)
            beside = f", {note}" if note else ""
            return f"{escaped(step.tool)} (line {place.line}{beside})"
        case Dynamic(place=place):
            return f"{whose(step)}: {escaped(step.text)} (line {place.line})"
        case Parallel(kind=kind):
            return f"Promise.{kind}: together"
        case Branch(kind=kind):
            return _BRANCHES.get(kind, f"{kind}: perhaps")
        case Loop(kind=kind):
            return f"{kind}: any number of times"
        case Function(name=name):
            return f"function {escaped(name)}: when called" if name else "callback: when called"


def whose(spot: Dynamic) -> str:
    """Say which tools a dynamic spot can reach."""
    return "any tool" if spot.server is None else f"any tool of {escaped(spot.server)}"


class _Chart:
    """A flowchart while it is drawn."""

    def __init__(self, notes: Notes) -> None:
        self.lines: list[str] = []
        self._notes = notes
        self._count = 0
        self._is_cut = False

    def node(self, form: str, label: str, before: Sequence[str] = (), arrow: str = "-->") -> str:
        name = f"n{self._count}"
        self._count += 1
        self.lines.append(f"  {name}{form.format(_quoted(label))}")
        self.lines += [f"  {one} {arrow} {name}" for one in before]
        return name

    def draw(self, steps: Steps, before: list[str]) -> list[str]:
        """Draw a sequence; give the nodes that it may end in."""
        for step in steps:
            if self._count >= MOST_DRAWN:
                if not self._is_cut:
                    self._is_cut = True
                    return [self.node("[{}]", "… more", before)]
                return before
            before = self._step(step, before)
        return before

    def _step(self, step: Step, before: list[str]) -> list[str]:
        label = _label(step, self._notes)
        match step:
            case Call():
                return [self.node("[{}]", label, before)]
            case Dynamic():
                return [self.node("{{{{{}}}}}", label, before)]
            case Parallel(branches=branches):
                fork = self.node("[/{}/]", label, before)
                return [end for arm in branches for end in self.draw(arm, [fork])]
            case Branch(arms=arms, kind=kind):
                choice = self.node("{{{}}}", label, before)
                ends = [end for arm in arms for end in self.draw(arm, [choice])]
                return ends if kind == "either" else [*ends, choice]
            case Loop(body=body):
                head = self.node("([{}])", label, before)
                ends = self.draw(body, [head])
                self.lines += [f"  {end} -. again .-> {head}" for end in ends]
                return [head]
            case Function(body=body):
                self.draw(body, [self.node("[[{}]]", label, before, "-.->")])
                return before


def _quoted(label: str) -> str:
    return '"' + "".join(_chart_safe(label)) + '"'


def _chart_safe(text: str) -> Iterator[str]:
    for character in text:
        is_safe = character.isalnum() or character in _CHART_SAFE
        yield character if is_safe else f"#{ord(character)};"


def _data(step: Step) -> dict[str, Any]:
    match step:
        case Call(place=place, arguments=given):
            known = None if given is None else arguments_data(given)
            return {"call": step.tool, "line": place.line, "column": place.column,
                    "arguments": known}  # fmt: skip
        case Dynamic():
            return {"dynamic": step.reason, "text": step.text, "server": step.server,
                    "line": step.place.line, "column": step.place.column}  # fmt: skip
        case Parallel(kind=kind, branches=branches):
            return {"parallel": kind, "branches": [as_data(one) for one in branches]}
        case Branch(kind=kind, arms=arms):
            return {"branch": kind, "arms": [as_data(one) for one in arms]}
        case Loop(kind=kind, body=body):
            return {"loop": kind, "body": as_data(body)}
        case Function(name=name, body=body):
            return {"function": name, "body": as_data(body)}
