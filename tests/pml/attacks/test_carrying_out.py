"""What two attempts mean: an attack that no longer works anywhere is never called refused."""

import os
from pathlib import Path

import pytest

from pml.attacks import CORPUS, Attack, Outcome, Risk, Stage, Tried, Verdict, carried_out
from pml.attacks.attack import UnprovableError, refused, through
from pml.diagnosis import Surroundings


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def outcome_of(attack: Attack, folder: Path) -> Outcome:
    around = Surroundings(folder, dict(os.environ), folder)
    [outcome] = [one async for one in carried_out([attack], around)]
    return outcome


def test_no_attack_is_there_twice() -> None:
    assert len({attack.id for attack in CORPUS}) == len(CORPUS)
    assert len({attack.title for attack in CORPUS}) == len(CORPUS)


async def works(_: Stage) -> Tried:
    return through("taken")


async def fails(_: Stage) -> Tried:
    return refused("denied")


async def cannot(_: Stage) -> Tried:
    raise UnprovableError("no such level")


async def crashes(_: Stage) -> Tried:
    raise KeyError("told")


@pytest.mark.parametrize(
    ("unprotected", "protected", "verdict"),
    [
        (works, fails, Verdict.REFUSED),
        (works, works, Verdict.THROUGH),
        (fails, works, Verdict.THROUGH),
        (crashes, works, Verdict.THROUGH),
        (fails, fails, Verdict.NOT_PROVED),
        (works, cannot, Verdict.NOT_PROVED),
        (cannot, fails, Verdict.NOT_PROVED),
        (works, crashes, Verdict.BROKEN),
        (crashes, fails, Verdict.BROKEN),
    ],
)
async def test_only_what_works_elsewhere_and_not_here_is_refused(
    unprotected, protected, verdict, tmp_path
) -> None:
    attack = Attack("test/one", Risk.SCOPE, "tries", unprotected, protected)
    assert (await outcome_of(attack, tmp_path)).verdict is verdict
