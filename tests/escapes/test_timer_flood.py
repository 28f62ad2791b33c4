"""Attack: a million timers, or one that never stops, to keep the host's clock or a finished program alive."""

import pytest

from sandbox_host import Completed, Limits, Sandbox


@pytest.mark.parametrize("delay", ["0", "1e9", "i", "1e9 - i", "NaN", "-1", "Infinity"])
async def test_a_million_timers_end_in_an_outcome(run, heartbeat, delay):
    async with heartbeat() as heart:
        outcome = await run(
            f"for (let i = 0; i < 1e6; i++) setTimeout(() => {{}}, {delay}); return 1",
            limits=Limits(memory_bytes=8 << 20, cpu_seconds=0.4),
        )
    if not isinstance(outcome, Completed):
        assert outcome.error.code in {"memory_limit", "cpu_limit"}, outcome.error
    assert heart.worst_seconds < 0.2


async def test_an_interval_does_not_keep_a_finished_program_alive(value):
    assert (
        await value("setInterval(() => {}, 0); setTimeout(() => {}, 1e9); return 'done'") == "done"
    )


async def test_an_interval_with_calls_does_not_keep_a_finished_program_alive(run):
    async def host(call):
        return None

    outcome = await run(
        "setInterval(() => { mcp.a.b() }, 0); await mcp.a.c(); return 'done'",
        host=host,
        limits=Limits(wall_seconds=5),
    )
    assert isinstance(outcome, Completed)
    assert outcome.value == "done"


async def test_timers_of_a_finished_program_do_not_call_in_the_next_ones_name():
    tools = []

    async def host(call):
        tools.append(call.tool)

    async with Sandbox() as sandbox:
        await sandbox.run(
            "setInterval(() => { mcp.evil.call() }, 1); setTimeout(() => mcp.evil.once(), 5); return 1",
            host=host,
        )
        tools.clear()
        outcome = await sandbox.run(
            "await new Promise((r) => setTimeout(r, 30)); await mcp.good.call(); return 2",
            host=host,
        )
    assert outcome.value == 2
    assert tools == ["good:call"]


@pytest.mark.parametrize(
    "code",
    [
        "const f = () => setTimeout(f); f(); await new Promise(() => {})",
        "setInterval(() => {}); await new Promise(() => {})",
        "const f = () => { setTimeout(f); setTimeout(f) }; f(); await new Promise(() => {})",
        "setInterval(() => { throw 1 }); await new Promise(() => {})",
        "setInterval(() => { for (let i = 0; i < 1e4; i++); }); await new Promise(() => {})",
    ],
)
async def test_timers_that_start_timers_end_at_a_limit(run, heartbeat, code):
    async with heartbeat() as heart:
        outcome = await run(code, limits=Limits(wall_seconds=0.3, cpu_seconds=0.2, log_bytes=4096))
    assert outcome.error.code in {"wall_limit", "cpu_limit", "log_limit", "memory_limit"}
    assert heart.worst_seconds < 0.2


async def test_a_promise_that_nothing_settles_is_a_deadlock_and_not_a_wait(fails):
    assert (await fails("await new Promise(() => {})")).code == "deadlock"


@pytest.mark.parametrize(
    "delay",
    [
        "{ valueOf() { for (;;); } }",
        "{ valueOf() { throw 1 } }",
        "Symbol()",
        "10n",
        "{ [Symbol.toPrimitive]: () => mcp.a.b() }",
    ],
)
async def test_a_delay_that_fights_back_does_no_harm(run, delay):
    outcome = await run(
        f"setTimeout(() => {{}}, {delay}); return 1", limits=Limits(cpu_seconds=0.1)
    )
    if not isinstance(outcome, Completed):
        assert outcome.error.code in {"cpu_limit", "uncaught_error"}


async def test_a_timer_in_the_far_future_meets_the_wall(fails):
    assert (
        await fails(
            "await new Promise((r) => setTimeout(r, 1e8))", limits=Limits(wall_seconds=0.1)
        )
    ).code == "wall_limit"
