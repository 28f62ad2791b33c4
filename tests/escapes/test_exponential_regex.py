"""Attack: a regular expression that backtracks for longer than the universe lasts, inside one engine call."""

import pytest

from sandbox_host import Limits


@pytest.mark.parametrize(
    "code",
    [
        r"/^(a+)+$/.test('a'.repeat(60) + '!')",
        r"/(x+x+)+y/.exec('x'.repeat(60))",
        r"'a'.repeat(60).replace(/(a|a)*b/g, '')",
        r"/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
        r"new RegExp('(?:a?){60}a{60}').test('a'.repeat(59))",
        r"/(?<=(a+)+)b/.test('a'.repeat(60) + 'c')",
        r"/(\w+\1)+$/.test('ab'.repeat(2000))",
    ],
)
async def test_a_backtracking_regex_ends_at_a_limit(fails, heartbeat, code):
    async with heartbeat() as heart:
        error = await fails(f"for (;;) {code}", limits=Limits(cpu_seconds=0.05, wall_seconds=10))
    assert error.code in {"cpu_limit", "memory_limit"}
    assert heart.worst_seconds < 0.2


@pytest.mark.parametrize("pattern", ["'('.repeat(1e5)", "'(?:'.repeat(1e5) + ')'.repeat(1e5)", "'a{99999}'.repeat(1e4)",
                                     "'(a{9999}){9999}'", "'[' + 'a-z'.repeat(1e5) + ']'"])  # fmt: skip
async def test_a_regex_too_large_to_compile_ends_in_a_named_error_or_compiles(run, pattern):
    outcome = await run(f"return String(new RegExp({pattern})).length")
    if hasattr(outcome, "error"):
        assert outcome.error.code in {
            "uncaught_error",
            "cpu_limit",
            "memory_limit",
            "stack_limit",
        }, outcome
