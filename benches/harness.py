"""Samples and what they say: warm-up, timing, percentiles, targets.

Samples are kept in seconds, bytes or plain counts; a figure says in which unit it is shown.
The garbage collector stays on, as it does for an embedder, but what the harness itself made is
frozen first, so that no collection walks it.
"""

import dataclasses
import gc
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pml.measuring.statistics import Summary, percentile, summary

__all__ = [
    "UNITS", "Figure", "Plan", "Samples", "Summary", "Target", "WrongResultError", "expect",
    "percentile", "settle", "summary", "timed", "timed_async",
]  # fmt: skip

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "KB": 1024.0, "MB": 1024.0**2, "threads": 1.0, "%": 1.0}

Samples = dict[str, list[float]]
"""By the figure's name."""


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """What must hold, in the figure's unit; `aim` is wished for, not required."""

    p50: float | None = None
    p99: float | None = None
    most: float | None = None
    aim: float | None = None
    against: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """By peer: our p50 may be this many times theirs."""


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """One number that a measurement gives."""

    name: str
    title: str
    unit: str
    target: Target = dataclasses.field(default_factory=Target)


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """How much to measure in this process."""

    quick: bool = False

    def count(self, full: int, quick: int | None = None) -> int:
        """Give the number of samples; a quick run takes a tenth unless told."""
        return (quick or max(2, full // 10)) if self.quick else full


def settle() -> None:
    """Collect and freeze what is there, before timing."""
    gc.collect()
    gc.freeze()


def timed(count: int, warm_up: int, work: Callable[[], object]) -> list[float]:
    """Time `work` again and again."""
    for _ in range(warm_up):
        work()
    settle()
    samples = []
    for _ in range(count):
        began = time.perf_counter()
        work()
        samples.append(time.perf_counter() - began)
    return samples


async def timed_async(
    count: int, warm_up: int, work: Callable[[], Awaitable[object]]
) -> list[float]:
    """Time an awaited `work` again and again."""
    for _ in range(warm_up):
        await work()
    settle()
    samples = []
    for _ in range(count):
        began = time.perf_counter()
        await work()
        samples.append(time.perf_counter() - began)
    return samples


class WrongResultError(Exception):
    """What was measured did not do what it should; its time means nothing."""

    def __init__(self, found: Any, wanted: Any = "another result") -> None:
        """Show both, cut short."""
        super().__init__(f"{found!r:.300} instead of {wanted!r:.300}")


def expect(found: Any, wanted: Any) -> None:
    """Refuse a measurement of something else."""
    if found != wanted:
        raise WrongResultError(found, wanted)
