"""What a package manager can do and see, and how it is ended: a shell in its place tells."""

from pathlib import Path

import anyio
import pytest

from pml.confinement import Level, Program
from pml.loader.installer import InstallTimeoutError, Machine, running
from pml.loader.installer.running import Ended, Job, run
from pml.places import private_folder


async def shell(machine: Machine, line: str, seconds: float = 60.0) -> Ended:
    draft = private_folder(machine.packages / "draft")
    private_folder(draft / "tree")
    job = Job("npm", Program("/bin/sh", ("-c", line)), draft, "acme", seconds=seconds)
    return await run(machine, job, lambda: None)


async def test_it_writes_the_package_and_its_own_home_alone(
    machine: Machine, tmp_path: Path
) -> None:
    if not machine.support.best.at_least(Level.LANDLOCK):
        pytest.skip("no file system is guarded here")
    ended = await shell(machine, f"echo a > file; echo b > ~/kept; echo c > {tmp_path}/out")
    assert ended.code
    assert (machine.packages / "draft" / "tree" / "file").read_text() == "a\n"
    assert (machine.packages / "home" / "npm" / "kept").read_text() == "b\n"
    assert not (tmp_path / "out").exists()


async def test_it_reads_the_users_settings_for_it_and_nothing_else_of_the_user(
    machine: Machine,
) -> None:
    if not machine.support.best.at_least(Level.LANDLOCK):
        pytest.skip("no file system is guarded here")
    (machine.user_home / "diary").write_text("dear diary")
    ended = await shell(machine, f"cat ~/.npmrc; cat {machine.user_home}/diary")
    assert ended.output.startswith("registry=")
    assert "dear diary" not in ended.output
    assert ended.code


async def test_it_has_none_of_the_users_variables(machine: Machine) -> None:
    ended = await shell(machine, "env")
    assert "s3cr3t" not in ended.output
    assert f"HOME={machine.packages}/home/npm" in ended.output


async def test_what_it_says_is_told_without_the_users_token(machine: Machine) -> None:
    with (machine.user_home / ".npmrc").open("a") as file:
        file.write("//mirror/:_authToken=${SECRET_KEY}\n")
    ended = await shell(machine, "echo failed with $SECRET_KEY >&2; exit 1")
    assert ended.said == ("failed with [secret SECRET_KEY]",)


async def test_it_is_ended_when_it_takes_too_long(machine: Machine) -> None:
    with anyio.fail_after(60), pytest.raises(InstallTimeoutError, match="longer than 0.5 s"):
        await shell(machine, "trap '' TERM; sleep 600 & wait; wait", seconds=0.5)


async def test_a_flood_of_words_is_not_kept(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_MOST_OUTPUT_BYTES", 1000)
    ended = await shell(machine, "yes | head -c 3000000; echo; yes x | head -n 1000 >&2")
    assert len(ended.output) <= 1000 + (1 << 16)
    assert len(ended.said) <= 40
