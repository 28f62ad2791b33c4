"""What holds for any two configurations: nothing is used that was not trusted, and less needs no word."""

import dataclasses
import json

import hypothesis
from hypothesis import given
from hypothesis import strategies as st

from pml.config import Permissions, StdioServerConfig
from pml.model import Outcome
from pml.policy import decide
from pml.trust import TrustRecord, effective
from pml.trust.permissions import both, compared
from pml.trust.statement import canonical_json, from_plain, to_plain

PERMISSIVE = [Outcome.DENY, Outcome.ASK, Outcome.ALLOW]

part = st.sampled_from(["a", "b", "ab", "?", "a*", "*b", "*"])
rule = st.one_of(part, st.tuples(part, part).map(":".join))
rules = st.lists(rule, max_size=4).map(tuple)
permissions = st.builds(Permissions, rules, rules, rules)
name = st.sampled_from(["a", "b", "ab", "ba", "abb", "c"])
tool = st.one_of(name, st.tuples(name, name).map(":".join))


@st.composite
def edited(draw):
    """Rules, and the same rules after somebody edited them a little."""
    old = draw(permissions)

    def edit(given):
        kept = [one for one in given if draw(st.integers(0, 3))]
        return (*kept, *draw(st.lists(rule, max_size=1)))

    return old, Permissions(edit(old.allow), edit(old.ask), edit(old.deny))


def rank(which: Permissions, called: str) -> int:
    return PERMISSIVE.index(decide(called, which).outcome)


@given(permissions, permissions, tool)
def test_a_tool_is_permitted_only_as_far_as_both_the_trusted_and_the_new_rules_do(
    old, new, called
):
    used = both(old, new)
    assert rank(used, called) <= rank(old, called)
    assert rank(used, called) <= rank(new, called)


@hypothesis.settings(max_examples=500)
@given(edited(), tool)
def test_what_only_tightens_is_used_exactly_and_is_truly_no_more(pair, called):
    old, new = pair
    if all(one.kind == "tightened" for one in compared(old, new)):
        assert both(old, new) == new
        assert rank(new, called) <= rank(old, called)


@given(edited())
def test_what_is_used_needs_no_further_word(pair):
    old, new = pair
    used = both(old, new)
    assert all(one.kind == "tightened" for one in compared(old, used))
    assert both(old, used) == used


@given(permissions, rules, rules, st.data())
def test_more_denials_more_questions_and_fewer_permissions_never_wait(old, ask, deny, data):
    allow = data.draw(
        st.lists(st.sampled_from(old.allow), max_size=4) if old.allow else st.just([])
    )
    new = Permissions(
        tuple(allow), (*data.draw(st.permutations(old.ask)), *ask), (*deny, *old.deny)
    )
    assert all(one.kind == "tightened" for one in compared(old, new))
    assert both(old, new) == new


# --- whole files -----------------------------------------------------------------------------------

folders = st.lists(
    st.sampled_from(["src", "docs", "${workspace}", "${DATA:-data}", "/usr"]), max_size=3
)
hosts = st.lists(st.sampled_from(["a.example", "a.example:443", "b.example:5432"]), max_size=3)
level = st.sampled_from(["partial", "landlock", "full"])


def some(**keys):
    return st.fixed_dictionaries({}, optional=keys)


sandbox = some(
    mode=st.sampled_from(["on", "off"]), require=level, fsRead=folders, fsWrite=folders,
    net=st.one_of(st.booleans(), hosts), spawn=st.booleans(),
    env=st.lists(st.sampled_from(["TOKEN", "DATA", "HOME"]), max_size=2, unique=True),
    limits=some(memoryMb=st.integers(16, 4096), procs=st.integers(1, 99), openFiles=st.integers(16, 2048)),
)  # fmt: skip
local = st.builds(
    lambda rest, box: {**rest, "sandbox": box},
    st.fixed_dictionaries(
        {"command": st.sampled_from(["c", "${DATA}"])},
        optional={"args": st.lists(st.sampled_from(["x", "y"]), max_size=1), "env": some(A=st.sampled_from(["1", "${TOKEN}"]))},
    ),
    sandbox,
)  # fmt: skip
remote = st.fixed_dictionaries(
    {"url": st.sampled_from(["https://a.example", "https://b.example"])},
    optional={"headers": some(Authorization=st.sampled_from(["Bearer ${TOKEN}", "literal"]))},
)
written = st.builds(
    lambda keys, given: {**keys, "permissions": {"allow": given.allow, "ask": given.ask, "deny": given.deny}},
    some(
        mcpServers=some(s=local, t=local, r=remote),
        privateMcps=some(p=st.just({"install": {"command": "c"}}), q=st.builds(lambda x: {**x, "tools": ["q:a"]}, remote)),
        registries=st.lists(st.sampled_from(["https://a.example", "https://b.example"]), max_size=2, unique=True),
        cloud=st.sampled_from([{"url": "https://a.example"}, {"url": "https://a.example", "apiKey": "${TOKEN}"}]),
        env=some(DATA=st.sampled_from(["docs", "src"])),
        limits=some(cpuSeconds=st.sampled_from([1, 5, 9]), memoryMb=st.sampled_from([4, 64, 128]), idleSeconds=st.sampled_from([1, 999])),
        expose=st.lists(st.sampled_from(["s:a", "s:b"]), max_size=2), approvals=st.just("human"),
        sandbox=some(require=level), workspace=st.sampled_from([".", "src"]),
    ),
    permissions,
)  # fmt: skip

whole_files = hypothesis.settings(
    max_examples=150, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)


@st.composite
def pairs(draw):
    """A file and another one that has much in common with it."""
    old, other = draw(written), draw(written)
    new = {
        key: draw(st.sampled_from([x[key] for x in (old, other) if key in x]))
        for key in {**old, **other}
    }
    servers = {}
    for name, was in old.get("mcpServers", {}).items():
        server = dict(was)
        if "command" in server and draw(st.booleans()):
            server["sandbox"] = draw(sandbox)
        if draw(st.integers(0, 4)):
            servers[name] = server
    return old, new | {"mcpServers": {**other.get("mcpServers", {}), **servers}}


def fewer(draw, items):
    return [one for one in items if draw(st.booleans())]


def lower(draw, given, defaults):
    return {
        key: draw(st.integers(least, int(given.get(key, default))))
        for key, (least, default) in defaults.items()
    }


@st.composite
def tightened(draw):
    """A file and one that says less: what the words of the documentation promise to apply at once."""
    old = draw(written)
    new = dict(old)
    given = old["permissions"]
    new["permissions"] = {
        "allow": fewer(draw, given["allow"]),
        "ask": [*given["ask"], *draw(rules)],
        "deny": [*given["deny"], *draw(rules)],
    }
    servers = {}
    for name in fewer(draw, old.get("mcpServers", {})):
        servers[name] = server = dict(old["mcpServers"][name])
        if "command" in server:
            box = server["sandbox"]
            net, weak = box.get("net", False), box.get("require")
            server["sandbox"] = {
                "mode": draw(st.sampled_from(["on", box.get("mode", "on")])),
                "fsRead": fewer(draw, box.get("fsRead", [])), "fsWrite": fewer(draw, box.get("fsWrite", [])),
                "net": fewer(draw, net) if isinstance(net, list) else net and draw(st.booleans()),
                "spawn": box.get("spawn", False) and draw(st.booleans()), "env": fewer(draw, box.get("env", [])),
                "limits": lower(draw, box.get("limits", {}), {"memoryMb": (16, 2048), "procs": (1, 64), "openFiles": (16, 1024)}),
                **({"require": draw(st.sampled_from([weak, "full"]))} if weak else {}),
            }  # fmt: skip
    new["mcpServers"] = servers
    new["privateMcps"] = {
        name: old["privateMcps"][name] for name in fewer(draw, old.get("privateMcps", {}))
    }
    new["registries"] = fewer(draw, old.get("registries", []))
    new["expose"] = fewer(draw, old.get("expose", []))
    new["limits"] = lower(
        draw,
        old.get("limits", {}),
        {"cpuSeconds": (1, 5), "memoryMb": (4, 64), "idleSeconds": (1, 300)},
    )
    if draw(st.booleans()):
        new["approvals"] = "human"
    if draw(st.booleans()):
        new.pop("cloud", None)
    if draw(st.booleans()):
        new["sandbox"] = {"require": "full"}
    return old, new


def net_within(inner, outer) -> bool:
    if not inner or outer is True:
        return True
    return isinstance(inner, tuple) and isinstance(outer, tuple) and set(inner) <= set(outer)


def grants_within(server: StdioServerConfig, old: StdioServerConfig) -> bool:
    box, most = server.sandbox, old.sandbox
    is_free = most.mode == "off"
    files = set(box.fs_read) <= {*most.fs_read, *most.fs_write} and set(box.fs_write) <= set(
        most.fs_write
    )
    limits = all(
        (getattr(box.limits, key) or default) <= (getattr(most.limits, key) or default)
        for key, default in (("memory_mb", 2048), ("procs", 64), ("open_files", 1024))
    )
    return (
        limits
        and set(server.handed) <= set(old.handed)
        and (
            is_free
            or (
                files
                and box.mode == "on"
                and net_within(box.net, most.net)
                and box.spawn <= most.spawn
            )
        )
    )


@whole_files
@given(pairs(), tool)
def test_nothing_is_used_that_was_not_trusted(shared, pair, called):
    old, new = pair
    trusted = shared.loaded(old)
    loaded = shared.loaded(new)
    used = effective(loaded, TrustRecord(trusted.statement)).config
    assert rank(used.permissions, called) <= rank(trusted.config.permissions, called)
    assert rank(used.permissions, called) <= rank(loaded.config.permissions, called)
    before = {one.name: one for one in trusted.config.servers}
    for server in used.servers:
        then = before[server.name]
        if isinstance(server, StdioServerConfig) and isinstance(then, StdioServerConfig):
            assert (server.command, server.args, dict(server.env)) == (then.command, then.args, dict(then.env))  # fmt: skip
            assert grants_within(server, then)
            floors = (server.sandbox.require or used.require, then.sandbox.require or trusted.config.require)  # fmt: skip
            strength = ["partial", "landlock", "full"].index
            assert then.sandbox.mode == "off" or strength(floors[0]) >= strength(floors[1])
        else:
            assert server == then
    assert all(one in trusted.config.private_mcps for one in used.private_mcps)
    assert set(used.registries) <= set(trusted.config.registries)
    assert used.cloud in (None, trusted.config.cloud)
    assert set(used.expose) <= set(trusted.config.expose)
    known = {*used.unusable, *(one.name for one in (*used.servers, *used.private_mcps))}
    assert known == {*new.get("mcpServers", {}), *new.get("privateMcps", {})}


@whole_files
@given(pairs())
def test_what_does_not_wait_is_used_as_the_file_says_each_time(shared, pair):
    old, new = pair
    record = TrustRecord(shared.loaded(old).statement)
    loaded = shared.loaded(new)
    effect, again = effective(loaded, record), effective(loaded, record)
    if not effect.waiting:
        assert effect.config == loaded.config
    assert again.changes == effect.changes
    assert dataclasses.replace(again.config, unusable={}) == dataclasses.replace(
        effect.config, unusable={}
    )


@whole_files
@given(tightened())
def test_what_says_less_never_waits_and_is_used_at_once(shared, pair):
    old, new = pair
    record = TrustRecord(shared.loaded(old).statement)
    loaded = shared.loaded(new)
    effect = effective(loaded, record)
    assert effect.waiting == ()
    assert effect.config == loaded.config


@whole_files
@given(written)
def test_what_was_trusted_is_used_as_it_is_after_a_round_trip_to_disk(shared, value):
    loaded = shared.loaded(value)
    plain = json.loads(canonical_json(to_plain(loaded.statement)))
    statement = from_plain(plain)
    assert statement.sha256 == loaded.statement.sha256
    effect = effective(loaded, TrustRecord(statement))
    assert effect.changes == ()
    assert effect.config == loaded.config
