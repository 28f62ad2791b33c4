"""Attack: the program takes memory without end, in every kind of object the engine has."""

import resource
import sys

import pytest

from sandbox_host import Limits

LIMITS = Limits(memory_bytes=8 << 20, cpu_seconds=5, wall_seconds=20)


@pytest.mark.parametrize(
    "code",
    [
        "const a = []; for (;;) a.push({})",
        "const a = []; for (;;) a.push('x'.repeat(1e5) + a.length)",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 20))",
        "const m = new Map(); for (let i = 0; ; i++) m.set(i, i)",
        "let o = null; for (;;) o = { o }",
        "const f = (n) => () => n; const a = []; for (let i = 0; ; i++) a.push(f(i))",
        "const a = []; for (;;) a.push(Symbol.for('s' + a.length))",
        "const a = []; for (;;) a.push(new Promise(() => {}))",
        "const a = []; for (;;) a.push(Promise.resolve().then(() => 1))",
        "const a = []; for (;;) a.push(async () => { await null })",
        "const a = []; for (;;) a.push(new Error('x'))",
        "const a = []; for (;;) a.push((1n << 400000n) + BigInt(a.length))",
        "const a = []; for (;;) a.push(/x/g)",
        "const a = []; for (;;) a.push(new URL('http://a/' + a.length))",
        "const a = []; for (;;) a.push(eval('(function () { return ' + a.length + ' })'))",
    ],
)
async def test_growth_ends_at_the_memory_limit(fails, code):
    error = await fails(code, limits=LIMITS)
    assert error.code == "memory_limit", error


@pytest.mark.parametrize("keep", ["a.length = 0", "", "a.pop()"])
async def test_a_program_that_catches_the_error_and_goes_on_stays_inside_the_limit(run, keep):
    outcome = await run(
        f"""const a = []
        for (let i = 0; i < 20; i++) try {{ for (;;) a.push(new Uint8Array(1 << 18)) }} catch {{ {keep} }}
        return 1""",
        limits=LIMITS,
    )
    assert getattr(outcome, "value", None) == 1 or outcome.error.code in {
        "memory_limit",
        "cpu_limit",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB there")
async def test_the_process_does_not_pay_for_the_guest(fails):
    await fails("const a = []; for (;;) a.push(new Uint8Array(1 << 20))", limits=LIMITS)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10):
        await fails(
            "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))", limits=LIMITS
        )
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < (64 << 10)


async def test_a_resizable_or_growable_buffer_does_not_reserve_host_memory(run):
    outcome = await run(
        "return new ArrayBuffer(8, { maxByteLength: 2 ** 40 }).maxByteLength", limits=LIMITS
    )
    assert outcome.error.code in {"memory_limit", "uncaught_error"}
