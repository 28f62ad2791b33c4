"""What became worse between two runs, beyond the noise of both. Pure.

A time is compared by its ratio to the reference of its own run, so that the machine's speed
cancels. It is worse when even the low end of its band now lies above the high end of its band
then, by more than runs of the same code differ; a size, when it grew by more than that.
"""

import dataclasses
import enum
from collections.abc import Sequence

from pml.measuring.figures import Figure, Results

TOLERATED = 0.1
"""Runs of the same code differ by so much in where memory happens to lie."""

TOLERATED_NOISE = 0.5
"""Of times, where one of the two runs was a noisy one."""

_SMALLEST_RATIO = 0.05
"""Below this a time is so short beside the reference that only its noise is seen."""


class Verdict(enum.StrEnum):
    """What became of a figure."""

    WORSE = "worse"
    SAME = "same"
    """Or not to be told from it."""

    BETTER = "better"


@dataclasses.dataclass(frozen=True, slots=True)
class Comparison:
    """One figure, then and now."""

    figure: Figure
    verdict: Verdict
    growth: float
    """0.2: a fifth more than then, the machine's speed taken out."""


def compared(before: Results, now: Results) -> tuple[Comparison, ...]:
    """Compare what both have and PML can change, in the order of now."""
    then = {one.name: one for one in before.figures}
    pairs = ((then[one.name], one) for one in now.figures if one.is_ours and one.name in then)
    noisy = bool(before.doubts or now.doubts)
    return tuple(_compared(*pair, noisy=noisy) for pair in pairs if pair[0].unit == pair[1].unit)


def has_regressed(comparisons: Sequence[Comparison]) -> bool:
    """Say whether anything is worse."""
    return any(one.verdict is Verdict.WORSE for one in comparisons)


def _compared(then: Figure, now: Figure, *, noisy: bool) -> Comparison:
    least, middle, most = _band(then)
    low, value, high = _band(now)
    if middle <= 0 or value <= 0:  # an overhead that noise has eaten
        return Comparison(now, Verdict.SAME, 0.0)
    growth = value / middle - 1
    grown = 1 + (TOLERATED_NOISE if noisy and now.is_time else TOLERATED)
    if low > max(most, _floor(now)) * grown:
        return Comparison(now, Verdict.WORSE, growth)
    if least > max(high, _floor(now)) * grown:
        return Comparison(now, Verdict.BETTER, growth)
    return Comparison(now, Verdict.SAME, growth)


def _band(figure: Figure) -> tuple[float, float, float]:
    if figure.ratio is None:
        return (figure.summary.p50,) * 3
    return figure.ratio.low, figure.ratio.p50, figure.ratio.high


def _floor(figure: Figure) -> float:
    return 0.0 if figure.ratio is None else _SMALLEST_RATIO
