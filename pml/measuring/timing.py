"""Timing, always beside a reference: the same native work, by turns with what is measured.

The reference is some tens of microseconds of interpreter, hashing and allocation, as our own code
is; what a faster or busier machine does to it, it does to the figures, too.
"""

import dataclasses
import gc
import hashlib
import json
import time
from collections.abc import Awaitable, Callable

from pml.measuring.figures import Taken

_RECORD = {"rows": [{"number": number, "name": f"row {number}"} for number in range(20)]}
_TEXT = json.dumps(_RECORD).encode() * 4

Work = Callable[[], Awaitable[object]]


@dataclasses.dataclass(frozen=True, slots=True)
class Amount:
    """How much to measure."""

    quick: bool = False
    most: int | None = None
    """Samples of one figure, if that is less than would be taken."""

    def count(self, full: int) -> int:
        """Give the number of samples; a quick run takes a fifth."""
        wanted = max(3, full // 5) if self.quick else full
        return min(wanted, self.most) if self.most else wanted

    @property
    def seconds(self) -> float:
        """How long one figure may take, however slow what is measured is."""
        return 2.0 if self.quick else 15.0


def reference() -> float:
    """Do the same native work as ever; give how long it took."""
    began = time.perf_counter()
    hashlib.sha256(_TEXT).digest()
    json.loads(json.dumps(_RECORD))
    return time.perf_counter() - began


def settle() -> None:
    """Collect and freeze what is there: no collection then walks it while something is timed."""
    gc.collect()
    gc.freeze()


async def elapsed(work: Work) -> float:
    """Time an awaited work once."""
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


async def taken(work: Work, count: int, *, warm_up: int, seconds: float) -> Taken:
    """Time an awaited work, by turns with the reference; at least once, then as time allows."""
    for _ in range(warm_up):
        await work()
        reference()
    settle()
    samples: list[float] = []
    beside: list[float] = []
    ends = time.perf_counter() + seconds
    while len(samples) < count and (not samples or time.perf_counter() < ends):
        samples.append(await elapsed(work))
        beside.append(reference())
    return Taken(samples, beside)
