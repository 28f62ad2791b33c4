"""`quickjs-rs` (PyPI): QuickJS-ng in wasmtime too, driven from Python."""

import asyncio
import contextlib
import importlib.metadata
import json
from typing import Any

from benches import erase as erasing
from benches import first_program as first
from benches import heartbeat as beats
from benches import json_megabyte, memory
from benches.harness import Plan, Samples, expect, timed, timed_async
from benches.host_call import SUM, per_call
from benches.parallel import CALLS, SECONDS

TITLE = "quickjs-rs"
LACKS = {
    "snapshot": "refuses while a call is pending",
    "thousand": "cannot pause",
    "cancel": "holds the event loop: nothing can cancel it",
}

_CALLS = """let total = 0;
for (let i = 0; i < 1000; i++) total += (await add({a: i, b: 1})).sum;
total"""
_PARALLEL = "(await Promise.all(Array.from({length: 20}, (_, i) => slow(i)))).length"
_SORT = "JSON.stringify(JSON.parse(text).sort((one, other) => one.score - other.score))"
_FIRST = """
import time; began = time.perf_counter()
import quickjs_rs
with quickjs_rs.Runtime({options}) as runtime, runtime.new_context() as context:
    assert context.eval({program!r}) == 2
print(time.perf_counter() - began)
"""
_TYPES = (
    "transform_flags=quickjs_rs.SourceTransform.SOURCE_TS"
    " | quickjs_rs.SourceTransform.STRIP_TYPESCRIPT"
)


def version() -> str | None:
    """Give the installed version."""
    try:
        return importlib.metadata.version("quickjs-rs")
    except importlib.metadata.PackageNotFoundError:
        return None


@contextlib.contextmanager
def _context(timeout: float = 120.0) -> Any:
    import quickjs_rs  # noqa: PLC0415 - a peer is imported only where it is measured

    with quickjs_rs.Runtime() as runtime, runtime.new_context(timeout=timeout) as context:
        yield context


def fresh(plan: Plan) -> Samples:
    """Make a runtime and a context, evaluate, close."""

    def once() -> None:
        with _context() as context:
            expect(context.eval("1+1"), 2)

    return {"fresh": timed(plan.count(500), 10, once)}


def warm(plan: Plan) -> Samples:
    """Evaluate in the same context."""
    with _context() as context:
        return {"warm": timed(plan.count(1000), 20, lambda: expect(context.eval("1+1"), 2))}


async def host_call(plan: Plan) -> Samples:
    """Call an async function; one program is seconds long, so there are few."""
    with _context() as context:

        async def add(args: dict[str, int]) -> dict[str, int]:
            return {"sum": args["a"] + args["b"]}

        async def once() -> None:
            expect(await context.eval_async("{" + _CALLS + "}"), SUM)

        context.register("add", add, is_async=True)
        return {"host_call": per_call(await timed_async(plan.count(3, 1), 0, once))}


async def parallel(plan: Plan) -> Samples:
    """Wait for all at once."""
    with _context() as context:

        async def slow(number: int) -> int:
            await asyncio.sleep(SECONDS)
            return number

        async def once() -> None:
            expect(await context.eval_async(_PARALLEL), CALLS)

        context.register("slow", slow, is_async=True)
        return {"parallel": await timed_async(plan.count(20, 5), 1, once)}


def json_(plan: Plan) -> Samples:
    """Objects as JSON text both ways: handed over as objects they took 47 s."""
    rows = json_megabyte.rows()
    with _context() as context:

        def once() -> Any:
            context.globals["text"] = json_megabyte.text(rows)
            return json.loads(context.eval(_SORT))

        json_megabyte.check(once(), json_megabyte.ordered(rows))
        return {"json": timed(plan.count(20, 2), 0, once)}


def memory_(_: Plan) -> Samples:
    """Keep contexts after a program."""
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            expect(stack.enter_context(_context()).eval("1+1"), 2)
        before = memory.resident()
        for _ in range(memory.SANDBOXES):
            expect(stack.enter_context(_context()).eval("1+1"), 2)
        return memory.each("idle", before, memory.resident())


def erase(plan: Plan) -> Samples:
    """Strip through its one-off transformer."""
    import quickjs_rs  # noqa: PLC0415

    numbers = erasing.numbered()

    def once() -> None:
        source = f"async function main() {{{erasing.SOURCE}}} // {next(numbers)}\n"
        erasing.check(quickjs_rs.transform_source("snippet.ts", source))

    return {"erase": timed(plan.count(100, 20), 5, once)}


def first_program(plan: Plan) -> Samples:
    """Import and evaluate in a fresh process; it keeps no compiled code."""
    count = plan.count(5, 1)
    script = _FIRST.format(options="", program="1+1")
    own, whole = first.fresh_pythons(script, count)
    samples = {"first_js": own, "process_js": whole}
    if not plan.quick:
        script = _FIRST.format(options=_TYPES, program="const n: number = 1; n + 1")
        samples["first_ts"], samples["process_ts"] = first.fresh_pythons(script, count)
    return samples


async def heartbeat(plan: Plan) -> Samples:
    """Loop until its timeout, on the loop's thread as it does."""
    import quickjs_rs  # noqa: PLC0415

    async def loop() -> None:
        ended = contextlib.suppress(quickjs_rs.QuickJSError)
        with _context(beats.LOOP_SECONDS) as context, ended:
            await context.eval_async("while (true) {}")

    return {"loop_gap": await beats.longest_gaps(plan.count(10, 2), loop)}


MEASURES = {
    "fresh": fresh, "warm": warm, "host_call": host_call, "parallel": parallel,
    "json_megabyte": json_, "memory": memory_, "erase": erase, "first_program": first_program,
    "heartbeat": heartbeat,
}  # fmt: skip
