"""What a model reads and writes: lists of tools, and one task done call by call or at once.

Counted in bytes of JSON; tokens are estimated from them. Each byte counts once, though a client
sends all that was said before again with every turn.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pml.measuring.errors import expect
from pml.measuring.example import NAME
from pml.measuring.figures import Figure, Subject
from pml.measuring.gateway import Gateway
from pml.model import Tool

_UNPAID = sum(10 * number + 5 for number in range(20) if number % 3)
_PROGRAM = """const ids = await mcp.example.list_orders({});
const orders = await Promise.all(ids.map(id => mcp.example.get_order({id})));
return orders.filter(order => !order.paid).reduce((sum, order) => sum + order.total, 0)"""


def lists(subject: str, listed: Mapping[str, Sequence[Tool]], ours: Sequence[Any]) -> list[Figure]:
    """Compare what a client is told of all servers with what it is told of PML."""
    all_tools = [tool.definition for tools in listed.values() for tool in tools]
    count = len(all_tools)
    of = Subject("tokens", subject)
    title = f"{count} tool{'' if count == 1 else 's'} listed directly"
    return [
        of.size("list_direct", title, _size({"tools": all_tools}), is_ours=False),
        of.size("list_pml", "tools listed by PML", _size({"tools": list(ours)})),
    ]


async def task(gateway: Gateway) -> list[Figure]:
    """Add up the unpaid orders of the example, in 21 calls and in one."""
    steps = 0
    ids, size = await _called(gateway, "list_orders", {})
    unpaid = 0
    for number in json.loads(ids):
        text, more = await _called(gateway, "get_order", {"id": number})
        order = json.loads(text)
        unpaid += 0 if order["paid"] else order["total"]
        size, steps = size + more, steps + 1
    expect(unpaid, _UNPAID)
    arguments = {"code": _PROGRAM}
    result = await gateway.call("execute", arguments)
    expect(result.get("structuredContent", {}).get("result"), _UNPAID)
    of = Subject("tokens", "task")
    return [
        of.size("task_calls", f"{steps + 1} calls, one by one", size, is_ours=False),
        of.size("task_execute", "one `execute`", _size(arguments) + _read(result)),
    ]


async def _called(gateway: Gateway, tool: str, arguments: Mapping[str, Any]) -> tuple[str, int]:
    """Give what a tool says, and the size of what was written and read for it."""
    result = await gateway.call(f"{NAME}__{tool}", arguments)
    text = str(result["content"][0]["text"])
    return text, _size({"name": tool, "arguments": arguments}) + _read(result)


def _read(result: Mapping[str, Any]) -> int:
    """Count what a model reads of a result: its content, once."""
    return _size(result["content"])


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
