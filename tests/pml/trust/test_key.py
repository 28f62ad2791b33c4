"""The user's key: made once, never replaced, nobody else's."""

import multiprocessing

import pytest

from pml.trust import TrustKeyError
from pml.trust.key import made_key, read_key

ALLOWING = {"permissions": {"allow": ["a:b"]}, "mcpServers": {"s": {"command": "c"}}}


def allowed(folder):
    return folder.use().config.permissions.allow


def test_the_key_is_made_once(tmp_path):
    key = made_key(tmp_path / "state")
    assert len(key) == 32
    assert made_key(tmp_path / "state") == key == read_key(tmp_path / "state")
    assert len((tmp_path / "state" / "key").read_text()) == 64
    assert [one.name for one in (tmp_path / "state").iterdir()] == ["key"]


def test_processes_that_make_the_key_at_once_have_the_same(tmp_path):
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert len(set(pool.map(made_key, [tmp_path / "state"] * 8))) == 1


@pytest.mark.parametrize("content", ["", "abcd", "xyz", "ab" * 33])
def test_a_damaged_key_is_told_and_not_replaced(folder, content):
    folder.store.state.mkdir(mode=0o700)
    (folder.store.state / "key").write_text(content)
    with pytest.raises(TrustKeyError) as caught:
        folder.trust(ALLOWING)
    assert caught.value.hint
    assert (folder.store.state / "key").read_text() == content


def test_a_key_that_others_could_have_written_is_none(folder):
    folder.trust(ALLOWING)
    (folder.store.state / "key").chmod(0o620)
    assert allowed(folder) == ()
