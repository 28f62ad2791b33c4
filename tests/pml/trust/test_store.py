"""The record on disk: whatever is wrong with it, it is none, and nothing is raised."""

import datetime
import os
import shutil
import stat

import pytest

from pml.errors import PlaceUnsafeError
from pml.trust import (
    load_trusted,
    trust_workspace,
)
from pml.trust.key import read_key, sealed, unsealed

NOW = datetime.datetime(2026, 11, 18, tzinfo=datetime.UTC)

ALLOWING = {"permissions": {"allow": ["a:b"]}, "mcpServers": {"s": {"command": "c"}}}


def allowed(folder):
    return folder.use().config.permissions.allow


def test_a_record_comes_back_as_it_was_kept(folder):
    record = folder.trust(ALLOWING)
    assert folder.store.load().record == record
    assert allowed(folder) == ("a:b",)


def test_files_and_folders_are_for_the_user_alone(folder):
    folder.trust(ALLOWING)
    state = folder.store.state
    for path in (state, *state.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert {path.name for path in state.iterdir()} == {"key", "generations", "workspaces"}


def test_no_secret_is_kept(folder):
    """Whoever reads a record, or a backup of it, learns no key."""
    folder.environ.update(TOKEN="from-the-environment")
    folder.trust(
        {
            "env": {"A_TOKEN": "literal-in-block"},
            "cloud": {"url": "https://c.example", "apiKey": "literal-cloud-key"},
            "mcpServers": {
                "s": {
                    "command": "c",
                    "args": [
                        "--token",
                        "literal-arg",
                        "--key=literal-two",
                        "ghp_0123456789abcdefghij",
                    ],
                    "env": {"X": "literal-env", "T": "${TOKEN}", "Y": "${NOPE:-literal-default}"},
                    "sandbox": {"env": ["TOKEN"], "fsRead": ["${A_TOKEN}"]},
                },
                "r": {
                    "url": "https://u.example/?k=0123456789abcdefghijklmn0123",
                    "headers": {"Authorization": "Bearer literal-header"},
                },
            },
        }
    )
    kept = folder.store.path.read_text()
    assert "${TOKEN}" in kept
    for secret in ("literal", "from-the-environment", "ghp_0123", "0123456789abcdefghijklmn0123"):
        assert secret not in kept


def test_looking_makes_no_file(folder):
    folder.use(ALLOWING)
    assert not folder.store.state.exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-20]),
        lambda path: path.write_bytes(b"\xff\xfe"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text('{"seal": 1}'),
        lambda path: path.write_text('{"seal": "\u00e9"}'),
        lambda path: path.write_text("null"),
        lambda path: path.write_text(path.read_text().replace("a:b", "a:*")),
        lambda path: path.write_bytes(b" " * (9 << 20)),
        lambda path: path.chmod(0o666),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.rename(path.with_name("r")), path.symlink_to("r")),
    ],
)  # fmt: skip
def test_a_damaged_record_trusts_nothing_and_what_tightens_still_applies(folder, damage):
    folder.trust(ALLOWING)
    damage(folder.store.path)
    effect = folder.use(ALLOWING | {"permissions": {"allow": ["a:b"], "deny": ["x"]}})
    assert effect.problem
    assert not effect.is_trusted
    assert effect.config.permissions.allow == ()
    assert effect.config.permissions.deny == ("x",)
    assert "s" in effect.config.unusable
    if not folder.store.path.is_dir():
        folder.trust()
        assert folder.use().changes == ()


@pytest.mark.parametrize("name", ["key", "generations"])
@pytest.mark.parametrize("how", ["gone", "other", "junk"])
def test_without_key_or_number_a_record_trusts_nothing(folder, name, how):
    folder.trust(ALLOWING)
    path = folder.store.state / name
    path = path if path.is_file() else path / folder.store.path.parent.name
    if how == "gone":
        path.unlink()
    else:
        path.write_text("ab" * 32 if how == "other" else "junk")
    effect = folder.use()
    assert effect.problem
    assert effect.config.permissions.allow == ()


def test_the_record_of_another_workspace_trusts_nothing(make):
    """Attack: the human trusted a harmless workspace with the same file elsewhere."""
    mine, other = make("mine"), make("other")
    other.trust(ALLOWING)
    mine.write(ALLOWING)
    store = mine.store
    shutil.copytree(other.store.path.parent, store.path.parent)
    numbers = store.state / "generations"
    shutil.copy(numbers / other.store.path.parent.name, numbers / store.path.parent.name)
    effect = mine.use()
    assert "another workspace" in (effect.problem or "")
    assert effect.config.permissions.allow == ()


def test_nor_does_it_where_a_record_of_the_same_number_was(make):
    mine, other = make("mine"), make("other")
    mine.trust({})
    other.trust(ALLOWING)
    mine.write(ALLOWING)
    shutil.copy(other.store.path, mine.store.path)
    effect = mine.use()
    assert "another workspace" in (effect.problem or "")
    assert effect.config.permissions.allow == ()


def test_an_earlier_record_that_is_put_back_trusts_nothing(folder):
    """Attack: the human took something back; the old record comes out of a backup."""
    folder.trust(ALLOWING)
    earlier = folder.store.path.read_bytes()
    folder.trust({})
    folder.store.path.write_bytes(earlier)
    effect = folder.use(ALLOWING)
    assert "earlier" in (effect.problem or "")
    assert effect.config.permissions.allow == ()


def test_both_files_put_back_from_one_moment_are_what_was_trusted_then(folder):
    """How far it goes: that needs write access to all of the user's state, and gains no more."""
    folder.trust(ALLOWING)
    shutil.copytree(folder.store.state, folder.home / "backup")
    folder.trust({})
    shutil.rmtree(folder.store.state)
    shutil.copytree(folder.home / "backup", folder.store.state)
    more = ALLOWING | {"permissions": {"allow": ["*"]}}
    assert folder.use(more).config.permissions.allow == ("a:b",)


def test_a_record_of_a_later_version_trusts_nothing(folder):
    folder.trust(ALLOWING)
    key = read_key(folder.store.state)
    assert key is not None
    document = unsealed(folder.store.path.read_bytes(), key)
    for other in (document | {"version": 2}, {"version": 1}, document | {"content": {}}):
        folder.store.path.write_bytes(sealed(other, key))
        assert folder.use().problem
        assert allowed(folder) == ()


@pytest.mark.parametrize("variable", ["PML_STATE", "XDG_STATE_HOME", "home"])
def test_a_state_folder_in_the_workspace_is_nobodys(folder, variable):
    """Attack: the repository brings a state folder with its own key, and client settings that name it."""
    folder.trust(ALLOWING)
    planted = folder.path / "planted"
    shutil.copytree(
        folder.store.state, planted / "pml" if variable == "XDG_STATE_HOME" else planted
    )
    if variable == "home":
        shutil.copytree(folder.store.state, planted / ".local" / "state" / "pml")
    environ = {} if variable == "home" else {variable: str(planted)}
    home = planted if variable == "home" else folder.home
    _, effect = load_trusted(folder.path, environ, home)
    assert "workspace" in (effect.problem or "")
    assert effect.config.permissions.allow == ()
    with pytest.raises(PlaceUnsafeError):
        trust_workspace(folder.path, environ, home, NOW)


def test_a_user_file_in_the_workspace_is_nobodys(folder):
    """Attack: client settings of the repository name a folder of it as the user's own."""
    planted = folder.path / "planted" / "pml"
    planted.mkdir(parents=True)
    (planted / "config.json").write_text('{"approvals": "model"}')
    folder.environ["XDG_CONFIG_HOME"] = str(planted.parent)
    assert folder.use({}).config.approvals == "human"
