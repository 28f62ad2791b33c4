"""Attack: the loop is not in the program but in promise jobs, timers and thenables, where no call ever returns."""

import pytest

from sandbox_host import Limits


@pytest.mark.parametrize(
    "code",
    [
        "for (;;) await null",
        "const again = () => Promise.resolve().then(again); await again(); await new Promise(() => {})",
        "const again = () => queueMicrotask(again); again(); await new Promise(() => {})",
        "await { then(resolve) { resolve(this) } }",
        "Object.prototype.then = function (f) { f(this) }; return {}",
        "const again = () => { Promise.reject(1).catch(again) }; again()",
        "Promise.resolve().then(() => { for (;;); }); return 1",
        "(async () => { for (;;) await null })(); return 1",
        "throw { toString() { Promise.reject({ toString() { for (;;); } }); return '' } }",
        "Object.defineProperty(Object.prototype, 'then', { get() { for (;;); } }); return await mcp.a.b({})",
        "for await (const x of (async function* () { for (;;) yield 1 })());",
    ],
)
async def test_a_loop_of_jobs_ends_at_the_cpu_limit(fails, heartbeat, code):
    async with heartbeat() as heart:
        error = await fails(code, limits=Limits(cpu_seconds=0.05, wall_seconds=10))
    assert error.code in {"cpu_limit", "memory_limit"}
    assert heart.worst_seconds < 0.2


async def test_a_rejection_whose_description_makes_another_ends(run):
    """Describing runs guest code after the jobs are done: here each description plants the next."""
    outcome = await run(
        "const bomb = () => Promise.reject({ get message() { bomb(); return 'x' } }); bomb(); return 1",
        limits=Limits(cpu_seconds=0.05, wall_seconds=10),
    )
    assert outcome.error.code in {"cpu_limit", "log_limit"}
