"""What samples say: percentiles, and a ratio to a reference with the noise that it has. Pure."""

import dataclasses
import math
from collections.abc import Sequence


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
    """Of the middle halves of both: the noise of this run."""


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
    """Give the ratio of the medians, and from the middle halves of both how far it may be off.

    Drawing samples anew would give a far narrower band: it sees the noise of one run, and not that
    another run meets another minute of a busy machine.
    """
    ours, beside = sorted(samples), sorted(reference)
    middle = percentile(ours, 0.5) / percentile(beside, 0.5)
    corners = [
        percentile(ours, one) / percentile(beside, other)
        for one in (0.25, 0.75)
        for other in (0.25, 0.75)
    ]
    return Ratio(middle, min(*corners, middle), max(*corners, middle))
