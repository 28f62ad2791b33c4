"""1 MB of JSON in, sorted, and out again.

Ours takes and gives Python objects. Native QuickJS is measured in two ways: from JSON text to JSON
text (which leaves Python's own `json` out: less work than ours), and from objects to
objects, which is the same work as ours and what the target is against.
"""

import json
import random
from typing import Any

from benches.harness import Figure, Plan, Samples, Target, expect, timed_async
from benches.ours import completed, no_tools
from sandbox_host import Sandbox

_TARGET = Target(against={"quickjs_native": 1.5})
FIGURES = (
    Figure("json", "1 MB of JSON sorted, objects to objects", "ms", _TARGET),
    Figure("json_text", "the same, native from text to text", "ms"),
)

_ROWS = 9500
_WORDS = ("alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel")


def rows() -> list[dict[str, Any]]:
    """Give a megabyte of ordinary rows in no order."""
    chance = random.Random(7)  # noqa: S311 - the same rows in every run
    return [
        {
            "id": number,
            "name": f"{chance.choice(_WORDS)} {chance.choice(_WORDS)} {number}",
            "score": round(chance.random() * 1000, 6),
            "active": chance.random() < 0.5,
            "tags": chance.sample(_WORDS, 3),
        }
        for number in range(_ROWS)
    ]


def text(given: list[dict[str, Any]]) -> str:
    """Give the rows as compact JSON."""
    return json.dumps(given, separators=(",", ":"))


def ordered(given: list[dict[str, Any]]) -> list[int]:
    """Give the ids as they must come out."""
    return [row["id"] for row in sorted(given, key=lambda row: row["score"])]


def check(found: list[dict[str, Any]], wanted: list[int]) -> None:
    """Refuse another order."""
    expect([row["id"] for row in found], wanted)


async def pml(plan: Plan) -> Samples:
    """Objects in as `args`, sorted, and out as the value."""
    given = rows()
    wanted = ordered(given)
    async with Sandbox() as sandbox:

        async def once() -> Any:
            program = "return args.sort((one, other) => one.score - other.score)"
            return completed(await sandbox.run(program, host=no_tools, args=given))

        check(await once(), wanted)
        samples = await timed_async(plan.count(30, 4), 1, once)
    return {"json": samples, "json_text": samples}
