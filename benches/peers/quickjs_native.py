"""QuickJS-ng as a native extension (PyPI `quickjs-ng`): no sandbox around it, so the floor.

The same engine as our guest's. Its host functions are synchronous and take and give strings, so a
call is JSON both ways; an endless loop holds the thread.
"""

import importlib.metadata
import json
from typing import Any

from benches import first_program as first
from benches import heartbeat as beats
from benches import json_megabyte, memory
from benches.harness import Plan, Samples, expect, timed
from benches.host_call import SUM, per_call

TITLE = "quickjs-ng, native, no sandbox"
LACKS = {
    "parallel": "no async host calls",
    "snapshot": "no snapshots",
    "thousand": "cannot pause",
    "erase": "no TypeScript",
    "cancel": "holds the thread: nothing can cancel it",
}

_CALLS = """{ let total = 0;
for (let i = 0; i < 1000; i++) total += JSON.parse(add(JSON.stringify({a: i, b: 1}))).sum;
total }"""
_SORT = "(text) => JSON.stringify(JSON.parse(text).sort((one, other) => one.score - other.score))"
_FIRST = """
import time; began = time.perf_counter()
import quickjs
assert quickjs.Context().eval("1+1") == 2
print(time.perf_counter() - began)
"""


def version() -> str | None:
    """Give the installed version."""
    try:
        return importlib.metadata.version("quickjs-ng")
    except importlib.metadata.PackageNotFoundError:
        return None


def _context() -> Any:
    import quickjs  # noqa: PLC0415 - a peer is imported only where it is measured

    return quickjs.Context()


def fresh(plan: Plan) -> Samples:
    """Make a context, evaluate, drop it."""
    return {"fresh": timed(plan.count(1000), 20, lambda: expect(_context().eval("1+1"), 2))}


def warm(plan: Plan) -> Samples:
    """Evaluate in the same context."""
    context = _context()
    return {"warm": timed(plan.count(1000), 20, lambda: expect(context.eval("1+1"), 2))}


def host_call(plan: Plan) -> Samples:
    """Call a synchronous function."""
    context = _context()

    def add(text: str) -> str:
        args = json.loads(text)
        return json.dumps({"sum": args["a"] + args["b"]})

    context.add_callable("add", add)
    samples = timed(plan.count(50, 10), 2, lambda: expect(context.eval(_CALLS), SUM))
    return {"host_call": per_call(samples)}


def json_(plan: Plan) -> Samples:
    """Sort as text to text, and as objects to objects."""
    sort = _context().eval(_SORT)
    rows = json_megabyte.rows()
    text, count = json_megabyte.text(rows), plan.count(30, 4)
    json_megabyte.check(json.loads(sort(text)), json_megabyte.ordered(rows))
    return {
        "json": timed(count, 2, lambda: json.loads(sort(json_megabyte.text(rows)))),
        "json_text": timed(count, 2, lambda: sort(text)),
    }


def memory_(_: Plan) -> Samples:
    """Keep contexts after a program."""
    contexts = [_context() for _ in range(10)]
    before = memory.resident()
    for _ in range(memory.SANDBOXES):
        contexts.append(_context())
        expect(contexts[-1].eval("1+1"), 2)
    return memory.each("idle", before, memory.resident())


def first_program(plan: Plan) -> Samples:
    """Import and evaluate in a fresh process."""
    own, whole = first.fresh_pythons(_FIRST, plan.count(20, 2))
    return {"first_js": own, "process_js": whole}


async def heartbeat(plan: Plan) -> Samples:
    """Loop until its time limit, on the loop's thread as it does."""

    async def loop() -> None:
        import quickjs  # noqa: PLC0415

        context = quickjs.Context()
        context.set_time_limit(beats.LOOP_SECONDS)
        try:
            context.eval("while (true) {}")
        except quickjs.JSException:
            return

    return {"loop_gap": await beats.longest_gaps(plan.count(10, 2), loop)}


MEASURES = {
    "fresh": fresh, "warm": warm, "host_call": host_call, "json_megabyte": json_,
    "memory": memory_, "first_program": first_program, "heartbeat": heartbeat,
}  # fmt: skip
