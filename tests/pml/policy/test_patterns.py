"""What rules match, and which rule covers which: tables, then algebra against brute force."""

import fnmatch
import itertools

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pml.config import names
from pml.policy import rule_covers, rule_matches
from pml.policy.patterns import normal, specificity

SERVERS = st.text("ab*?", min_size=1, max_size=4)
TOOLS = st.text("ab/*?", min_size=1, max_size=5)
RULES = SERVERS | st.tuples(SERVERS, TOOLS).map(":".join)
IDS = st.tuples(st.text("abz", min_size=1, max_size=4), st.text("abz/:", max_size=6)).map(":".join)


@pytest.mark.parametrize(
    ("rule", "tool"),
    [
        ("*", "github:get_issue"),
        ("*", "a:b:c"),
        ("*:*", "a:b"),
        ("github", "github:get_issue"),
        ("github:*", "github:get_issue"),
        ("github:get_issue", "github:get_issue"),
        ("filesystem:read_*", "filesystem:read_"),
        ("filesystem:read_*", "filesystem:read_text_file"),
        ("git*", "github:x"),
        ("git*:?et", "gitlab:get"),
        ("*:delete_*", "github:delete_repo"),
        ("a:*", "a:b/c.d-e"),
        ("a:*", "a:b\nc"),
        ("a:*c", "a:b:c"),
        ("a:?", "a::"),
    ],
)
def test_a_rule_matches(rule: str, tool: str) -> None:
    assert rule_matches(rule, tool)


@pytest.mark.parametrize(
    ("rule", "tool"),
    [
        ("github", "github2:x"),
        ("github", "GitHub:x"),
        ("github:Get", "github:get"),
        ("hub", "github:x"),
        ("github:get", "github:get_issue"),
        ("github:get_issue", "x-github:get_issue"),
        ("git?", "git:x"),
        ("a:b?", "a:b"),
        ("a:b", "a:b\n"),
        ("a*", "b:a"),
        ("*b", "a:b"),  # a wildcard in the server part never reaches into the tool's name
        ("a?b:*", "a:b:c"),
        ("a:b.c", "a:bxc"),  # a point is a point
        ("a:b+", "a:bb"),
    ],
)
def test_a_rule_does_not_match(rule: str, tool: str) -> None:
    assert not rule_matches(rule, tool)


def test_many_wildcards_against_a_name_made_to_be_slow() -> None:
    # attack: a program chooses the name it calls, to keep the host busy with a pattern
    rule = "a:" + "*a" * 60 + "*b"
    assert not rule_matches(rule, "a:" + "a" * 20_000)
    assert not rule_covers(rule, "a:" + "a?*" * 40)


@given(RULES, IDS)
def test_a_rule_matches_what_the_globs_of_its_two_parts_match(rule: str, tool: str) -> None:
    server, _, name = tool.partition(":")
    rule_server, colon, rule_name = rule.partition(":")
    by_parts = fnmatch.fnmatchcase(server, rule_server) and (
        not colon or fnmatch.fnmatchcase(name, rule_name)
    )
    assert rule_matches(rule, tool) == by_parts


@given(RULES, IDS)
def test_the_normal_form_means_the_same(rule: str, tool: str) -> None:
    assert rule_matches(normal(rule), tool) == rule_matches(rule, tool)
    assert normal(normal(rule)) == normal(rule)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("*", "a:b"),
        ("*", "a"),
        ("*:*", "*"),
        ("a", "a:*"),
        ("a:*", "a"),
        ("a:read_*", "a:read_file"),
        ("a:*e*", "a:re?d*"),
        ("a:?*", "a:*?"),
        ("a:*?", "a:?*"),
        ("a:??*", "a:*x?"),
        ("a:?*", "a:b*"),
        ("a:x?*y", "a:x*zy"),
        ("g*", "git*:x"),
    ],
)
def test_a_rule_covers(wide: str, narrow: str) -> None:
    assert rule_covers(wide, narrow)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("a:b", "*"),
        ("a:?*", "a:*"),
        ("a:?", "a:*"),
        ("a:b?", "a:b*"),
        ("a:read_*", "a:*"),
        ("a", "b"),
        ("*:x", "*"),
        ("a:b", "a:?"),
        ("a:x*yw", "a:x*y*w"),
        ("a?", "a*"),
    ],
)
def test_a_rule_does_not_cover(a: str, b: str) -> None:
    assert not rule_covers(a, b)


def all_names(longest: int) -> list[str]:
    """Every name over two letters that rules use and one that none does."""
    sizes = range(longest + 1)
    return ["".join(word) for size in sizes for word in itertools.product("abz", repeat=size)]


NAMES = all_names(7)
SMALL = st.text("ab*?", min_size=1, max_size=4)


@given(SMALL, SMALL)
@example("*?a*", "a*?a")
@example("?*a", "*a?a")
def test_covering_is_exactly_matching_all_that_the_other_matches(a: str, b: str) -> None:
    # 7 letters are enough: 4 that a rule demands, and one more for a `*` of either
    by_force = all(fnmatch.fnmatchcase(name, a) for name in NAMES if fnmatch.fnmatchcase(name, b))
    assert rule_covers(f"s:{a}", f"s:{b}") == by_force
    assert rule_covers(a, b) == by_force  # the same in the server part


@given(RULES, RULES, IDS)
def test_what_a_covered_rule_matches_the_covering_one_matches(a: str, b: str, tool: str) -> None:
    if rule_covers(a, b) and rule_matches(b, tool):
        assert rule_matches(a, tool)


@given(RULES, RULES, RULES)
def test_covering_is_a_preorder_with_a_greatest_rule(a: str, b: str, c: str) -> None:
    assert rule_covers(a, a)
    assert rule_covers("*", a)
    if rule_covers(a, b) and rule_covers(b, c):
        assert rule_covers(a, c)


@given(RULES, RULES)
def test_a_narrower_rule_sorts_before_a_wider_one(a: str, b: str) -> None:
    if rule_covers(a, b) and not rule_covers(b, a):
        assert specificity(b) < specificity(a)


@given(RULES, IDS)
def test_a_tool_id_used_as_a_rule_is_covered_by_what_matches_it(rule: str, tool: str) -> None:
    assume(names.pattern(tool) is None)  # as "Always" appends it
    assert rule_covers(rule, tool) == rule_matches(rule, tool)
