"""Rules of permissions, and tool ids that a program chose.

Promised: a rule matches what its words say (a second matcher, written plainly, agrees); a rule
that covers another matches all that it does; one more denial never widens; and of two sets of
rules what may be used is at most what either allows.
"""

from functools import lru_cache

from pml.config import Permissions
from pml.model import Outcome
from pml.policy import decide, rule_covers, rule_matches
from pml.policy.patterns import normal
from pml.trust.permissions import both

WORDS = (
    b"*",
    b"?",
    b":",
    b"a",
    b"b",
    b"git:",
    b"*:*",
    b"\n",
    b"-",
    b"??*",
    b"a*b",
    b".",
    b"[",
    b"\\",
    b"(",
    b"^",
    b"$",
)
_MOST = 24  # characters of one rule: the plain matcher is slow
_RANK = {Outcome.DENY: 0, Outcome.ASK: 1, Outcome.ALLOW: 2}


def one(data: bytes) -> None:
    """Take lines: the first is a tool's id, the others are rules."""
    tool, *rules = [line[:_MOST] for line in data.decode(errors="replace").split("\n")[:7]]
    for rule in rules:
        assert rule_matches(rule, tool) == _plainly(rule, tool), (rule, tool)
        assert normal(normal(rule)) == normal(rule)
        for other in rules:
            if rule_covers(rule, other) and rule_matches(other, tool):
                assert rule_matches(rule, tool), (rule, other, tool)
    half = len(rules) // 2
    old = Permissions(tuple(rules[:half]), tuple(rules[half:][:1]), ())
    new = Permissions(tuple(rules[half:]), (), tuple(rules[:1]))
    now = _RANK[decide(tool, both(old, new)).outcome]
    assert now <= min(_RANK[decide(tool, one).outcome] for one in (old, new))
    denied = Permissions(old.allow, old.ask, tuple(rules[-1:]))
    assert _RANK[decide(tool, denied).outcome] <= _RANK[decide(tool, old).outcome]


def _plainly(rule: str, tool: str) -> bool:
    server, colon, name = rule.partition(":")
    theirs, _, called = tool.partition(":")
    return _glob(server, theirs) and _glob(name if colon else "*", called)


@lru_cache(10_000)
def _glob(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return _glob(pattern[1:], text) or (bool(text) and _glob(pattern, text[1:]))
    return bool(text) and pattern[0] in ("?", text[0]) and _glob(pattern[1:], text[1:])
