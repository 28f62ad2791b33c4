"""What is kept, on both databases: versions never change, keys are hashes."""

import dataclasses
import hashlib
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pml.cli.main import main
from pml.cloud.errors import (
    DatabaseUnusableError,
    HashTakenError,
    KeyUnknownError,
    ScopeInvalidError,
)
from pml.cloud.store import opened_store
from pml.loader.publishing import code_publication, metadata_publication

NOW = datetime(2026, 11, 18, tzinfo=UTC)


def _code(number: int) -> bytes:
    return f'// __meta__: {{"fqdn": "a.b.c.d"}}\nexport const d = () => {number};\n'.encode()


def _colliding() -> tuple[bytes, bytes]:
    """Two contents whose hashes begin with the same 4 hex."""
    seen: dict[str, bytes] = {}
    for number in range(100_000):
        content = _code(number)
        short = hashlib.sha256(content).hexdigest()[:4]
        if short in seen:
            return seen[short], content
        seen[short] = content
    raise AssertionError


def test_two_contents_under_one_name_are_refused_and_nothing_changes(database: str) -> None:
    first, second = _colliding()
    with opened_store(database) as store:
        made = store.registry.publish(code_publication("f", first), by="t", now=NOW).entry
        before = store.registry.generation()
        with pytest.raises(HashTakenError):
            store.registry.publish(code_publication("f", second), by="t", now=NOW)
        assert store.registry.generation() == before
        assert made.fqdn.hash is not None
        kept = store.registry.version("a.b.c.d", made.fqdn.hash)
        assert kept is not None
        assert kept.content == first


def test_metadata_cannot_change_under_the_hash_of_the_same_package(database: str) -> None:
    facts = {
        "fqdn": "a.b.c.server",
        "type": "stdio",
        "install": {"command": "npx", "args": ["pkg@1"]},
        "integrity": "sha256-" + "0" * 64,
    }
    changed = {**facts, "install": {"command": "sh", "args": ["-c", "evil"]}}
    with opened_store(database) as store:
        for one in (facts, facts):
            what = metadata_publication("f", json.dumps(one).encode())
            store.registry.publish(what, by="t", now=NOW)
        what = metadata_publication("f", json.dumps(changed).encode())
        with pytest.raises(HashTakenError):
            store.registry.publish(what, by="t", now=NOW)


def test_what_was_published_is_there_when_the_database_is_opened_again(database: str) -> None:
    with opened_store(database) as store:
        made = store.registry.publish(code_publication("f", _code(1)), by="t", now=NOW).entry
    with opened_store(database) as store:
        assert store.registry.current("a.b.c.d") == made.fqdn


def test_a_key_is_recognised_until_it_is_revoked_and_kept_as_a_hash(database: str) -> None:
    with opened_store(database) as store:
        made, secret = store.keys.create("me", ("call", "publish:acme"), now=NOW)
        found = store.keys.recognised(secret)
        assert found is not None
        assert (found.id, found.may("call"), found.may("metrics")) == (made.id, True, False)
        assert found.may_publish("acme")
        assert not found.may_publish("other")
        other = "B" if secret[-20] == "A" else "A"
        assert store.keys.recognised(f"{secret[:-20]}{other}{secret[-19:]}") is None
        assert store.keys.recognised(secret + "\n") is None
        assert secret[-43:] not in repr(dataclasses.asdict(store.keys.all()[0]))
        store.keys.revoke(made.id, now=NOW)
        assert store.keys.recognised(secret) is None
        with pytest.raises(KeyUnknownError):
            store.keys.revoke("nobody", now=NOW)
        with pytest.raises(ScopeInvalidError):
            store.keys.create("me", ("everything",), now=NOW)


def test_the_secret_of_a_key_is_nowhere_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "cloud.db"
    with opened_store(str(file)) as store:
        _, secret = store.keys.create("me", ("call",), now=NOW)
    assert all(secret[-43:].encode() not in one.read_bytes() for one in tmp_path.iterdir())
    assert file.stat().st_mode & 0o077 == 0


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cloud.db"
    with opened_store(str(file)):
        pass
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE state SET version = 99")
    connection.close()
    with pytest.raises(DatabaseUnusableError, match="newer"), opened_store(str(file)):
        pass


def test_a_file_that_is_no_database_is_told_in_words(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.db").write_text("not a database, and long enough to be looked at" * 10)
    assert main(["cloud", "keys", "list", "--database", str(tmp_path / "x.db")]) == 1
    assert "the database cannot be used: " in capfd.readouterr().err


def test_a_postgresql_that_is_away_is_told_without_the_password(
    capfd: pytest.CaptureFixture[str],
) -> None:
    url = "postgresql://pml:hunter2-secret@127.0.0.1:1/cloud"
    assert main(["cloud", "keys", "list", "--database", url]) == 1
    told = capfd.readouterr().err
    assert "error: the database cannot be used: " in told
    assert "127.0.0.1" in told
    assert "hunter2" not in told


def test_keys_are_made_listed_and_revoked_by_the_command(
    database: str, capfd: pytest.CaptureFixture[str]
) -> None:
    at = ("--database", database)
    assert main(["cloud", "keys", "create", "laptop", "--may", "publish:acme", *at]) == 0
    secret = capfd.readouterr().out.strip()
    main(["cloud", "keys", "list", "--json", *at])
    listed = json.loads(capfd.readouterr().out)
    assert (listed["name"], listed["scopes"]) == ("laptop", ["publish:acme"])
    assert secret not in json.dumps(listed)
    assert main(["cloud", "keys", "revoke", listed["id"], *at]) == 0
    main(["cloud", "keys", "list", *at])
    assert "revoked" in capfd.readouterr().out
    assert main(["cloud", "keys", "revoke", "nobody", *at]) == 1
    assert main(["cloud", "keys", "create", "x", "--may", "all", *at]) == 1
