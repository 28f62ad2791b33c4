"""`discover`: from a model's words to declarations, over the catalogue of one bench.

What is denied is invisible: not found, not counted, not hinted at.
"""

from collections.abc import Mapping
from typing import Any

from pml.discovery import MOST_LIMIT, Wanted, answered, find
from pml.gateway import answering, wanted
from pml.gateway.bench import Bench
from pml.gateway.definitions import DISCOVER
from pml.gateway.errors import ToolArgumentsError
from pml.model import Outcome, Tool
from pml.policy import decide

_CHECKS = {
    "query": wanted.is_text,
    "pattern": wanted.is_text,
    "name": wanted.is_text,
    "schema": wanted.is_flag,
    "limit": wanted.is_count,
}


async def discover(bench: Bench, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Answer."""
    given = wanted.checked(DISCOVER, arguments, _CHECKS)
    if given.get("limit", 1) > MOST_LIMIT:
        raise ToolArgumentsError(DISCOVER, f"`limit` is {MOST_LIMIT} at the most")
    asked = Wanted(**given)
    await bench.catalog.refresh()

    def is_denied(tool: str) -> bool:
        return decide(tool, bench.config.permissions).outcome is Outcome.DENY

    def visible(tool: Tool) -> bool:
        return not is_denied(tool.id)

    found = find(bench.catalog.index, asked, visible=visible)
    notes = {
        server: problem.message
        for server, problem in bench.catalog.problems.items()
        if not is_denied(f"{server}:*")
    }
    answer = answered(asked, found, notes)
    redactor = bench.redactor
    return answering.of_facts(redactor.value(answer.facts), redactor.text(answer.text))
