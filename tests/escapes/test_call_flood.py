"""Attack: a million calls that nobody awaits, to drown the host in work, tasks or memory."""

import anyio
import pytest

from sandbox_host import SUSPEND, Completed, Limits, Sandbox


async def test_a_million_calls_end_at_the_call_limit(run, heartbeat):
    answered = 0

    async def host(call):
        nonlocal answered
        answered += 1
        await anyio.sleep(0)

    async with heartbeat() as heart:
        outcome = await run("for (let i = 0; i < 1e6; i++) mcp.a.b({ i }); return 1", host=host,
                            limits=Limits(cpu_seconds=5))  # fmt: skip
    assert outcome.error.code == "call_limit"
    assert answered == 0  # the whole flood came in one slice: none of it was served
    assert heart.worst_seconds < 0.2


async def test_a_flood_below_the_limit_is_served_a_few_at_a_time(run, heartbeat):
    now = most = 0

    async def host(call):
        nonlocal now, most
        now += 1
        most = max(most, now)
        await anyio.sleep(0)
        now -= 1

    async with heartbeat() as heart:
        outcome = await run("for (let i = 0; i < 9000; i++) mcp.a.b({ i }); return 1", host=host,
                            limits=Limits(calls_in_flight=8, cpu_seconds=5))  # fmt: skip
    assert isinstance(outcome, Completed)
    assert len(outcome.calls) == 9000
    assert most <= 8
    assert heart.worst_seconds < 0.2


async def test_a_flood_with_a_limit_that_allows_it_does_not_stall_the_loop(run, heartbeat):
    async def host(call):
        return None

    async with heartbeat() as heart:
        outcome = await run("for (let i = 0; i < 1e5; i++) mcp.a.b(); return 1", host=host,
                            limits=Limits(calls=10**6, cpu_seconds=2, memory_bytes=256 << 20))  # fmt: skip
    assert isinstance(outcome, Completed)
    assert len(outcome.calls) == 10**5
    assert heart.worst_seconds < 0.2


@pytest.mark.parametrize("loop", ["for (;;) await mcp.a.b()", "for (;;) { mcp.a.b(); await null }",
                                  "const f = () => { mcp.a.b().then(f, f) }; f(); f()"])  # fmt: skip
async def test_calls_one_after_another_end_at_the_limit_too(run, heartbeat, loop):
    async def host(call):
        return None

    async with heartbeat() as heart:
        outcome = await run(loop, host=host, limits=Limits(calls=3000, cpu_seconds=5))
    # a program that had already ended stays ended; its calls stop all the same
    assert isinstance(outcome, Completed) or outcome.error.code == "call_limit"
    assert len(outcome.calls) <= 3000
    assert heart.worst_seconds < 0.2


async def test_calls_that_are_never_answered_end_at_the_wall_limit(run):
    async def host(call):
        await anyio.sleep_forever()

    outcome = await run(
        "for (let i = 0; i < 500; i++) mcp.a.b(); return 1",
        host=host,
        limits=Limits(wall_seconds=0.3),
    )
    assert outcome.error.code == "wall_limit"
    assert {record.outcome for record in outcome.calls} == {"cancelled"}


async def test_a_flood_of_suspended_calls_can_be_put_away():
    async def host(call):
        return SUSPEND

    async with Sandbox(limits=Limits(calls_in_flight=8)) as sandbox:
        suspended = await sandbox.run(
            "return (await Promise.all(Array.from({ length: 2000 }, (_, i) => mcp.a.b({ i })))).length",
            host=host,
        )
        assert len(suspended.calls) == 2000
        data = sandbox.snapshot()
    async with Sandbox.restore(data) as sandbox:
        outcome = await sandbox.resume({call.id: None for call in suspended.calls}, host=host)
    assert outcome.value == 2000


async def test_the_limit_on_calls_holds_for_calls_made_inside_arguments(run):
    async def host(call):
        return None

    outcome = await run(
        "const f = () => mcp.a.b({ get x() { if (f.n++ < 50) f() } }); f.n = 0; f(); return 1",
        host=host, limits=Limits(calls=10),
    )  # fmt: skip
    assert outcome.error.code == "call_limit"
    assert len(outcome.calls) <= 10
