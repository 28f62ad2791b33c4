"""Attack: the program never ends, so that the host, its event loop or its neighbours wait for ever."""

import anyio
import pytest

from sandbox_host import Completed, Limits, Sandbox


@pytest.mark.parametrize(
    "code",
    [
        "for (;;);",
        "while (true) { try { throw 1 } catch { continue } }",
        "for (;;) { try { for (;;); } finally { continue } }",
        "let n = 0; do { n = Math.imul(n, 7) + 1 } while (n !== n + 1)",
        "const f = function* () { for (;;) yield 1 }; for (const _ of f()); ",
        "Array.from({ length: 2 ** 53 - 1 }, () => 0)",
        "'x'.padEnd(5).replace(/x/g, () => { for (;;); })",
        "[3, 2, 1].sort(() => { for (;;); })",
        "JSON.parse('[1]', () => { for (;;); })",
        "return { toJSON() { for (;;); } }",
        "throw { get message() { for (;;); } }",
        "return { then() { for (;;); } }",
        "console.log(new Proxy({}, { ownKeys() { for (;;); } }))",
        "new Date(NaN) + 2n ** 2n ** 30n",
        "let n = 3n; for (;;) n = n * n",
    ],
)
async def test_an_endless_loop_ends_at_a_limit(fails, code):
    error = await fails(code, limits=Limits(cpu_seconds=0.05, wall_seconds=10))
    assert error.code in {"cpu_limit", "memory_limit", "uncaught_error"}
    if error.code == "uncaught_error":
        assert "RangeError" in error.message  # an allocation that the engine itself refuses


async def test_the_loop_of_the_host_goes_on_beside_it(fails, heartbeat):
    async with heartbeat() as heart:
        error = await fails("for (;;);", limits=Limits(cpu_seconds=0.3))
    assert error.code == "cpu_limit"
    assert heart.worst_seconds < 0.2


async def test_the_wall_limit_ends_it_when_the_cpu_limit_does_not(fails):
    error = await fails("for (;;);", limits=Limits(cpu_seconds=60, wall_seconds=0.2))
    assert error.code == "wall_limit"


async def test_cancelling_the_run_stops_it_and_the_sandbox_goes_on():
    async with Sandbox() as sandbox:
        with anyio.fail_after(5):  # generous: the tight number is in benches/
            with anyio.move_on_after(0.05) as scope:
                await sandbox.run("for (;;);", host=None)
            assert scope.cancelled_caught
        outcome = await sandbox.run("return 1", host=None)
    assert isinstance(outcome, Completed)


async def test_what_computes_in_many_short_slices_is_metered_too(run):
    computed = []

    async def host(call):
        computed.append(call.args["ms"])

    limits = Limits(cpu_seconds=0.1, wall_seconds=2, calls=10**6)
    await run(
        """let ms = 0
        for (;;) {
            const t = performance.now()
            while ((ms = performance.now() - t) < 0.2);
            await mcp.meter.add({ ms })
        }""",
        limits=limits,
        host=host,
    )
    assert sum(computed) / 1000 < 3 * limits.cpu_seconds
