"""`.env` in a real repository, asked of a real git in a real sandbox."""

import os
import subprocess
from pathlib import Path

import pytest

from pml.confinement import Level, Support
from pml.diagnosis import Finding, Surroundings
from pml.diagnosis.keys import look_at_env_file, look_at_git

SECRET = "sk-1234567890abcdef"


@pytest.fixture
def env(around: Surroundings) -> Path:
    path = around.cwd / ".env"
    path.write_text(f"A_KEY={SECRET}\nANOTHER=x\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def confines(support: Support) -> None:
    if not support.best.at_least(Level.LANDLOCK):
        pytest.skip(f"git cannot be confined here: {support.reason}")


def looked_at(around: Surroundings) -> Finding:
    [found] = look_at_env_file(around.cwd, around.environ)
    assert SECRET not in str(found)
    return found


async def asked(around: Surroundings, support: Support) -> Finding:
    [found] = await look_at_git(around.cwd, support, around.environ, around.home)
    return found


def test_a_private_file_is_well(around: Surroundings, env: Path) -> None:
    found = looked_at(around)
    assert (found.level, found.fact) == ("ok", "2 names, for you alone")


async def test_no_file_is_well(around: Surroundings, support: Support) -> None:
    assert looked_at(around).level == "ok"
    assert await look_at_git(around.cwd, support, around.environ, around.home) == []


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_a_file_that_others_read_is_a_warning(around: Surroundings, env: Path, mode: int) -> None:
    env.chmod(mode)
    found = looked_at(around)
    assert (found.level, found.fix) == ("warning", f"chmod 600 {env}")
    assert os.system(str(found.fix)) == 0  # noqa: S605 - what the human is told to do
    assert looked_at(around).level == "ok"


def test_a_file_that_others_write_is_an_error(around: Surroundings, env: Path) -> None:
    env.chmod(0o666)
    found = look_at_env_file(around.cwd, around.environ)
    assert {one.level for one in found} == {"error"}


def test_a_line_that_means_nothing_is_named_by_its_number(around: Surroundings, env: Path) -> None:
    env.write_text(f"GOOD=1\nKEY=`{SECRET}`\n")
    found = looked_at(around)
    assert (found.level, f"{env}:2" in found.fact) == ("error", True)
    env.write_text(f"GOOD=1\n{SECRET}\n")
    assert looked_at(around).level == "error"


@pytest.mark.usefixtures("confines")
async def test_a_file_that_no_rule_ignores_is_a_warning_until_it_is(
    around: Surroundings, env: Path, support: Support
) -> None:
    found = await asked(around, support)
    assert found.level == "warning"
    assert os.system(str(found.fix)) == 0  # noqa: S605 - what the human is told to do
    found = await asked(around, support)
    assert (found.level, found.fact) == ("ok", "git ignores it")


@pytest.mark.usefixtures("confines")
async def test_a_file_that_git_has_is_an_error_though_a_rule_ignores_it(
    around: Surroundings, env: Path, support: Support
) -> None:
    (around.cwd / ".gitignore").write_text(".env\n")
    subprocess.run(["git", "-C", str(around.cwd), "add", "--force", ".env"], check=True)
    found = await asked(around, support)
    assert found.level == "error"
    assert "git rm --cached .env" in str(found.fix)


@pytest.mark.usefixtures("confines")
async def test_a_repository_around_the_workspace_counts(
    around: Surroundings, support: Support
) -> None:
    inner = around.cwd / "part"
    inner.mkdir()
    (inner / ".env").write_text("A=1")
    (around.cwd / ".gitignore").write_text("part/.env\n")
    [found] = await look_at_git(inner, support, around.environ, around.home)
    assert found.level == "ok"


@pytest.mark.usefixtures("confines")
async def test_a_repositorys_own_settings_run_nothing(
    around: Surroundings, env: Path, support: Support
) -> None:
    """Attack: a folder from a stranger whose `.git/config` names programs for git to run."""
    program = around.cwd / "program"
    program.write_text(f"#!/bin/sh\ntouch {around.cwd}/ran\n")
    program.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "alias.ls-files",
    ):
        subprocess.run(["git", "-C", str(around.cwd), "config", name, str(program)], check=True)
    assert (await asked(around, support)).level == "warning"
    assert not (around.cwd / "ran").exists()


async def test_without_a_sandbox_for_git_the_human_is_told_what_to_ask(
    around: Surroundings, env: Path
) -> None:
    found = await asked(around, Support(Level.OFF, reason="no OS sandbox here"))
    assert (found.level, "git was not asked" in found.fact) == ("warning", True)
    assert "git check-ignore" in str(found.fix)
