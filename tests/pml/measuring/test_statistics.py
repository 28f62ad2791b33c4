"""Percentiles and ratios, whatever the samples are."""

from hypothesis import given
from hypothesis import strategies as st

from pml.measuring.statistics import percentile, ratio, summary

SECONDS = st.floats(1e-7, 100)
SAMPLES = st.lists(SECONDS, min_size=1, max_size=60)


@given(SAMPLES)
def test_a_summary_is_in_order_and_within_its_samples(samples: list[float]) -> None:
    found = summary(samples)
    assert found.least <= found.p50 <= found.p95 <= found.p99 <= found.most
    assert {found.least, found.p50, found.p95, found.p99, found.most} <= set(samples)
    assert found.count == len(samples)


@given(SAMPLES, st.floats(0.01, 1))
def test_a_percentile_is_exceeded_by_no_more_than_the_rest(
    samples: list[float], share: float
) -> None:
    found = percentile(sorted(samples), share)
    assert sum(one <= found for one in samples) >= share * len(samples) - 1e-9


@given(SAMPLES, SAMPLES)
def test_a_ratio_lies_in_its_band_and_is_the_same_again(
    samples: list[float], reference: list[float]
) -> None:
    found = ratio(samples, reference)
    assert found.low <= found.p50 <= found.high
    assert found == ratio(samples, reference)


@given(SAMPLES, SAMPLES, st.sampled_from((0.25, 0.5, 2.0, 8.0)))
def test_the_speed_of_the_machine_cancels(
    samples: list[float], reference: list[float], speed: float
) -> None:
    """Powers of two, which floats multiply exactly."""
    slower = ratio([one * speed for one in samples], [one * speed for one in reference])
    assert slower == ratio(samples, reference)


def test_samples_without_noise_have_a_band_without_width() -> None:
    found = ratio([2.0] * 20, [1.0] * 20)
    assert (found.low, found.p50, found.high) == (2.0, 2.0, 2.0)
