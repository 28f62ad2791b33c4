"""What samples say: percentiles, and a ratio to a reference with the noise that it has. Pure."""

import dataclasses
import math
import random
from collections.abc import Sequence

RESAMPLES = 200
"""Enough for the 1 % that is cut off at either end to be more than one of them."""

_CUT_OFF = 0.01
_SEED = 1  # the same samples always say the same


@dataclasses.dataclass(frozen=True, slots=True)
class Summary:
    """What is kept of a figure's samples."""

    count: int
    p50: float
    p95: float
    p99: float
    least: float
    most: float
    mean: float


@dataclasses.dataclass(frozen=True, slots=True)
class Ratio:
    """A figure's median as a multiple of the reference's, from the same seconds of the run."""

    p50: float
    low: float
    high: float
    """Between these it would be again, on a machine as noisy as this one."""


def summary(samples: Sequence[float]) -> Summary:
    """Sum up samples of one figure."""
    ordered = sorted(samples)
    middle, high, highest = (percentile(ordered, share) for share in (0.5, 0.95, 0.99))
    mean = math.fsum(ordered) / len(ordered)
    return Summary(len(ordered), middle, high, highest, ordered[0], ordered[-1], mean)


def percentile(ordered: Sequence[float], share: float) -> float:
    """Give the smallest sample that at least this share of all samples does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def ratio(samples: Sequence[float], reference: Sequence[float]) -> Ratio:
    """Give the ratio of the medians; its band by drawing both anew, again and again."""
    chance = random.Random(_SEED)  # noqa: S311 - no secret
    drawn = sorted(_drawn(samples, chance) / _drawn(reference, chance) for _ in range(RESAMPLES))
    middle = _median(samples) / _median(reference)
    low, high = percentile(drawn, _CUT_OFF), percentile(drawn, 1 - _CUT_OFF)
    return Ratio(middle, min(low, middle), max(high, middle))


def _drawn(samples: Sequence[float], chance: random.Random) -> float:
    return _median(chance.choices(samples, k=len(samples)))


def _median(samples: Sequence[float]) -> float:
    return percentile(sorted(samples), 0.5)
