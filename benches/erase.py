"""Erasing the types of 2 KB of TypeScript, as an agent would write it.

Each source is new (a comment with a number), so nothing comes out of the cache of erased sources.
Includes the way to a worker thread and back, which is how a run pays for it.
"""

import itertools
from pathlib import Path

from benches.harness import Figure, Plan, Samples, WrongResultError, timed_async
from sandbox_host.engine.runtime import shared_runtimes
from sandbox_host.programs import Erasers

FIGURES = (Figure("erase", "erase 2 KB of TypeScript", "ms"),)
SOURCE = (Path(__file__).parent / "agent_snippet.ts").read_text()


def numbered() -> "itertools.count[int]":
    """Give numbers that make every source a new one."""
    return itertools.count()


def check(code: str) -> None:
    """Refuse code that still has its types."""
    if "interface " in code or ": Issue[]" in code:
        raise WrongResultError(code, "code without types")


async def pml(plan: Plan) -> Samples:
    """Erase through the same door as a run."""
    erasers, numbers = Erasers(shared_runtimes().warm), numbered()

    async def once() -> None:
        erased = await erasers.erase(f"{SOURCE}// {next(numbers)}\n", 1 << 20)
        check(erased.code)

    return {"erase": await timed_async(plan.count(200, 40), 5, once)}
