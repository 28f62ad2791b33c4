"""The attack on the OS sandbox: real processes, at every level that this machine has."""

import dataclasses
from pathlib import Path

import pytest

from pml.confinement import Level, Support
from pml.diagnosis import Surroundings, os_sandbox
from pml.diagnosis.bait import ATTEMPTS, CONNECT, READ, SEE, WRITE, laid_out
from pml.diagnosis.errors import SandboxUntriedError


def needed(support: Support, level: Level) -> None:
    lacking = level is Level.LANDLOCK and support.landlock_abi == 0
    if lacking or not support.best.at_least(level):
        pytest.skip(f"level {level} does not work here: {support.reason}")


async def test_without_a_sandbox_every_attempt_succeeds() -> None:
    async with laid_out() as bait:
        assert await os_sandbox._unconfined(bait) == set(ATTEMPTS)
        assert bait.taken("") == set()  # no trace is counted twice


@pytest.mark.parametrize("level", [Level.FULL, Level.LANDLOCK])
async def test_confined_every_attempt_is_refused(
    level: Level, support: Support, around: Surroundings
) -> None:
    needed(support, level)
    [found] = await os_sandbox.attack(support, around.environ, around.home, level)
    assert (found.level, found.subject) == ("ok", f"escapes ({level})")
    assert found.fact == f"tried and refused: {', '.join(ATTEMPTS.values())}"


async def test_a_level_without_files_is_seen_to_leave_them_open(
    support: Support, around: Surroundings
) -> None:
    """The same attempts go through where nothing holds them: a real process that escapes is told."""
    needed(support, Level.PARTIAL)
    held, *open_ones = await os_sandbox.attack(support, around.environ, around.home, Level.PARTIAL)
    assert ATTEMPTS[CONNECT] in held.fact
    assert {one.level for one in open_ones} == {"warning"}
    named = {one.fact.rpartition(": ")[2] for one in open_ones}
    assert named - {ATTEMPTS[SEE]} == {ATTEMPTS[READ], ATTEMPTS[WRITE]}  # root cannot see either


@pytest.mark.parametrize("level", [Level.FULL, Level.LANDLOCK])
def test_an_attempt_that_goes_through_where_it_must_not_is_an_error(level: Level) -> None:
    refused, escaped = os_sandbox.judged(level, set(ATTEMPTS), {WRITE})
    assert ATTEMPTS[WRITE] not in refused.fact
    assert (escaped.level, escaped.fact) == ("error", f"not refused: {ATTEMPTS[WRITE]}")
    assert "start no server" in str(escaped.fix)


def test_an_attempt_that_fails_without_a_sandbox_too_proves_nothing() -> None:
    refused, unproved = os_sandbox.judged(Level.FULL, set(ATTEMPTS) - {SEE}, set())
    assert ATTEMPTS[SEE] not in refused.fact
    assert unproved.level == "warning"
    assert "not proved" in unproved.fact


async def test_a_sandbox_that_does_not_start_is_not_taken_for_one_that_holds(
    around: Surroundings,
) -> None:
    broken = Support(Level.FULL, 0, Path("/bin/false"), "0.8.0")
    with pytest.raises(SandboxUntriedError) as raised:
        await os_sandbox.attack(broken, around.environ, around.home)
    assert "exit code 1" in raised.value.message


async def test_where_there_is_no_sandbox_nothing_is_tried(around: Surroundings) -> None:
    none = Support(Level.OFF, reason="no OS sandbox on darwin yet")
    assert await os_sandbox.attack(none, around.environ, around.home) == ()
    found = os_sandbox.look_at_level(none)
    assert (found.level, found.fix) == ("warning", "run pml on Linux, on x86_64 or aarch64")


WHOLE = Support(Level.FULL, 7, Path("/usr/bin/bwrap"), "0.8.0")


@pytest.mark.parametrize(
    ("changes", "level", "fact", "fix"),
    [
        ({}, "ok", "full (bubblewrap: 0.8.0, Landlock ABI: 7)", None),
        ({"landlock_abi": 0}, "warning", "no second line of defence", "lsm="),
        ({"best": Level.LANDLOCK, "bwrap_version": None, "reason": "bubblewrap is not installed",
          "hint": "install bubblewrap"}, "warning", "bubblewrap: no", "install bubblewrap"),
        ({"best": Level.PARTIAL, "landlock_abi": 0, "reason": "bubblewrap is not installed",
          "hint": "install bubblewrap"}, "warning", "Landlock ABI: no", "Linux 5.13"),
    ],
)  # fmt: skip
def test_what_is_missing_is_told_with_what_to_install(
    changes: dict[str, object], level: str, fact: str, fix: str | None
) -> None:
    found = os_sandbox.look_at_level(dataclasses.replace(WHOLE, **changes))  # type: ignore[arg-type]
    assert found.level == level
    assert fact in found.fact
    assert (fix or "None") in str(found.fix)
