"""Attack: new namespaces, io_uring, the user's keyring: corners of the kernel that hide from other checks."""

import pytest

from pml.confinement import Grants, Level

CONFINED = [Level.FULL, Level.LANDLOCK, Level.PARTIAL]


@pytest.mark.parametrize("attack", ["unshare", "io_uring", "keyring"])
@pytest.mark.parametrize("level", CONFINED)
def test_corners_of_the_kernel_are_closed(start, level, attack) -> None:
    assert start(level, grants=Grants(spawn=True, net=True)).ask(attack) in {"EPERM", "ENOSYS"}


@pytest.mark.parametrize("attack", ["unshare", "io_uring", "keyring"])
def test_without_confinement_the_same_attempt_works(start, attack) -> None:
    assert start(Level.OFF).ask(attack) == "OPEN"
