"""`.pml.json`, trusted and then changed: two files with a NUL between.

Promised: a file is refused with errors of ours or it is what it says; trust states the same as the
configuration does; without trust nothing is allowed and no server starts; after a change nothing
is wider than what was trusted.
"""

from pathlib import Path

from pml.config import Config, Permissions
from pml.config.parsing import Surroundings, parse_config
from pml.model import Outcome
from pml.policy import decide
from pml.trust import Effective, Loaded, TrustRecord, effective
from pml.trust.guarding import Guard
from pml.trust.statement import Statement, from_plain, to_plain
from pml.trust.stating import stated
from tests.fuzz.oracles import only_ours, shown

FOLDER = Path("/nonexistent/workspace")
FILE = FOLDER / ".pml.json"
AROUND = Surroundings(FOLDER, {"KEY": "secret"}, Path("/nonexistent/home"))
PROBES = ("a:b", "git:push", "git:status", "files:read", "x:y.z", "time:now", "pml:x", "no")
_RANK = {Outcome.DENY: 0, Outcome.ASK: 1, Outcome.ALLOW: 2}
WORDS = (
    b'"mcpServers":{', b'"command":"', b'"args":[', b'"url":"https://h/"', b'"sandbox":{', b'"fsWrite":["${workspace}"]', b'"net":true',
    b'"permissions":{"allow":["*"]}', b'"deny":["git:*"]', b'"ask":["a:?"]', b'"env":{"K":"${KEY}"}', b'"limits":{"cpuSeconds":',
    b'"registries":["https://r/"]', b'"expose":["a:b"]', b'"builtins":false', b'"approvals":"human"', b"\0", b"{", b"}", b"[", b"]",
    b",", b":", b'"', b"1e999", b"\\ud800", b"\xe2\x80\xae", b"null", b"true", b"9", b'"workspace":"sub"', b'"headers":{"A":"b"}',
    b'"version":1', b'"privateMcps":{', b'"cloud":{"url":"https://c/"}', b"\x1b",
)  # fmt: skip


def one(data: bytes) -> None:
    """Trust the first file, then read the second."""
    first, _, second = data.partition(b"\0")
    with only_ours():
        old = _loaded(first)
        untrusted = effective(old, None)
        _is_closed(untrusted, old.config)
        kept = effective(old, TrustRecord(old.statement, None, "now"))
        assert not kept.waiting
        assert kept.config.permissions == old.config.permissions
        assert kept.config.servers == old.config.servers
        if second:
            new = _loaded(second)
            _is_no_wider(effective(new, TrustRecord(old.statement, None, "now")), old, new)


def _loaded(content: bytes) -> Loaded:
    config = parse_config(content, FILE, AROUND)
    guard = Guard(b"k" * 32)
    statement = stated(content, FILE, guard, lambda _: None)
    assert from_plain(to_plain(statement)).sha256 == statement.sha256
    assert statement.permissions == Permissions(
        config.permissions.allow, config.permissions.ask, config.permissions.deny
    )
    return Loaded(config, statement, FOLDER, content, None, guard.readable)


def _is_closed(found: Effective, config: Config) -> None:
    assert found.config.servers == ()
    assert found.config.private_mcps == ()
    for tool in PROBES:
        now = decide(tool, found.config.permissions).outcome
        assert now is not Outcome.ALLOW
        if decide(tool, config.permissions).outcome is Outcome.DENY:
            assert now is Outcome.DENY
    _are_shown(found)


def _is_no_wider(found: Effective, old: Loaded, new: Loaded) -> None:
    for tool in PROBES:
        now = _RANK[decide(tool, found.config.permissions).outcome]
        assert now <= _RANK[decide(tool, old.config.permissions).outcome]
        assert now <= _RANK[decide(tool, new.config.permissions).outcome]
    trusted: Statement = old.statement
    for server in found.config.servers:
        assert trusted.servers[server.name].identity == new.statement.servers[server.name].identity
    assert set(found.config.registries) <= set(old.config.registries)
    assert set(found.config.expose) <= set(old.config.expose)
    _are_shown(found)


def _are_shown(found: Effective) -> None:
    for change in found.changes:
        for text in (change.path, change.old, change.new, change.sentence):
            shown(text or "")
