"""Attack: fork without end, take all memory, all descriptors, the whole disk."""

import pytest

from pml.confinement import Grants, Level, ProcessLimits
from pml.confinement.words import PROCESS_COUNT

CONFINED = [Level.FULL, Level.LANDLOCK, Level.PARTIAL]
EVERYWHERE = [*CONFINED, Level.OFF]
LANGUAGES = ["python", "node"]
SMALL = ProcessLimits(memory_bytes=300 << 20, open_files=100, file_bytes=1 << 20)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", CONFINED)
def test_a_server_that_may_not_spawn_cannot_fork_once(start, level, language) -> None:
    assert start(level, language).ask("forks", 1) in {"EPERM", "EAGAIN"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_confinement_it_forks_as_it_likes(start, language) -> None:
    """The canary is bounded: 100 children, which wait and end with it."""
    assert start(Level.OFF, language).ask("forks", 100) == "OPEN"


@pytest.mark.parametrize("level", CONFINED)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_server_that_may_spawn_can(start, level, language) -> None:
    assert start(level, language, Grants(spawn=True)).ask("forks", 3) == "OPEN"


def test_at_level_full_the_number_of_processes_is_bounded_unless_said_otherwise(start) -> None:
    """For root the kernel counts none: then it is listed as missing."""
    limits = ProcessLimits(processes=20)
    evil = start(Level.FULL, grants=Grants(spawn=True, limits=limits))
    told = evil.ask("forks", 100)
    assert told == ("OPEN" if PROCESS_COUNT in evil.confined.missing else "EAGAIN")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", EVERYWHERE)
def test_memory_is_bounded(start, level, language) -> None:
    """Node does not survive it, Python is told; either way the machine is safe."""
    told = start(level, language, Grants(limits=SMALL)).ask("memory", 600 << 20)
    assert told == "ENOMEM" or told.startswith("ended ")


@pytest.mark.parametrize("language", LANGUAGES)
def test_with_a_larger_limit_the_same_memory_can_be_had(start, language) -> None:
    grants = Grants(limits=ProcessLimits(memory_bytes=1500 << 20))
    assert start(Level.OFF, language, grants).ask("memory", 600 << 20) == "OPEN"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("level", EVERYWHERE)
def test_open_files_are_bounded(start, level, language) -> None:
    assert start(level, language, Grants(limits=SMALL)).ask("open_many", 200) == "EMFILE"
    assert start(level, language).ask("open_many", 200) == "OPEN"


@pytest.mark.parametrize("level", EVERYWHERE)
def test_a_file_cannot_grow_without_end(start, world, level) -> None:
    evil = start(level, grants=Grants(fs_write=(world.workspace,), limits=SMALL))
    assert evil.ask("grow", world.workspace / "large", 2 << 20) == "EFBIG"
    assert evil.ask("grow", world.workspace / "small", 1 << 19) == "OPEN"
