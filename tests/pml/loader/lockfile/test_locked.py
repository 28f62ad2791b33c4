"""What a fetched thing is beside what is locked; what the human is asked; what is cleaned."""

import dataclasses

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pml.config import Permissions
from pml.fqdn import Fqdn, IntegrityInvalidError, integrity_of
from pml.loader.lockfile import (
    Changed,
    IntegrityApprovalRequired,
    IntegrityError,
    Known,
    LockEntry,
    Lockfile,
    LockfileMovedError,
    New,
    compared,
    compared_definitions,
    definitions_of,
)
from pml.loader.lockfile.reading import parse, written
from pml.model import Tool
from pml.policy import rule_matches
from pml.routing import Routing

from .conftest import AT, entry, name

TAVILY = "pml.mcp.tavily.server"
OLD = "sha256-d7e8" + "0" * 60
NEW = "sha256-f9a0" + "1" * 60


def tavily(integrity: str = OLD) -> LockEntry:
    return LockEntry(integrity, AT, "http", Routing.SERVER)


def locked() -> Lockfile:
    return Lockfile().add(name(f"{TAVILY}.d7e8"), tavily())


def changed(integrity: str = NEW, **facts) -> Changed:
    given = {"type": "http", "routing": Routing.SERVER} | facts
    found = locked().check(Fqdn.parse(TAVILY), integrity, **given)
    assert isinstance(found, Changed)
    return found


# --- comparing -------------------------------------------------------------------------------------


def test_what_is_locked_by_no_name_is_new():
    found = Lockfile().check(name(TAVILY), OLD, "http", Routing.SERVER)
    assert found == New()


def test_what_is_as_it_was_is_known():
    found = locked().check(name(f"{TAVILY}.d7e8"), OLD, "http", Routing.SERVER)
    assert found == Known(tavily())
    assert locked().check(name(TAVILY), OLD, "http", Routing.SERVER) == found


@pytest.mark.parametrize(
    ("facts", "what"),
    [
        ({"integrity": NEW}, ("integrity", OLD, NEW)),
        ({"integrity": OLD[:-1] + "1"}, ("integrity", OLD, OLD[:-1] + "1")),
        ({"integrity": OLD, "routing": Routing.CLIENT}, ("routing", "server", "client")),
        ({"integrity": OLD, "type": "stdio"}, ("type", "http", "stdio")),
    ],
)
def test_whatever_is_not_as_it_was_is_a_question(facts, what):
    assert changed(**facts).differences == (what,)


def test_content_that_its_name_does_not_ask_for_is_refused():
    """Attack: the right hash of something else, served under this name."""
    with pytest.raises(IntegrityError) as caught:
        locked().check(name(f"{TAVILY}.d7e8"), NEW, "http", Routing.SERVER)
    assert (caught.value.expected, caught.value.actual) == ("d7e8", "f9a0")
    with pytest.raises(IntegrityError):
        Lockfile().add(name(f"{TAVILY}.d7e8"), tavily(NEW))


def test_a_rejected_change_is_an_integrity_error_with_both_whole_hashes():
    error = changed().error()
    assert isinstance(error, IntegrityError)
    assert error.code == "integrity"
    assert OLD in error.message
    assert NEW in error.message
    assert (error.expected, error.actual) == (OLD, NEW)


# --- changing --------------------------------------------------------------------------------------


def test_an_entry_is_replaced_after_the_humans_word():
    found = changed()
    after = locked().replace(found.name, found.old, tavily(NEW))
    assert after.check(name(TAVILY), NEW, "http", Routing.SERVER) == Known(tavily(NEW))
    assert list(after.named()) == [(name(f"{TAVILY}.f9a0"), tavily(NEW))]


def test_an_approval_does_not_replace_what_the_human_did_not_see():
    found = changed()
    moved = locked().replace(name(TAVILY), found.old, tavily("sha256-" + "7" * 64))
    with pytest.raises(LockfileMovedError):
        moved.replace(found.name, found.old, tavily(NEW))
    with pytest.raises(LockfileMovedError):
        Lockfile().replace(found.name, found.old, tavily(NEW))


def test_what_is_locked_is_never_overwritten_as_new():
    assert locked().add(name(TAVILY), tavily()) == locked()
    with pytest.raises(LockfileMovedError):
        locked().add(name(TAVILY), tavily(NEW))


def test_an_entry_can_be_taken_out():
    assert locked().without(name(TAVILY)) == Lockfile()
    assert locked().without(name("a.b.c.d")) == locked()


@pytest.mark.parametrize(
    ("facts", "error"),
    [
        ({"integrity": "d7e8"}, IntegrityInvalidError),
        ({"metadata": "sha256-"}, IntegrityInvalidError),
        ({"definitions": {"search": "sha256-1"}}, IntegrityInvalidError),
        ({"type": "wasm"}, ValueError),
        ({"routing": "edge"}, ValueError),
    ],
)
def test_no_entry_has_half_a_hash_or_an_unknown_type(facts, error):
    with pytest.raises(error):
        dataclasses.replace(tavily(), **facts)


# --- AC14 ------------------------------------------------------------------------------------------


def test_the_question_is_the_object_of_the_story():
    asked = IntegrityApprovalRequired(changed(), "uuid-xxx").plain()
    story = {
        "approvalRequired": True,
        "approvalType": "integrity",
        "fqdn": "pml.mcp.tavily.server",
        "oldHash": "d7e8",
        "newHash": "f9a0",
        "oldFetchedAt": "2026-01-07T12:00:00Z",
        "description": "Hash changed for pml.mcp.tavily.server. Old: d7e8, New: f9a0. This could "
        "indicate a legitimate update or potential MITM attack.",
        "workflowId": "uuid-xxx",
    }
    assert {key: asked[key] for key in story} == story
    assert list(asked)[: len(story)] == list(story)
    assert (asked["oldIntegrity"], asked["newIntegrity"]) == (OLD, NEW)
    assert asked["changes"] == [{"what": "integrity", "old": OLD, "new": NEW}]


def test_hashes_that_begin_alike_are_shown_as_far_as_they_differ():
    """Attack: other content whose sha256 begins with the same four digits."""
    asked = IntegrityApprovalRequired(changed(OLD[:20] + "f" + OLD[21:]), "w").plain()
    assert asked["oldHash"] == "d7e8" + "0" * 10
    assert asked["newHash"] == "d7e8" + "0" * 9 + "f"


def test_a_question_about_routing_alone_says_so():
    asked = IntegrityApprovalRequired(changed(OLD, routing=Routing.CLIENT), "w").plain()
    assert asked["description"].startswith(
        "Routing changed for pml.mcp.tavily.server. Old: server, New: client."
    )
    assert asked["oldHash"] == asked["newHash"] == "d7e8"


# --- AC13 ------------------------------------------------------------------------------------------


def test_what_no_rule_speaks_of_is_cleaned_and_would_be_new():
    lockfile = locked().add(name("pml.mcp.old-tool.server"), entry(type="stdio"))
    rules = Permissions(allow=("tavily:*",), ask=("serena",))
    cleaned = lockfile.cleaned(rules)
    assert cleaned == locked()
    found = cleaned.check(name("pml.mcp.old-tool.server"), NEW, "stdio", Routing.CLIENT)
    assert found == New()


@pytest.mark.parametrize(
    "rules",
    [
        Permissions(allow=("*",)),
        Permissions(ask=("tavily",)),
        Permissions(ask=("tavily:search",)),
        Permissions(allow=("tav*:s*",), deny=("tavily:*",)),
        Permissions(),
        Permissions(deny=("tavily:*",)),
    ],
    ids=str,
)
def test_what_a_rule_may_speak_of_is_kept_and_without_rules_everything_asks(rules):
    assert locked().cleaned(rules) == locked()


def test_a_capability_is_kept_for_its_own_tool_and_for_those_it_brings():
    lockfile = Lockfile().add(
        name("casys.pml.fs.read_json"), entry(definitions={"write_json": integrity_of(b"d")})
    )
    for rule in ("fs:read_json", "fs:write_*", "fs"):
        assert lockfile.cleaned(Permissions(ask=(rule,))) == lockfile
    assert lockfile.cleaned(Permissions(ask=("fs:delete",))) == Lockfile()


# --- definitions -----------------------------------------------------------------------------------


def tool(**definition):
    plain = {"name": "get", "description": "d", "inputSchema": {"type": "object"}}
    return Tool("s", definition.get("name", "get"), plain | definition)


@pytest.mark.parametrize(
    "changed",
    [
        {"description": "d\u00a0"},
        {"inputSchema": {"type": "object", "properties": {"x": {}}}},
        {"outputSchema": {}},
        {"annotations": {"readOnlyHint": True}},
        {"_meta": {"a": 1}},
        {"title": "D"},
    ],
)
def test_any_part_of_a_definition_that_changes_is_seen(changed):
    """Attack: a server that is approved, then changes what the model reads."""
    old, new = definitions_of([tool()]), definitions_of([tool(**changed)])
    (found,) = compared_definitions(old, new)
    assert (found.tool, found.kind) == ("get", "changed")


def test_the_order_of_keys_is_no_change_and_a_renamed_tool_is_another():
    old = definitions_of([tool()])
    turned = Tool("s", "get", dict(reversed(tool().definition.items())))
    assert compared_definitions(old, definitions_of([turned])) == ()
    renamed = compared_definitions(old, definitions_of([tool(name="fetch")]))
    assert [(one.tool, one.kind) for one in renamed] == [("fetch", "added"), ("get", "removed")]


# --- two lockfiles ---------------------------------------------------------------------------------


def test_what_differs_between_two_lockfiles_is_told_by_entry():
    old = locked().add(name("a.b.c.d"), entry(b"1")).add(name("a.b.c.gone"), entry())
    new = (
        locked()
        .add(
            name("a.b.c.d"),
            entry(b"2", permissions=("fs:read",), fetched_at="2027-01-01T00:00:00Z"),
        )
        .add(name("a.b.c.new"), entry(definitions={"x": OLD}))
    )
    found = {change.name: change for change in compared(old, new)}
    assert {key: change.kind for key, change in found.items()} == {
        "a.b.c.d": "changed", "a.b.c.gone": "removed", "a.b.c.new": "added",
    }  # fmt: skip
    assert found["a.b.c.d"].facts == (
        ("integrity", integrity_of(b"1"), integrity_of(b"2")),
        ("permissions", None, "fs:read"),
    )
    assert ("definitions.x", None, OLD) in found["a.b.c.new"].facts
    assert compared(old, old) == ()


# --- for all lockfiles -----------------------------------------------------------------------------

WORD = st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True).filter(lambda text: "__" not in text)
HASH = st.binary(max_size=8).map(integrity_of)
ENTRY = st.builds(
    LockEntry,
    HASH,
    st.datetimes().map(lambda at: f"{at.replace(microsecond=0).isoformat()}Z"),
    st.sampled_from(["deno", "stdio", "http"]),
    st.sampled_from(Routing),
    metadata=st.none() | HASH,
    package=st.sampled_from([None, "npm:@a/b@1.2.3", "pypi:mcp-server-time@2026.1.1"]),
    definitions=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20),
        HASH,
        max_size=3,
    ),
    permissions=st.lists(st.builds("{}:{}".format, WORD, WORD), max_size=3).map(tuple),
    url=st.sampled_from([None, "https://registry.example/r", "http://127.0.0.1:8080"]),
)
BASE = st.builds("{}.{}.{}.{}".format, WORD, WORD, WORD, WORD)
LOCKFILE = st.dictionaries(BASE, ENTRY, max_size=5).map(Lockfile)
RULE = st.one_of(
    WORD, WORD.map("{}:*".format), st.builds("{}:{}".format, WORD, WORD), st.just("*")
)
RULES = st.builds(
    Permissions, st.lists(RULE, max_size=3).map(tuple), st.lists(RULE, max_size=3).map(tuple)
)


@given(LOCKFILE)
def test_a_lockfile_written_and_read_is_the_same(lockfile):
    content = lockfile.content()
    assert parse(content, AT) == dict(lockfile.entries)
    assert written(parse(content, AT)) == content


@given(LOCKFILE, RULES, st.data())
def test_cleaning_never_removes_what_a_rule_allows_or_asks(lockfile, rules, data):
    assume(lockfile.entries)
    base = data.draw(st.sampled_from(sorted(lockfile.entries)))
    parsed = Fqdn.parse(base)
    tool_id = f"{parsed.namespace}:{parsed.action}"
    more = dataclasses.replace(rules, ask=(*rules.ask, data.draw(_speaking_of(parsed))))
    cleaned = lockfile.cleaned(more)
    assert cleaned.entries[base] == lockfile.entries[base]
    spoken = any(rule_matches(rule, tool_id) for rule in (*rules.allow, *rules.ask))
    assert base in lockfile.cleaned(rules).entries or not spoken


def _speaking_of(parsed: Fqdn):
    ns = parsed.namespace
    return st.sampled_from([ns, f"{ns}:*", f"{ns}:{parsed.action}", "*", f"{ns[0]}*:*", "*:*"])


@given(LOCKFILE, RULES)
def test_cleaning_twice_is_cleaning_once_and_adds_nothing(lockfile, rules):
    cleaned = lockfile.cleaned(rules)
    assert cleaned.cleaned(rules) == cleaned
    assert cleaned.entries.items() <= lockfile.entries.items()


@given(LOCKFILE, BASE, ENTRY)
def test_what_was_added_is_known_and_the_rest_is_as_it_was(lockfile, base, new):
    assume(base not in lockfile.entries)
    after = lockfile.add(Fqdn.parse(base), new)
    assert after.check(Fqdn.parse(base), new.integrity, new.type, new.routing) == Known(new)
    assert after.without(Fqdn.parse(base)) == lockfile
