"""Always: the rule is written and trusted, and nothing else is."""

import dataclasses
import datetime
import json
import multiprocessing

import pytest

from pml.config.editing import allow_always
from pml.trust import (
    NothingTrustedError,
    Store,
    load_trusted,
    trust_added_allow,
    trust_always,
)

NOW = datetime.datetime(2026, 11, 18, tzinfo=datetime.UTC)

ALLOWING = {"permissions": {"allow": ["a:b"]}, "mcpServers": {"s": {"command": "c"}}}


def test_always_is_trusted_with_the_file_that_it_is_written_into(folder):
    folder.trust(ALLOWING)
    folder.store.update(lambda record: trust_added_allow(record, "s:read"))
    effect = folder.use(ALLOWING | {"permissions": {"allow": ["a:b", "s:read"]}})
    assert effect.changes == ()
    assert effect.config.permissions.allow == ("a:b", "s:read")


def test_always_trusts_that_rule_and_nothing_else(folder):
    record = folder.trust(ALLOWING)
    more = trust_added_allow(record, "s:read")
    assert trust_added_allow(more, "s:read") == more
    less = dataclasses.replace(more.statement.permissions, allow=("a:b",))
    assert dataclasses.replace(more.statement, permissions=less) == record.statement
    assert more.lockfile == record.lockfile


def test_always_in_a_workspace_that_is_not_trusted_trusts_nothing(folder):
    folder.write(ALLOWING)
    with pytest.raises(NothingTrustedError):
        folder.store.update(lambda record: trust_added_allow(record, "s:read"))
    assert folder.store.load().record is None


def test_the_whole_always_edits_the_file_and_trusts_it(folder):
    text = '{\n  "permissions": {"allow": ["a:b"]},\n  "mcpServers": {"s": {"command": "c"}}\n}\n'
    folder.trust(text)
    loaded, _ = load_trusted(folder.path, folder.environ, folder.home)
    allow_always(folder.file, "s:read", loaded.content)
    assert folder.use().config.permissions.allow == ("a:b",)  # a crash here: the rule waits
    trust_always(folder.store, loaded, "s:read", NOW)
    effect = folder.use()
    assert effect.changes == ()
    assert effect.config.permissions.allow == ("a:b", "s:read")


@pytest.mark.parametrize("before", [None, '{"permissions": {"deny": ["x"]}}'])
def test_always_where_nothing_asks_for_trust_is_the_first_record(folder, before):
    if before:
        folder.write(before)
    loaded, _ = load_trusted(folder.path, folder.environ, folder.home)
    allow_always(folder.file, "s:read", loaded.content)
    trust_always(folder.store, loaded, "s:read", NOW)
    effect = folder.use()
    assert effect.changes == ()
    assert effect.config.permissions.allow == ("s:read",)


def test_always_in_a_clone_trusts_nothing_of_the_clone(folder):
    """Attack: a harmless question is asked in a clone that wants far more."""
    folder.write(ALLOWING)
    loaded, _ = load_trusted(folder.path, folder.environ, folder.home)
    with pytest.raises(NothingTrustedError):
        trust_always(folder.store, loaded, "s:read", NOW)
    assert folder.store.load().record is None


def add(arguments):
    state, workspace, tool = arguments
    Store(state, workspace).update(lambda record: trust_added_allow(record, tool))


def test_of_two_who_say_always_at_once_neither_is_lost(folder):
    folder.trust(ALLOWING)
    tools = [f"s:tool_{number}" for number in range(8)]
    store = folder.store
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.map(add, [(store.state, store.workspace, tool) for tool in tools])
    record = store.load().record
    assert record is not None
    assert {"a:b", *tools} == set(record.statement.permissions.allow)
    assert json.loads(store.path.read_text())["generation"] == 9
