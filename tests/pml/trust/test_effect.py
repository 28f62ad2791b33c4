"""What of a changed configuration is used: less at once, more after the human's word."""

import pytest

from pml.confinement import ProcessLimits
from pml.trust import UntrustedWorkspaceError
from pml.trust.effect import DEFAULT_LIMITS
from pml.trust.sandbox import DEFAULT_LIMITS as SERVER_LIMITS
from sandbox_host import Limits

SERVER = {"command": "server", "args": ["--stdio"], "env": {"TOKEN": "${TOKEN}", "MODE": "ro"}}
BOX = {
    "fsRead": ["${workspace}"], "fsWrite": ["src"], "net": ["api.example.com:443"], "env": ["TOKEN"],
    "limits": {"memoryMb": 512, "procs": 8, "openFiles": 64}, "require": "landlock",
}  # fmt: skip


def file(**keys):
    return {"version": 1, **keys}


def one(sandbox=None, **keys):
    server = {**SERVER, **keys}
    return file(mcpServers={"s": server | ({"sandbox": sandbox} if sandbox is not None else {})})


def kinds(effect):
    return {change.path: change.kind for change in effect.changes}


# --- nothing trusted yet ---------------------------------------------------------------------------


def test_in_a_fresh_clone_nothing_is_allowed_no_server_starts_and_denials_hold(folder):
    effect = folder.use(
        one() | {"permissions": {"allow": ["*"], "ask": ["a:b"], "deny": ["s:delete_*"]}}
    )
    assert effect.config.permissions.allow == ()
    assert effect.config.permissions.deny == ("s:delete_*",)
    assert effect.config.servers == ()
    error = effect.config.unusable["s"]
    assert isinstance(error, UntrustedWorkspaceError)
    assert error.code == "untrusted_workspace"
    assert "not trusted yet" in error.message
    assert error.hint == "pml trust"
    with pytest.raises(UntrustedWorkspaceError):
        effect.raise_if_untrusted()


@pytest.mark.parametrize(
    "text", [None, "{}", '{"permissions": {"deny": ["*"]}}', '{"limits": {"cpuSeconds": 1}}']
)
def test_what_asks_for_nothing_needs_no_trust(folder, text):
    effect = folder.use(text)
    assert not effect.waiting
    effect.raise_if_untrusted()
    assert effect.config == folder.loaded(text).config if text else effect.config.path is None


def test_after_trusting_everything_is_used_as_it_is(folder):
    whole = one(BOX) | {
        "permissions": {"allow": ["s:a"], "ask": ["s"], "deny": ["x"]}, "expose": ["s:a"],
        "registries": ["https://a.example", "https://b.example"], "env": {"A": "b"},
        "cloud": {"url": "https://c.example", "apiKey": "${TOKEN}"}, "sandbox": {"require": "full"},
        "limits": {"cpuSeconds": 60}, "approvals": "human", "workspace": "src",
        "privateMcps": {"p": {"install": {"command": "x", "envRequired": ["TOKEN"]}, "tools": ["p:q"]}},
    }  # fmt: skip
    folder.trust(whole)
    effect = folder.use()
    assert effect.changes == ()
    assert effect.is_trusted
    assert effect.config == folder.loaded(whole).config


# --- permissions: every pair of rules is in test_properties.py ----------------------------------------


def rules(allow=(), ask=(), deny=()):
    return file(permissions={"allow": list(allow), "ask": list(ask), "deny": list(deny)})


@pytest.mark.parametrize(
    ("old", "new", "used", "waits"),
    [
        (rules(["a:b"]), rules(["a:b", "a:c"]), rules(["a:b"]), ["permissions.allow"]),
        (rules(["a:b"]), rules(["a"]), rules(["a:b"]), ["permissions.allow"]),
        (rules(["a"]), rules(["a:b"]), rules(["a:b"]), []),
        (rules(["a"], ["a:b"]), rules(["a"]), rules(["a"], ["a:b"]), ["permissions.ask"]),
        (rules(["a"], ["a:b"]), rules(["a"], [], ["a:b"]), rules(["a"], [], ["a:b"]), []),
        (rules([], ["a:b"]), rules(), rules(), []),
        (rules([], [], ["a:b"]), rules(), rules([], [], ["a:b"]), ["permissions.deny"]),
        (rules([], [], ["a:b"]), rules([], ["a:b"]), rules([], ["a:b"], ["a:b"]), ["permissions.deny"]),
        (rules([], [], ["a:b"]), rules([], [], ["a"]), rules([], [], ["a"]), []),
        (rules(["a:b*"]), rules(["a:*c"]), rules(), ["permissions.allow"]),
    ],
)  # fmt: skip
def test_rules_that_permit_more_wait_and_others_apply_at_once(folder, old, new, used, waits):
    effect, _ = folder.between(old, new)
    assert effect.config.permissions == folder.loaded(used).config.permissions
    assert [change.path for change in effect.waiting] == waits


# --- the rest --------------------------------------------------------------------------------------

URLS = ["https://a.example", "https://b.example", "https://c.example"]


@pytest.mark.parametrize(
    ("old", "new", "used", "kind"),
    [
        (URLS, URLS[:1], URLS[:1], "tightened"),
        (URLS, URLS[1:], URLS[1:], "tightened"),
        (URLS, URLS[::-1], URLS, "changed"),
        (URLS[:1], URLS, URLS[:1], "changed"),
        ([], URLS, [], "changed"),
    ],
)
def test_a_registry_is_asked_only_if_and_when_it_was_trusted(folder, old, new, used, kind):
    effect, _ = folder.between(file(registries=old), file(registries=new))
    assert effect.config.registries == tuple(used)
    assert kinds(effect) == {"registries": kind}


@pytest.mark.parametrize(
    "new",
    [
        {"url": "https://evil.example", "apiKey": "${TOKEN}"},
        {"url": "https://c.example", "apiKey": "${HOME:-x}"},
    ],
)
def test_another_cloud_is_not_used(folder, new):
    cloud = {"url": "https://c.example", "apiKey": "${TOKEN}"}
    effect, _ = folder.between(file(cloud=cloud), file(cloud=new))
    assert effect.config.cloud is None
    assert kinds(effect) == {"cloud": "changed"}
    effect, _ = folder.between(file(cloud=cloud), file())
    assert kinds(effect) == {"cloud": "tightened"}


def test_limits_go_down_at_once_and_up_after_trust(folder):
    effect, _ = folder.between(
        file(limits={"cpuSeconds": 3}),
        file(limits={"cpuSeconds": 9, "memoryMb": 4096, "idleSeconds": 1}),
    )
    limits = effect.config.limits
    assert (limits.cpu_seconds, limits.memory_mb, limits.idle_seconds) == (3, 64, 1)
    assert kinds(effect) == {
        "limits.cpuSeconds": "loosened",
        "limits.memoryMb": "loosened",
        "limits.idleSeconds": "tightened",
    }


def test_a_human_approves_as_long_as_that_was_trusted(folder):
    """Attack: the user lets the model approve, but not here; the file stops saying so."""
    own = folder.home / ".config" / "pml" / "config.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"approvals": "model"}')
    assert folder.use({}).config.approvals == "model"
    folder.trust({"approvals": "human"})
    effect = folder.use({})
    assert effect.config.approvals == "human"
    assert kinds(effect) == {"approvals": "loosened"}


def test_exposed_tools_are_those_that_were_trusted(folder):
    effect, _ = folder.between(file(expose=["a:b", "a:c"]), file(expose=["a:c", "a:d"]))
    assert effect.config.expose == ("a:c",)


def test_another_lockfile_is_told(folder):
    (folder.path / ".pml").mkdir()
    lock = folder.path / ".pml" / "mcp.lock"
    lock.write_text("{}")
    folder.trust({})
    assert folder.use().changes == ()
    lock.write_text("{ }")
    assert kinds(folder.use()) == {"lockfile": "changed"}
    lock.unlink()
    assert folder.use().waiting


def test_without_the_file_denials_that_were_trusted_hold(folder):
    folder.trust(one() | {"permissions": {"allow": ["s:a"], "deny": ["s:b"]}})
    folder.file.unlink()
    effect = folder.use()
    assert effect.config.permissions.deny == ("s:b",)
    assert effect.config.permissions.allow == ()
    assert effect.config.servers == ()
    assert "permissions.deny" in [change.path for change in effect.waiting]


def test_the_same_said_in_another_way_is_no_change(folder):
    folder.trust(
        '{"permissions": {"allow": ["a", "b:c"]}, "mcpServers": {"s": {"command": "c", "sandbox": {"fs_read": ["src", "docs"]}}}}'
    )
    effect = folder.use(
        """{"$schema": "x", "mcpServers": {"s": {"sandbox": {"fsRead": ["docs", "src", "src"]}, "type": "stdio", "command": "c"}},
        "permissions": {"allow": ["b:c", "a:*", "b:c"]}}"""
    )
    assert effect.changes == ()
    assert len(effect.config.servers) == 1


def test_the_defaults_are_those_of_the_rooms_that_have_them():
    limits = Limits()
    mine = DEFAULT_LIMITS
    assert (mine["wallSeconds"], mine["cpuSeconds"]) == (limits.wall_seconds, limits.cpu_seconds)
    assert mine["memoryMb"] == limits.memory_bytes >> 20
    process = ProcessLimits()
    assert {
        "memoryMb": process.memory_bytes >> 20,
        "procs": process.processes,
        "openFiles": process.open_files,
    } == SERVER_LIMITS
