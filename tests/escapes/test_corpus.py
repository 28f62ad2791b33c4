"""Every attack of the corpus: it works where nothing defends, and it is refused here."""

import os
from pathlib import Path

import pytest

from pml.attacks import CORPUS, Attack, Verdict, carried_out
from pml.diagnosis import Surroundings


@pytest.mark.parametrize("attack", CORPUS, ids=lambda attack: attack.id)
async def test_it_works_unprotected_and_is_refused_here(attack: Attack, tmp_path: Path) -> None:
    around = Surroundings(tmp_path, dict(os.environ), tmp_path)
    [outcome] = [one async for one in carried_out([attack], around)]
    assert outcome.verdict is Verdict.REFUSED, outcome
