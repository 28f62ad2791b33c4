"""Which lockfile is ours: what we write counts, what anybody else writes waits for `pml trust`."""

import pytest

from pml.fqdn import Fqdn, integrity_of
from pml.loader.lockfile import (
    LockEntry,
    LockfileUntrustedError,
    LockfileUnwritableError,
    LockStore,
)
from pml.places import workspace_state
from pml.routing import Routing
from pml.trust import Kept, LockfileWitness, TrustRecord, load

from .conftest import NOW

RULES = {"permissions": {"allow": ["a:*"]}}
ENTRY = LockEntry(integrity_of(b"code"), "2026-01-07T12:00:00Z", "deno", Routing.CLIENT)


def store_of(folder) -> LockStore:
    trust = folder.store
    loaded = load(folder.path, folder.environ, folder.home, trust.made_key())
    witness = LockfileWitness(trust, loaded, lambda: NOW)
    return LockStore(folder.path, workspace_state(trust.state, folder.path), witness)


def lock(folder, action: str = "d"):
    return store_of(folder).update(lambda now: now.add(Fqdn("a", "b", "c", action), ENTRY))


def test_a_lockfile_that_we_wrote_needs_no_further_trust(folder):
    folder.trust(RULES)
    lock(folder)
    assert set(store_of(folder).load().entries) == {"a.b.c.d"}
    effect = folder.use()
    assert effect.changes == ()
    assert effect.config.permissions.allow == ("a:*",)


def test_an_edit_waits_for_pml_trust_and_is_used_after_it(folder):
    folder.trust(RULES)
    lock(folder)
    file = folder.path / ".pml" / "mcp.lock"
    file.write_text(file.read_text().replace('"client"', '"server"'))
    with pytest.raises(LockfileUntrustedError):
        store_of(folder).load()
    assert [change.path for change in folder.use().waiting] == ["lockfile"]
    folder.trust()
    assert store_of(folder).load().entries["a.b.c.d"].routing is Routing.SERVER


def test_in_a_workspace_that_is_not_trusted_nothing_is_locked(folder):
    """Attack: a fresh clone whose program has something fetched, to have the clone trusted."""
    folder.write(RULES)
    with pytest.raises(LockfileUnwritableError) as caught:
        lock(folder)
    assert caught.value.hint == "pml trust"
    assert not (folder.path / ".pml" / "mcp.lock").exists()
    assert folder.store.load() == Kept()
    assert not folder.use().is_trusted


def test_where_nothing_waits_the_first_lockfile_is_the_first_record(folder):
    lock(folder)
    lock(folder, "e")
    assert set(store_of(folder).load().entries) == {"a.b.c.d", "a.b.c.e"}
    folder.write(RULES)
    effect = folder.use()
    assert effect.config.permissions.allow == ()
    assert [change.path for change in effect.waiting] == ["permissions.allow"]


def test_a_damaged_record_is_not_replaced_by_writing_a_lockfile(folder):
    folder.trust(RULES)
    lock(folder)
    folder.store.path.write_text("{}")
    with pytest.raises(LockfileUntrustedError):
        lock(folder, "e")
    assert folder.store.load().record is None


def test_a_clones_lockfile_is_untrusted_although_the_configuration_asks_for_nothing(folder):
    lock(folder)
    content = (folder.path / ".pml" / "mcp.lock").read_bytes()
    folder.store.save(TrustRecord(load(folder.path, {}, folder.home, bytes(32)).statement))
    with pytest.raises(LockfileUntrustedError) as caught:
        store_of(folder).load()
    assert caught.value.expected is None
    assert (folder.path / ".pml" / "mcp.lock").read_bytes() == content


def test_what_another_process_trusted_is_seen_by_one_that_has_looked_before(folder):
    folder.trust(RULES)
    first = store_of(folder)
    first.load()
    lock(folder)
    assert set(first.load().entries) == {"a.b.c.d"}
