"""`pml init` and the cloud: asked for, skipped, and the key never where it could be read."""

import json
from pathlib import Path

import pytest

from .projects import Project

URL = "https://cloud.example"
KEY = "ac_0123456789abcdef"
WRITTEN = {"url": URL, "apiKey": "${PML_API_KEY}"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path.resolve())


def config(project: Project) -> dict[str, object]:
    found: dict[str, object] = json.loads(project.read(".pml.json"))
    return found


def test_a_key_that_is_typed_is_not_shown_and_goes_to_env(project: Project) -> None:
    asked = project.terminal("init")
    asked.read_until("Enter for none (all that is local works without): ")
    asked.answer(f"{URL}\n")
    asked.read_until(f"key for {URL}, Enter for none (not shown): ")
    words = asked.received
    asked.answer(f"{KEY}\n")
    asked.read_until("write these files? [Y/n] ")
    words += asked.received
    asked.answer("\n")
    code, rest = asked.end()
    assert code == 0
    assert KEY not in words + rest
    assert config(project)["cloud"] == WRITTEN
    assert project.read(".env").endswith(f"PML_API_KEY={KEY}\n")
    assert (project.path / ".env").stat().st_mode & 0o777 == 0o600
    assert project.pml("trust", "--show").returncode == 0


def test_enter_skips_the_cloud(project: Project) -> None:
    asked = project.terminal("init")
    asked.read_until("Enter for none")
    asked.answer("\n")
    asked.read_until("[Y/n] ")
    asked.answer("\n")
    assert asked.end()[0] == 0
    assert "cloud" not in config(project)
    assert not (project.path / ".env").exists()


def test_enter_skips_the_key(project: Project) -> None:
    asked = project.terminal("init", "--cloud", URL)
    asked.read_until("(not shown): ")
    asked.answer("\n")
    asked.read_until("[Y/n] ")
    asked.answer("\n")
    assert asked.end()[0] == 0
    assert config(project)["cloud"] == WRITTEN
    assert not (project.path / ".env").exists()


def test_a_key_from_stdin_is_never_printed_and_a_cloud_waits_without_a_human(
    project: Project,
) -> None:
    """Attack: a model names its own cloud, which would be sent the user's programs."""
    given = ("init", "--yes", "--cloud", URL, "--api-key-stdin")
    done = [project.pml(*given, *more, stdin=f"{KEY}\n") for more in (["--dry-run"], ["--json"])]
    assert [one.returncode for one in done] == [0, 3]
    assert json.loads(done[1].stdout)["waiting"] == ["cloud"]
    assert not any(KEY in one.stdout + one.stderr for one in done)
    assert KEY in project.read(".env")
    assert KEY not in project.read(".pml.json")
    before = project.files()
    project.pml(*given, stdin=f"{KEY}\n")
    assert project.files() == before


def test_another_key_does_not_replace_the_one_that_is_there(project: Project) -> None:
    project.write(".env", "PML_API_KEY=mine\n")
    done = project.pml("init", "--yes", "--cloud", URL, "--api-key-stdin", stdin=KEY)
    assert done.returncode == 1
    assert "PML_API_KEY has another value already" in done.stderr
    assert [*project.files()] == [".env"]
    assert project.read(".env") == "PML_API_KEY=mine\n"


@pytest.mark.parametrize(
    ("url", "words"),
    [("http://cloud.example", "begins with `https://`"), ("cloud", "not an address")],
)
def test_an_address_that_cannot_be_used_is_an_error(
    project: Project, url: str, words: str
) -> None:
    done = project.pml("init", "--yes", "--cloud", url)
    assert (done.returncode, words in done.stderr) == (1, True)
    assert project.files() == {}


def test_a_key_without_a_cloud_is_an_error(project: Project) -> None:
    done = project.pml("init", "--yes", "--api-key-stdin", stdin=KEY)
    assert (done.returncode, "add --cloud URL" in done.stderr) == (1, True)
    assert project.files() == {}


def test_a_configuration_with_another_cloud_is_not_changed(project: Project) -> None:
    project.write(".pml.json", {"cloud": {"url": "https://other.example"}})
    before = project.files()
    done = project.pml("init", "--yes", "--cloud", URL)
    assert (done.returncode, "names another cloud" in done.stderr) == (1, True)
    assert project.files() == before
