"""Verdicts over two runs: what is noise is no regression, what is more than noise is one."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.measuring.comparing import Verdict, compared, has_regressed
from pml.measuring.errors import ResultsUnreadableError
from pml.measuring.figures import Figure, Results, Subject, Taken
from pml.measuring.keeping import document, read, results_of

FACTS = {"cores": 2, "loadBefore": 0.1, "referenceSpread": 1.1}
SANDBOX = Subject("sandbox", "sandbox")


def timed(
    scale: float = 1.0, *, machine: float = 1.0, noise: float = 0.05, seed: int = 1
) -> Figure:
    chance = random.Random(seed)  # noqa: S311
    samples = [machine * scale * chance.uniform(1, 1 + noise) for _ in range(100)]
    reference = [machine * chance.uniform(1, 1 + noise) for _ in range(100)]
    return SANDBOX.time("fresh", "a fresh sandbox", Taken(samples, reference))


def run(*figures: Figure) -> Results:
    return Results(FACTS, True, figures, (SANDBOX.missing("why not"),))


def verdict(before: Figure, now: Figure) -> Verdict:
    [found] = compared(run(before), run(now))
    return found.verdict


def test_the_same_code_on_a_machine_half_as_fast_is_the_same() -> None:
    assert verdict(timed(), timed(machine=2, seed=2)) is Verdict.SAME


def test_twice_the_time_is_worse_also_on_a_machine_twice_as_fast() -> None:
    assert verdict(timed(), timed(2, machine=0.5, seed=2)) is Verdict.WORSE
    assert verdict(timed(2), timed(machine=2, seed=2)) is Verdict.BETTER


def test_a_noisy_run_has_to_be_much_worse() -> None:
    busy = Results({**FACTS, "loadBefore": 3.0}, True, (timed(1.4, seed=2),))
    [found] = compared(run(timed()), busy)
    assert found.verdict is Verdict.SAME
    assert verdict(timed(), timed(1.4, seed=2)) is Verdict.WORSE


def test_a_growth_that_the_noise_could_be_is_none() -> None:
    assert verdict(timed(noise=4), timed(1.3, noise=4, seed=2)) is Verdict.SAME


@given(st.integers(2, 1000), st.floats(0, 3))
def test_runs_of_the_same_code_never_regress(seed: int, noise: float) -> None:
    assert verdict(timed(noise=noise), timed(noise=noise, seed=seed)) is Verdict.SAME


def test_a_size_that_grew_is_worse_and_a_little_more_is_not() -> None:
    sizes = [SANDBOX.size("memory", "memory", size) for size in (100, 108, 130)]
    assert verdict(sizes[0], sizes[1]) is Verdict.SAME
    assert verdict(sizes[0], sizes[2]) is Verdict.WORSE


def test_what_only_one_run_has_and_what_is_not_ours_is_not_compared() -> None:
    theirs = SANDBOX.size("listed", "a server's list", 100, is_ours=False)
    found = compared(run(timed()), run(theirs))
    assert not found
    assert not has_regressed(found)


def test_an_overhead_that_noise_has_eaten_is_no_verdict() -> None:
    none = SANDBOX.time("fresh", "", Taken([-1e-5] * 9, [1e-4] * 9), is_overhead=True)
    assert verdict(none, timed()) is Verdict.SAME


def test_results_come_back_from_their_file_as_they_were(tmp_path: Path) -> None:
    results = run(timed(), SANDBOX.size("memory", "memory", 5))
    path = tmp_path / "before.json"
    path.write_text(json.dumps(document(results)))
    assert read(path) == results


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", "null", "\ud800".encode(errors="surrogatepass"), b"\x00\xff",
                '{"format": "pml bench", "version": 2}', "[" * 100_000]
)  # fmt: skip
def test_a_file_that_is_not_ours_is_refused_by_name(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "other.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ResultsUnreadableError, match="other.json"):
        read(path)


@pytest.mark.parametrize("change", [
    {"unit": "parsec"}, {"title": 5}, {"summary": None}, {"ratio": {"p50": "much"}}, {"new": 1},
])  # fmt: skip
def test_a_figure_of_another_shape_is_refused(change: dict[str, object]) -> None:
    said = json.loads(json.dumps(document(run(timed()))))
    said["figures"][0].update(change)
    with pytest.raises((ValueError, KeyError, TypeError)):
        results_of(said)
