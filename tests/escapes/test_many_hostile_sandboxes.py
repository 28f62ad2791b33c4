"""Attack: many hostile programs at once, to starve the loop, the threads and a healthy neighbour."""

import anyio
import pytest

from sandbox_host import Completed, Failed, Limits, Sandbox

LIMITS = Limits(memory_bytes=16 << 20, cpu_seconds=0.1, wall_seconds=20, log_bytes=4096, calls=500)
ATTACKS = [
    "for (;;);", "for (;;) await null", "const a = []; for (;;) a.push({})", "/^(a+)+$/.test('a'.repeat(60) + '!')", "const f = () => f(); f()",
    "for (;;) mcp.a.b({})", "for (;;) await mcp.a.b({})", "for (;;) console.log('x')", "return 'x'.repeat(5e6)", "setInterval(() => {}); for (;;) await null",
    "let s = 'x'; for (;;) s += s", "const x: number = 1; for (;;);",
]  # fmt: skip


async def host(call):
    return call.args


async def healthy(told):
    async with Sandbox() as sandbox:
        outcome = await sandbox.run(
            "let n = 0; for (let i = 1; i <= 10; i++) n += (await mcp.a.b({ i })).i; return n",
            host=host,
        )
    assert isinstance(outcome, Completed), outcome
    assert outcome.value == 55
    told.append(outcome.value)


async def hostile(code, told):
    async with Sandbox(limits=LIMITS) as sandbox:
        outcome = await sandbox.run(code, host=host)
        assert isinstance(outcome, Failed), (code, outcome)
        told.append(outcome.error.code)
        again = await sandbox.run("return 1", host=host)
        assert isinstance(again, Completed)


async def test_one_of_each_at_once_all_end_by_name_and_the_healthy_one_is_right(heartbeat):
    told, well = [], []
    async with heartbeat() as heart:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for code in ATTACKS * 2:
                    tasks.start_soon(hostile, code, told)
                for _ in range(4):
                    tasks.start_soon(healthy, well)
                    await anyio.sleep(0.05)
    assert len(told) == 2 * len(ATTACKS)
    assert set(told) <= {
        "cpu_limit",
        "memory_limit",
        "stack_limit",
        "call_limit",
        "log_limit",
        "output_limit",
        "uncaught_error",
    }
    assert len(well) == 4
    assert heart.worst_seconds < 0.2


async def test_endless_loops_beyond_the_number_of_workers_do_not_starve_a_healthy_one(heartbeat):
    """40 loops want every worker; the healthy program must end long before they do."""
    well, ended, told = [], [], []

    async with heartbeat() as heart, anyio.create_task_group() as tasks:

        async def loop():
            async with Sandbox(limits=Limits(cpu_seconds=30, wall_seconds=60)) as sandbox:
                told.append(await sandbox.run("for (;;);", host=host))

        for _ in range(40):
            tasks.start_soon(loop)
        await anyio.sleep(0.02)
        with anyio.move_on_after(4):
            await healthy(well)
        ended.extend(told)
        tasks.cancel_scope.cancel()
    assert well == [55]
    assert ended == []
    assert heart.worst_seconds < 0.2


@pytest.mark.parametrize("count", [60])
async def test_programs_that_call_without_end_share_the_loop(heartbeat, count):
    async with heartbeat() as heart, anyio.create_task_group() as tasks:

        async def spam():
            async with Sandbox(limits=Limits(calls=10**6)) as sandbox:
                await sandbox.run("for (;;) await mcp.a.b({})", host=host)

        for _ in range(count):
            tasks.start_soon(spam)
        await anyio.sleep(0.7)
        tasks.cancel_scope.cancel()
    assert heart.worst_seconds < 0.2


async def test_hostile_typescript_does_not_keep_others_from_their_types(heartbeat):
    """The eraser is shared: sources that keep it busy must not hold everyone else's."""
    well = []

    async def slow(number):
        async with Sandbox(limits=Limits(wall_seconds=5)) as sandbox:
            await sandbox.run(f"class A{number}{{x:any;y(){{}}}}" * 10_000, host=host)

    async with heartbeat() as heart:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                for number in range(4):
                    tasks.start_soon(slow, number)
                await anyio.sleep(0.05)
                with anyio.move_on_after(1):
                    async with Sandbox() as sandbox:
                        outcome = await sandbox.run(
                            "const n: number = 41; return (n as number) + 1", host=host
                        )
                        well.append(outcome.value)
    assert well == [42]
    assert heart.worst_seconds < 0.2
