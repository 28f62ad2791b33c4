"""Decisions: the table of precedence, then the algebra that no order of rules can change."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.config import Permissions, Spot
from pml.model import Outcome, Tool
from pml.policy import decide, rule_covers, rule_matches, visible

ALLOW, ASK, DENY = Outcome.ALLOW, Outcome.ASK, Outcome.DENY
STRICTNESS = [ALLOW, ASK, DENY]

RULES = st.sampled_from(
    ["*", "a", "b", "a:*", "*:r*", "a:r", "a:rx", "a:r?", "a:?*", "?:w", "b:w", "a*", "b:*x"]
)
LISTS = st.lists(RULES, max_size=4)
PERMISSIONS = st.builds(
    lambda allow, ask, deny: Permissions(tuple(allow), tuple(ask), tuple(deny)),
    LISTS,
    LISTS,
    LISTS,
)
TOOLS = st.sampled_from(["a:r", "a:rx", "a:w", "b:w", "b:rx", "ab:r", "c:z", "a", "a:", "a:r:x"])


def outcome(tool: str, permissions: Permissions) -> Outcome:
    return decide(tool, permissions).outcome


def strictness(tool: str, permissions: Permissions) -> int:
    return STRICTNESS.index(outcome(tool, permissions))


@pytest.mark.parametrize(
    ("allow", "ask", "deny", "expected"),
    [
        ((), (), (), ASK),
        (("*",), (), (), ALLOW),
        (("fs:read",), (), (), ALLOW),
        (("fs:write",), (), (), ASK),
        (("*",), ("fs",), (), ASK),
        (("fs:read",), ("*",), (), ASK),  # even if the allowing rule is the narrower one
        (("*",), ("*",), ("fs:read",), DENY),
        (("fs:read",), (), ("*",), DENY),
        ((), ("fs:read",), ("f*:r*",), DENY),
    ],
)
def test_deny_wins_over_ask_over_allow_and_unknown_asks(
    allow: tuple[str, ...], ask: tuple[str, ...], deny: tuple[str, ...], expected: Outcome
) -> None:
    decision = decide("fs:read", Permissions(allow, ask, deny))
    assert (decision.tool, decision.outcome) == ("fs:read", expected)


def test_globs_decide_as_they_are_documented() -> None:
    # the original documented `filesystem:read_*` and matched nothing with it
    permissions = Permissions(allow=("filesystem:read_*",))
    assert outcome("filesystem:read_text_file", permissions) is ALLOW
    assert outcome("filesystem:write_file", permissions) is ASK


def test_a_decision_names_the_rule_and_its_place() -> None:
    spot = Spot(Path("/home/a/.pml.json"), 4, 12)
    permissions = Permissions(
        deny=("github:delete_*",), places={("deny", "github:delete_*"): spot}
    )
    decision = decide("github:delete_repo", permissions)
    assert (decision.rule, decision.place) == ("github:delete_*", ".pml.json:4:12")


def test_the_place_is_that_of_the_list_that_decided() -> None:
    file = Path("/w/.pml.json")
    places = {("allow", "a"): Spot(file, 1, 1), ("deny", "a"): Spot(file, 2, 2)}
    assert decide("a:b", Permissions(allow=("a",), deny=("a",), places=places)).place == (
        ".pml.json:2:2"
    )


def test_without_a_rule_there_is_no_rule_and_no_place() -> None:
    decision = decide("x:y", Permissions(allow=("a",)))
    assert (decision.rule, decision.place) == (None, None)


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        (("*", "a", "a:r*", "a:read"), "a:read"),
        (("*", "a:r*", "a:*"), "a:r*"),
        (("a:*d", "a:rea?", "a:r???"), "a:rea?"),
        (("a:????", "a:*"), "a:????"),
        (("a", "*"), "a"),
        (("a", "a:*"), "a"),  # the same rule, spelled twice
    ],
)
def test_the_narrowest_rule_of_the_list_is_named(rules: tuple[str, ...], named: str) -> None:
    for order in (rules, tuple(reversed(rules))):
        assert decide("a:read", Permissions(deny=order)).rule == named


def test_decisions_are_remembered_for_one_object_only() -> None:
    first, second = Permissions(allow=("a",)), Permissions(deny=("a",))
    assert (outcome("a:b", first), outcome("a:b", second)) == (ALLOW, DENY)
    assert decide("a:b", first) is decide("a:b", first)
    assert first == Permissions(allow=("a",))  # what is remembered is no part of the value


def test_endless_different_names_fill_no_memory() -> None:
    # attack: a program calls `mcp.a[n]` for n = 0, 1, 2, ...
    permissions = Permissions(allow=("a",))
    for number in range(5000):
        assert outcome(f"a:{number}", permissions) is ALLOW
    decide("a:" + "x" * 100_000, permissions)
    kept = permissions.memo["policy"].decided
    assert len(kept) <= 1024
    assert max(map(len, kept)) <= 256


def test_denied_tools_are_in_no_listing() -> None:
    tools = [Tool("a", "read", {}), Tool("a", "wipe", {}), Tool("b", "x", {})]
    shown = visible(tools, Permissions(allow=("a:read",), deny=("*:wipe",)))
    assert [tool.id for tool in shown] == ["a:read", "b:x"]
    assert visible(tools, Permissions(deny=("*",))) == ()


@given(PERMISSIONS, TOOLS, st.randoms())
def test_the_order_of_rules_is_no_matter(
    permissions: Permissions, tool: str, random: object
) -> None:
    def shuffled(rules: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(random.sample(rules, len(rules)))  # type: ignore[attr-defined]

    other = Permissions(
        shuffled(permissions.allow), shuffled(permissions.ask), shuffled(permissions.deny)
    )
    assert decide(tool, other) == decide(tool, permissions)


@given(PERMISSIONS, RULES, TOOLS)
def test_a_deny_more_only_makes_stricter(permissions: Permissions, rule: str, tool: str) -> None:
    more = Permissions(permissions.allow, permissions.ask, (*permissions.deny, rule))
    assert strictness(tool, more) >= strictness(tool, permissions)
    assert (outcome(tool, more) is DENY) == (
        rule_matches(rule, tool) or outcome(tool, permissions) is DENY
    )


@given(PERMISSIONS, RULES, TOOLS)
def test_an_ask_more_takes_back_an_allow_and_changes_nothing_else(
    permissions: Permissions, rule: str, tool: str
) -> None:
    more = Permissions(permissions.allow, (*permissions.ask, rule), permissions.deny)
    before, after = outcome(tool, permissions), outcome(tool, more)
    assert after is (ASK if before is ALLOW and rule_matches(rule, tool) else before)


@given(PERMISSIONS, RULES, TOOLS)
def test_an_allow_more_frees_only_what_no_rule_speaks_of(
    permissions: Permissions, rule: str, tool: str
) -> None:
    more = Permissions((*permissions.allow, rule), permissions.ask, permissions.deny)
    before, after = decide(tool, permissions), decide(tool, more)
    if before.rule is None and rule_matches(rule, tool):
        assert (after.outcome, after.rule) == (ALLOW, rule)
    else:
        assert after.outcome is before.outcome


@given(PERMISSIONS, TOOLS)
def test_what_decided_is_a_matching_rule_of_the_strictest_list_that_has_one(
    permissions: Permissions, tool: str
) -> None:
    lists = {DENY: permissions.deny, ASK: permissions.ask, ALLOW: permissions.allow}
    matching = {
        key: [rule for rule in rules if rule_matches(rule, tool)] for key, rules in lists.items()
    }
    decision = decide(tool, permissions)
    strictest = next((key for key, rules in matching.items() if rules), None)
    assert decision.outcome is (strictest or ASK)
    if strictest is None:
        assert decision.rule is None
        return
    assert decision.rule in matching[strictest]
    for rule in matching[strictest]:  # none is strictly narrower than the one that is named
        assert rule_covers(rule, decision.rule) or not rule_covers(decision.rule, rule)


@given(PERMISSIONS, TOOLS)
def test_repeating_a_rule_changes_nothing(permissions: Permissions, tool: str) -> None:
    twice = Permissions(permissions.allow * 2, permissions.ask * 2, permissions.deny * 2)
    assert decide(tool, twice) == decide(tool, permissions)
