"""Attack: 100 MB of console output, or endless lines of nothing, to fill the host's memory and the reader's."""

import dataclasses

import pytest

from sandbox_host import Limits

LIMITS = Limits(log_bytes=64 << 10, cpu_seconds=2, wall_seconds=20)


@pytest.mark.parametrize(
    "code",
    [
        "for (let i = 0; i < 100; i++) console.log('x'.repeat(1 << 20))",
        "for (;;) console.log('line')",
        "for (;;) console.error(new Error('x'))",
        "for (;;) try { console.log('x'.repeat(1000)) } catch {}",
        "for (;;) try { console.log('x'.repeat(1000)) } finally { continue }",
        "for (;;) { console.log('line'); await null }",
        "for (;;) { console.log('x'.repeat(500)); await mcp.a.b() }",
        "const f = () => { console.log('x'.repeat(999)); setTimeout(f) }; f(); await new Promise(() => {})",
        "for (;;) { setTimeout(() => { throw 'x'.repeat(500) }); await new Promise((r) => setTimeout(r)) }",
        "console.group(); " * 5 + "for (;;) console.log('\\n'.repeat(1000))",
        "console.table(Array.from({ length: 200 }, () => Array(200).fill('x')))",
        "for (;;) console.trace('x')",
        "for (;;) console.count('x'.repeat(100))",
    ],
)
async def test_too_much_output_ends_at_the_log_limit(run, code):
    outcome = await run(code, limits=LIMITS)
    assert outcome.error.code == "log_limit", outcome.error
    assert sum(len(log.text.encode()) for log in outcome.logs) <= LIMITS.log_bytes + 4096


async def test_unhandled_rejections_are_part_of_the_output_and_cut_with_it(run):
    outcome = await run(
        "for (;;) { Promise.reject('x'.repeat(500)); await mcp.a.b() }", limits=LIMITS
    )
    assert outcome.error.code in {"log_limit", "call_limit"}
    assert sum(len(log.text.encode()) for log in outcome.logs) <= LIMITS.log_bytes + 4096


@pytest.mark.parametrize(
    "line", ["console.log('')", "console.log()", "console.group(''); console.groupEnd()"]
)
async def test_lines_of_nothing_count_too(run, line):
    """Each is a line for the reader and an object in the host, though its text has no bytes."""
    outcome = await run(
        f"for (;;) {{ for (let i = 0; i < 1000; i++) {{ {line} }} await new Promise((r) => setTimeout(r)) }}",
        limits=dataclasses.replace(LIMITS, log_bytes=4096, cpu_seconds=0.5),
    )
    assert outcome.error.code == "log_limit", (outcome.error, len(outcome.logs))
    assert len(outcome.logs) <= 4096


async def test_the_output_before_the_limit_is_kept(run):
    outcome = await run(
        "console.log('first'); for (;;) console.log('x'.repeat(1000))", limits=LIMITS
    )
    assert outcome.logs[0].text == "first"


async def test_the_loop_goes_on_beside_a_flood_of_lines(run, heartbeat):
    async with heartbeat() as heart:
        await run("for (;;) console.log('')", limits=Limits(cpu_seconds=0.5))
    assert heart.worst_seconds < 0.2
