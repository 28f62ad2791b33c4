"""Decides: deny over ask over allow, and what no rule speaks of asks.

Runs on every call of every program, so rules are compiled once for each `Permissions` object and
what was decided lately is remembered there.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from pml.config import Permissions, Spot
from pml.model import Decision, Outcome, Tool
from pml.policy.patterns import is_exact, matcher, specificity

_ORDER = Outcome.DENY, Outcome.ASK, Outcome.ALLOW
"""The first that speaks of a tool decides."""

_MOST_KEPT = 1024  # decisions: a program could ask for endless different names
_KEPT_CHARACTERS = 256  # of a tool id: longer ones are no tool's
_KEY = "policy"


def decide(tool: str, permissions: Permissions) -> Decision:
    """Say what may become of a call of a tool, and by which rule; the order of rules is no matter.

    Of several rules of the deciding list the narrowest is named. A tool that no rule speaks of
    asks, with no rule.
    """
    rules = permissions.memo.get(_KEY)
    if rules is None:
        rules = permissions.memo[_KEY] = _Rules(permissions)
    known: Decision | None = rules.decided.get(tool)
    return known or rules.decide(tool)


def visible(tools: Iterable[Tool], permissions: Permissions) -> tuple[Tool, ...]:
    """Give the tools that may be shown: what is denied is in no listing."""
    return tuple(
        tool for tool in tools if decide(tool.id, permissions).outcome is not Outcome.DENY
    )


class _Rules:
    """The compiled form of a `Permissions` object."""

    def __init__(self, permissions: Permissions) -> None:
        self.decided: dict[str, Decision] = {}
        self._lists = [
            _List(outcome, getattr(permissions, outcome), permissions.places) for outcome in _ORDER
        ]

    def decide(self, tool: str) -> Decision:
        found = (one.decision(tool) for one in self._lists)
        decision = next(filter(None, found), None) or Decision(tool, Outcome.ASK)
        if len(tool) <= _KEPT_CHARACTERS:
            if len(self.decided) >= _MOST_KEPT:
                self.decided.clear()
            self.decided[tool] = decision
        return decision


class _List:
    """One of the three lists: the exact names, then patterns from narrow to wide."""

    def __init__(
        self, outcome: Outcome, rules: Sequence[str], places: Mapping[tuple[str, str], Spot]
    ) -> None:
        self._outcome = outcome
        self._places = {rule: _place(places.get((outcome, rule))) for rule in rules}
        self._exact = {rule for rule in rules if is_exact(rule)}
        wide = sorted(set(rules) - self._exact, key=specificity)
        self._wide: list[tuple[str, re.Pattern[str]]] = [(rule, matcher(rule)) for rule in wide]

    def decision(self, tool: str) -> Decision | None:
        rule = tool if tool in self._exact else self._widely(tool)
        if rule is None:
            return None
        return Decision(tool, self._outcome, rule, self._places[rule])

    def _widely(self, tool: str) -> str | None:
        whole = tool if ":" in tool else f"{tool}:"
        return next((rule for rule, pattern in self._wide if pattern.fullmatch(whole)), None)


def _place(spot: Spot | None) -> str | None:
    return None if spot is None else f"{spot.file.name}:{spot.line}:{spot.column}"
