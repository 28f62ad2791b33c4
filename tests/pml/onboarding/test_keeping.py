"""`.env`: what is written reads back, what is there stays, what git keeps is known."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.keys.dotenv import parse_dotenv
from pml.onboarding.errors import KeyConflictError, NotTakenError
from pml.onboarding.keeping import Vault, is_committed, names_for, own_names_for

values = st.text(
    st.one_of(st.sampled_from(" '\"\\$`#={}\n\r\t"), st.characters(exclude_categories=["Cs"])), min_size=1
)  # fmt: skip
before = st.lists(
    st.sampled_from(["A=1", "# x", "", "export B='x\ny'", 'C="\\n"']), max_size=5
).map("\n".join)


@pytest.fixture(scope="module")
def folder() -> Path:
    return Path(os.path.realpath(tempfile.mkdtemp()))


@given(before, values)
def test_a_value_reads_back_exactly_and_every_old_byte_stays(
    folder: Path, old: str, value: str
) -> None:
    path = folder / ".env"
    path.write_bytes(old.encode())
    was = parse_dotenv(old, path)
    vault = Vault({}, folder)
    try:
        name = vault.keep(("KEY",), value)
    except NotTakenError:
        assert "`" in value or "\0" in value or "\r" in value
        return
    change = vault.change()
    if change is None:  # a placeholder
        return
    assert change.after is not None
    assert change.after.startswith(old.encode())
    now = parse_dotenv(change.after.decode(), path)
    assert now[name] == value
    assert {key: str(text) for key, text in now.items() if key != name} == {
        key: str(text) for key, text in was.items()
    }
    assert value not in change.added or value in "KEY=(not shown)"


def test_no_name_that_steers_programs_is_used(tmp_path: Path) -> None:
    """Attack: a client's file sets what a loader or git would obey, through `.env`."""
    vault = Vault({}, tmp_path)
    assert vault.keep(names_for("git", "GIT_TOKEN"), "x") == "SERVER_GIT_GIT_TOKEN"
    assert vault.keep(names_for("my-api", "NODE_AUTH"), "x") == "MY_API_NODE_AUTH"
    assert vault.keep(own_names_for("9api", "X-Api-Key"), "x") == "SERVER_9API_X_API_KEY"


def test_names_that_all_have_other_values_are_a_conflict(tmp_path: Path) -> None:
    environ = dict.fromkeys(names_for("a", "KEY"), "other")
    with pytest.raises(KeyConflictError, match="KEY has another value"):
        Vault(environ, tmp_path).keep(names_for("a", "KEY"), "x")


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_a_file_that_git_keeps_is_known_by_the_index(tmp_path: Path, version: str) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", f"index.version={version}", *words], cwd=tmp_path, check=True)

    folder = tmp_path / "sub"
    folder.mkdir()
    for name in (".env", "sub/.env", "sub/x.env", "a.env"):
        (tmp_path / name).write_text("A=1\n")
    git("init", "-q")
    assert not is_committed(tmp_path / ".env", tmp_path)
    git("add", "sub/.env", "sub/x.env", "a.env")
    assert is_committed(folder / ".env", folder)
    assert is_committed(tmp_path / ".env", tmp_path) is (version == "4")  # which cannot tell
    git("add", "-N", ".env")
    assert is_committed(tmp_path / ".env", tmp_path)


def test_without_git_nothing_is_committed(tmp_path: Path) -> None:
    assert not is_committed(tmp_path / ".env", tmp_path)
