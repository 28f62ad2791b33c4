"""Folders as the gateway makes them for a server, and what this machine can do."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pml.confinement import Confined, Grants, Level, Places, Program, Support, confine, probe

ENVIRON = dict(os.environ)


@pytest.fixture(scope="session")
def support() -> Support:
    return probe(ENVIRON)


@pytest.fixture
def needs(support: Support) -> Callable[[Level], None]:
    """Skips where a level does not work; in CI that is a failure."""

    def needs(level: Level) -> None:
        if support.best.at_least(level):
            return
        required = ENVIRON.get("PML_REQUIRE_SANDBOX")
        if required and Level(required).at_least(level):
            pytest.fail(f"level {level} does not work here: {support.reason}")
        pytest.skip(f"level {level} does not work here: {support.reason}")

    return needs


@pytest.fixture
def places(tmp_path: Path) -> Places:
    user = tmp_path / "user"
    made = Places(
        workspace=user / "project", home=tmp_path / "state" / "home",
        tmp=tmp_path / "state" / "tmp", user_home=user,
    )  # fmt: skip
    for folder in (made.workspace, made.home, made.tmp):
        folder.mkdir(parents=True, mode=0o700)
    return made


CAPABLE = Support(Level.FULL, 7, Path("/usr/bin/bwrap"), "0.8.0")
"""A machine where everything works, for what is decided without running anything."""


@pytest.fixture
def confined(places: Places) -> Callable[..., Confined]:
    """Confines a program that is there on every machine."""

    def confined(grants: Grants | None = None, **options: object) -> Confined:
        program = options.pop("program", Program("sh", ("-c", "exit 0")))
        return confine(
            program, grants or Grants(), places,
            **{"support": CAPABLE, "environ": {"PATH": "/usr/bin:/bin"}, **options},
        )  # fmt: skip

    return confined
