"""`pydantic-monty` (PyPI): a Python subset in worker processes of a pool.

Another language, measured as the alternative that an embedder has. Fresh sessions and warm
evaluation go through its synchronous pool, which is the faster one; calls and waits through the
asynchronous one, because the host functions are.
"""

import asyncio
import contextlib
import importlib.metadata
import time
from typing import Any

from benches import first_program as first
from benches import heartbeat as beats
from benches import json_megabyte, memory
from benches.harness import Plan, Samples, expect, settle, timed, timed_async
from benches.host_call import SUM, per_call
from benches.parallel import CALLS, SECONDS

TITLE = "pydantic-monty"
LACKS = {
    "thousand": "a process each: not measured",
    "erase": "no TypeScript",
    "cancel": "not measured",
}

_NO_END = {"max_suspensions": 1 << 30}  # 1,000 unless told
_SESSIONS = 50  # a process each
_CALLS = """
total = 0
for i in range(1000):
    total += (await add({'a': i, 'b': 1}))['sum']
total
"""
_PARALLEL = """
import asyncio
async def main():
    return await asyncio.gather(*[slow(i) for i in range(20)])
len(await main())
"""
_PAUSE = """
before = one()
rows = [{'i': i, 'name': f'row {i}'} for i in range(100)]
before + one() + ask({'question': 'go on?'}) + len(rows)
"""
_FIRST = """
import time; began = time.perf_counter()
import pydantic_monty
with pydantic_monty.Monty() as pool, pool.checkout() as session:
    assert session.feed_run("1+1") == 2
print(time.perf_counter() - began)
"""


def version() -> str | None:
    """Give the installed version."""
    try:
        return importlib.metadata.version("pydantic-monty")
    except importlib.metadata.PackageNotFoundError:
        return None


def _pool(**options: Any) -> Any:
    import pydantic_monty  # noqa: PLC0415 - a peer is imported only where it is measured

    return pydantic_monty.Monty(**options)


def _async_pool() -> Any:
    import pydantic_monty  # noqa: PLC0415

    return pydantic_monty.AsyncMonty()


def fresh(plan: Plan) -> Samples:
    """Check a session out of a warm pool, evaluate, give it back."""
    with _pool() as pool:

        def once() -> None:
            with pool.checkout() as session:
                expect(session.feed_run("1+1"), 2)

        return {"fresh": timed(plan.count(1000), 20, once)}


def warm(plan: Plan) -> Samples:
    """Evaluate in the same session."""
    with _pool() as pool, pool.checkout() as session:
        return {"warm": timed(plan.count(1000), 20, lambda: expect(session.feed_run("1+1"), 2))}


async def host_call(plan: Plan) -> Samples:
    """Call an async function."""

    async def add(args: dict[str, int]) -> dict[str, int]:
        return {"sum": args["a"] + args["b"]}

    async with _async_pool() as pool, pool.checkout(limits=_NO_END) as session:

        async def once() -> None:
            expect(await session.feed_run(_CALLS, external_lookup={"add": add}), SUM)

        return {"host_call": per_call(await timed_async(plan.count(20, 2), 1, once))}


async def parallel(plan: Plan) -> Samples:
    """Wait for all at once."""

    async def slow(number: int) -> int:
        await asyncio.sleep(SECONDS)
        return number

    async with _async_pool() as pool, pool.checkout(limits=_NO_END) as session:

        async def once() -> None:
            expect(await session.feed_run(_PARALLEL, external_lookup={"slow": slow}), CALLS)

        return {"parallel": await timed_async(plan.count(20, 5), 1, once)}


def snapshot(plan: Plan) -> Samples:
    """Pause at a call, dump, load into another session, go on."""
    samples: Samples = {"snapshot": [], "restore": [], "snapshot_bytes": []}
    with _pool() as pool:
        for number in range(3 + plan.count(200)):
            if number == 3:
                settle()
                samples = {name: [] for name in samples}
            _snapshot_once(pool, samples)
    return samples


def _snapshot_once(pool: Any, samples: Samples) -> None:
    with pool.checkout() as session:
        paused = session.feed_start(_PAUSE)
        while paused.function_name == "one":
            paused = paused.resume({"return_value": 1})
        began = time.perf_counter()
        data = paused.dump()
        samples["snapshot"].append(time.perf_counter() - began)
        samples["snapshot_bytes"].append(len(data))
    began = time.perf_counter()
    with pool.checkout() as session:
        done = session.load_snapshot(data).resume({"return_value": 40})
    samples["restore"].append(time.perf_counter() - began)
    expect(done.output, 142)


def json_(plan: Plan) -> Samples:
    """Give it objects, take objects."""
    rows = json_megabyte.rows()
    with _pool() as pool, pool.checkout() as session:

        def once() -> Any:
            code = "sorted(rows, key=lambda row: row['score'])"
            return session.feed_run(code, inputs={"rows": rows})

        json_megabyte.check(once(), json_megabyte.ordered(rows))
        return {"json": timed(plan.count(20, 2), 0, once)}


def memory_(_: Plan) -> Samples:
    """Keep sessions after a program: the pool's own memory and the workers'."""
    with _pool(max_processes=2 * _SESSIONS + 5) as pool, contextlib.ExitStack() as stack:

        def more(count: int, *, pause: bool) -> tuple[int, int]:
            for _ in range(count):
                session = stack.enter_context(pool.checkout())
                workers.append(session.worker_pid)
                expect(session.feed_run("1+1"), 2)
                if pause:
                    paused.append(session.feed_start("ask({'question': 'go on?'})"))
            return memory.resident(["self", *workers])

        workers: list[int] = []
        paused: list[Any] = []
        before = more(5, pause=False)
        idle = more(_SESSIONS, pause=False)
        samples = memory.each("idle", before, idle, _SESSIONS)
        return samples | memory.each("paused", idle, more(_SESSIONS, pause=True), _SESSIONS)


def first_program(plan: Plan) -> Samples:
    """Import and evaluate in a fresh process."""
    own, whole = first.fresh_pythons(_FIRST, plan.count(20, 2))
    return {"first_js": own, "process_js": whole}


async def heartbeat(plan: Plan) -> Samples:
    """Loop in a worker process until its limit."""
    import pydantic_monty  # noqa: PLC0415

    limits = {"max_feed_duration_secs": beats.LOOP_SECONDS}

    async with _async_pool() as pool:

        async def loop() -> None:
            async with pool.checkout(limits=limits) as session:
                with contextlib.suppress(pydantic_monty.MontyError):
                    await session.feed_run("while True:\n    pass")

        return {"loop_gap": await beats.longest_gaps(plan.count(10, 2), loop)}


MEASURES = {
    "fresh": fresh, "warm": warm, "host_call": host_call, "parallel": parallel,
    "snapshot": snapshot, "json_megabyte": json_, "memory": memory_,
    "first_program": first_program, "heartbeat": heartbeat,
}  # fmt: skip
