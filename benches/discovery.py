"""`discover` over the tools of 35 real servers and our own: what it finds, and how fast.

The queries were written before the ranking was tuned, by whoever tuned it; of the held-out ones
only the rate was looked at. A figure is a share of misses, since a target is an upper bound.
`python -m benches.discovery_listings` must have run: a server without a listing fails the
measurement and is named.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from benches.discovery_listings import kept
from benches.harness import Figure, Plan, Samples, Target, WrongResultError, timed
from pml.discovery import ToolIndex, Wanted, answered, find

KIND = "discovery"
FIGURES = (
    Figure("discovery", "`discover` by words, to the text of its answer", "ms", Target(p99=5)),
    Figure("discovery_missed", "100 queries: not in the first 3", "%", Target(p50=10)),
    Figure("discovery_not_first", "100 queries: not the first", "%"),
    Figure("discovery_tuning", "134 more queries, for tuning: not in the first 3", "%"),
    Figure("discovery_tuning_not_first", "134 more queries, for tuning: not the first", "%"),
    Figure("discovery_held_out", "40 held-out queries: not in the first 3", "%"),
    Figure("discovery_held_out_not_first", "40 held-out queries: not the first", "%"),
)
_SETS = {
    "discovery_queries.tsv": ("discovery_missed", "discovery_not_first"),
    "discovery_tuning.tsv": ("discovery_tuning", "discovery_tuning_not_first"),
    "discovery_held_out.tsv": ("discovery_held_out", "discovery_held_out_not_first"),
}
_AMONG = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Labelled:
    """A query, and the tools of which each would do."""

    query: str
    accepted: frozenset[str]


def labelled(file: str) -> list[Labelled]:
    """Read a set: query, tab, ids with blanks between."""
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return [Labelled(query, frozenset(ids.split())) for query, ids in pairs]


def places(index: ToolIndex, queries: Sequence[Labelled]) -> list[int | None]:
    """Give for each query the place of the first tool that would do, from 1."""
    known = {tool.id for tool in index.tools()}
    found = []
    for one in queries:
        if unknown := one.accepted - known:
            raise WrongResultError(unknown, "tools that exist")
        ids = [hit.tool.id for hit in find(index, Wanted(one.query)).hits]
        fitting = (place for place, name in enumerate(ids, 1) if name in one.accepted)
        found.append(next(fitting, None))
    return found


def filled() -> ToolIndex:
    """Give the index of all that is listed."""
    index = ToolIndex()
    for server, tools in kept().items():
        index.update(server, tools)
    return index


def _missed(found: Sequence[int | None], among: int) -> float:
    return 100 * sum(place is None or place > among for place in found) / len(found)


def pml(plan: Plan) -> Samples:
    """Ask every query; time them by turns."""
    samples: Samples = {}
    with filled() as index:
        for file, (missed, not_first) in _SETS.items():
            found = places(index, labelled(file))
            samples[missed], samples[not_first] = [_missed(found, _AMONG)], [_missed(found, 1)]
        every = [Wanted(one.query) for file in _SETS for one in labelled(file)]
        turns = iter(every * (plan.count(20, 2) + 1))

        def once() -> None:
            wanted = next(turns)
            answered(wanted, find(index, wanted))

        count = len(every) * plan.count(20, 2)
        samples["discovery"] = timed(count, len(every), once)
    return samples
