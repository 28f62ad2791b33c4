"""The values of this room: figures, what was not measured and why, results. Frozen, and pure.

Samples are seconds or bytes; a figure says in which unit it is shown.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pml.measuring.statistics import Ratio, Summary, ratio, summary

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "KB": 1024.0, "bytes": 1.0}
SECTIONS = ("sandbox", "servers", "tokens")

REQUIRED_SECONDS = 0.050
"""What a call may cost more through the gateway, at p99."""

AIMED_SECONDS = 0.001
"""What we want of it ourselves, at p50."""

BYTES_PER_TOKEN = 4
"""An estimate: tokenizers differ, and JSON is denser than prose."""


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """One number of a run."""

    name: str
    """Stays the same from version to version: `--compare` goes by it."""

    section: str
    subject: str
    """What is measured: `sandbox`, a server's name, a task."""

    title: str
    unit: str
    summary: Summary
    ratio: Ratio | None = None
    """To the reference; sizes have none, as no machine changes them."""

    is_overhead: bool = False
    """What is over a direct call: judged by what is required, and by what we aim at."""

    is_ours: bool = True
    """Whether a change of PML can change it; a server's own time cannot be held against us."""

    @property
    def is_time(self) -> bool:
        """Say whether less of it is faster rather than smaller."""
        return self.unit in ("us", "ms", "s")


@dataclasses.dataclass(frozen=True, slots=True)
class Missing:
    """What was not measured."""

    section: str
    subject: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Results:
    """What a run found."""

    facts: Mapping[str, Any]
    """The machine, the versions, the load."""

    quick: bool
    figures: tuple[Figure, ...] = ()
    missing: tuple[Missing, ...] = ()

    @property
    def doubts(self) -> tuple[str, ...]:
        """Say what makes these figures worth less."""
        found = []
        load, spread = self.facts["loadBefore"], self.facts["referenceSpread"]
        if load > BUSY_LOAD * self.facts["cores"]:
            found.append(f"the machine was busy before the run: load {load:g}")
        if spread > NOISY_SPREAD:
            found.append(f"the reference itself took up to {spread:.1f} times its median (p95)")
        return tuple(found)


BUSY_LOAD = 0.5
"""By core: above this others compute beside us."""

NOISY_SPREAD = 1.5
"""Of work that always is the same; an idle machine stays below 1.2."""


@dataclasses.dataclass(frozen=True, slots=True)
class Taken:
    """Samples, and those of the reference that were taken between them."""

    samples: Sequence[float]
    reference: Sequence[float]


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """Makes the figures of one subject."""

    section: str
    name: str

    def time(
        self,
        key: str,
        title: str,
        taken: Taken,
        *,
        unit: str = "ms",
        is_overhead: bool = False,
        is_ours: bool = True,
    ) -> Figure:
        """Give a figure of seconds, beside the reference of the same seconds."""
        whole = f"{self.section}.{self.name}.{key}"
        found = ratio(taken.samples, taken.reference)
        return Figure(
            whole, self.section, self.name, title, unit, summary(taken.samples), found,
            is_overhead, is_ours,
        )  # fmt: skip

    def size(
        self, key: str, title: str, size: float, *, unit: str = "bytes", is_ours: bool = True
    ) -> Figure:
        """Give a figure of bytes."""
        whole = f"{self.section}.{self.name}.{key}"
        return Figure(
            whole, self.section, self.name, title, unit, summary([size]), is_ours=is_ours
        )

    def missing(self, reason: str) -> Missing:
        """Say why there is none."""
        return Missing(self.section, self.name, reason)
