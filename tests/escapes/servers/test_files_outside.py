"""Attack: read what the user keeps, or another server's secrets; write, empty or move files outside the workspace."""

from pathlib import Path

import pytest

from pml.confinement import Grants, Level

LANGUAGES = ["python", "node"]
CONFINED = [Level.FULL, Level.LANDLOCK]


def _attempts(world) -> dict[str, tuple]:
    """Each works for an unconfined process of this user."""
    outside = world.outside
    return {
        "read the ssh key": ("read", world.ssh_key),
        "list the folder of ssh keys": ("list", world.ssh_key.parent),
        "read another server's secret": ("read", world.other_home / "token"),
        "list the home": ("list", world.places.user_home),
        "write a file outside": ("write", outside / "file"),
        "create a file outside": ("write", outside / "new"),
        "create a folder outside": ("mkdir", outside / "folder"),
        "empty a file outside": ("truncate", outside / "file"),
        "link a file from outside": ("link", outside / "file", world.workspace / "hard"),
        "take a file from outside": ("rename", outside / "file", world.workspace / "taken"),
    }


ATTEMPTS = [
    "read the ssh key", "list the folder of ssh keys", "read another server's secret", "list the home",
    "write a file outside", "create a file outside", "create a folder outside", "empty a file outside",
    "link a file from outside", "take a file from outside",
]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("attempt", ATTEMPTS)
@pytest.mark.parametrize("level", CONFINED)
def test_files_that_are_not_granted_stay_closed(start, world, level, attempt, language) -> None:
    evil = start(level, language)
    assert evil.ask(*_attempts(world)[attempt]) in {"EACCES", "EPERM", "ENOENT", "EXDEV", "EROFS"}
    assert (world.outside / "file").read_text() == "untouched"
    assert [path.name for path in world.outside.iterdir()] == ["file"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_without_confinement_the_same_attempt_works(start, world, attempt, language) -> None:
    assert start(Level.OFF, language).ask(*_attempts(world)[attempt]) == "OPEN"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", CONFINED)
def test_a_link_in_the_workspace_leads_nowhere(start, world, level, language) -> None:
    evil = start(level, language)
    assert evil.ask("symlink", world.ssh_key, world.workspace / "link") == "OPEN"
    assert evil.ask("read", world.workspace / "link") in {"EACCES", "ENOENT"}
    assert evil.ask("read", f"{world.workspace}/../.ssh/id_ed25519") in {"EACCES", "ENOENT"}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", CONFINED)
def test_what_is_granted_works(start, world, level, language) -> None:
    readable = world.outside / "shared"
    readable.mkdir()
    (readable / "file").write_text("for all")
    evil = start(level, language, Grants(fs_read=(readable,), fs_write=(world.workspace,)))
    assert evil.ask("read", readable / "file") == "OPEN"
    assert evil.ask("write", world.workspace / "new.txt") == "OPEN"
    assert evil.ask("rename", world.workspace / "new.txt", world.workspace / "moved.txt") == "OPEN"
    assert evil.ask("mkdir", world.workspace / "folder") == "OPEN"
    assert evil.ask("write", world.places.home / "settings") == "OPEN"
    assert evil.ask("write", world.places.tmp / "scratch") == "OPEN"
    assert evil.ask("write", "/dev/null") == "OPEN"
    assert evil.ask("read", "/dev/urandom") == "OPEN" if language == "python" else True
    assert evil.ask("write", readable / "file") in {"EACCES", "EROFS"}
    assert (world.workspace / "moved.txt").read_text() == "planted"


@pytest.mark.parametrize("attack", ["link", "rename"])
@pytest.mark.parametrize("level", CONFINED)
def test_what_may_be_read_cannot_be_made_writable_by_another_name(
    start, world, level, attack
) -> None:
    readable = world.outside / "shared"
    readable.mkdir()
    (readable / "file").write_text("for all")
    grants = Grants(fs_read=(readable,), fs_write=(world.workspace,))
    attempt = (attack, readable / "file", world.workspace / "other name")
    assert start(level, grants=grants).ask(*attempt) in {"EXDEV", "EACCES", "EROFS"}
    assert start(Level.OFF, grants=grants).ask(*attempt) == "OPEN"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", CONFINED)
def test_by_default_not_even_the_workspace_can_be_read(start, world, level, language) -> None:
    evil = start(level, language, Grants())
    assert evil.ask("read", world.workspace / "plain.txt") in {"EACCES", "ENOENT"}
    assert evil.ask("write", world.workspace / "new") in {"EACCES", "EROFS", "ENOENT"}


@pytest.mark.parametrize("level", CONFINED)
def test_its_own_program_and_runtime_cannot_be_written(start, level) -> None:
    evil = start(level, "python")
    program = Path(evil.confined.argv[-1])
    assert evil.ask("read", program) == "OPEN"
    assert evil.ask("write", program) in {"EACCES", "EROFS"}
    assert evil.ask("write", program.with_name("usercustomize.py")) in {"EACCES", "EROFS"}


@pytest.mark.parametrize("attack", ["chmod", "utime", "stat"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_at_level_full_not_even_the_existence_of_a_file_shows(
    start, world, attack, language
) -> None:
    assert start(Level.FULL, language).ask(attack, world.outside / "file") == "ENOENT"
    assert start(Level.OFF, language).ask(attack, world.outside / "file") == "OPEN"


@pytest.mark.parametrize("level", CONFINED)
def test_the_systems_secrets_stay_closed_even_to_root(start, level) -> None:
    evil = start(level)
    assert evil.ask("read", "/etc/shadow") in {"EACCES", "ENOENT"}
    assert evil.ask("write", "/etc/passwd") in {"EACCES", "EROFS"}
    assert evil.ask("write", "/usr/planted") in {"EACCES", "EROFS"}
    assert evil.ask("write", "/planted") in {"EACCES", "EROFS"}
    assert evil.ask("write", "/proc/sys/kernel/core_pattern") in {"EACCES", "EROFS"}
