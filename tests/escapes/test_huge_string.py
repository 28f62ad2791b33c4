"""Attack: one string larger than the memory, or that becomes so on its way out."""

import pytest

from sandbox_host import Limits

LIMITS = Limits(memory_bytes=16 << 20, cpu_seconds=3, wall_seconds=20)


@pytest.mark.parametrize(
    "code",
    [
        "return 'x'.repeat(2 ** 29)",
        "return 'x'.repeat(2 ** 30 - 1).length",
        "return 'x'.padStart(2 ** 29)",
        "let s = 'x'; for (;;) s += s",
        "let s = 'x'; for (;;) s = `${s}${s}`",
        "return new Array(2 ** 24).join('x')",
        "return 'x'.repeat(1e6).replace(/x/g, 'y'.repeat(1e4))",
        "return String.fromCharCode(...new Array(1e6).fill(65)).repeat(100)",
        "return new TextDecoder().decode(new Uint8Array(2 ** 30))",
        "return btoa('x'.repeat(2 ** 26))",
        "return 10n ** 100000000n",
    ],
)
async def test_a_huge_string_is_refused_by_name(fails, code):
    error = await fails(code, limits=LIMITS)
    assert error.code in {"memory_limit", "uncaught_error", "cpu_limit", "stack_limit"}, error
    if error.code == "uncaught_error":
        assert "RangeError" in error.message or "string too long" in error.message, error


@pytest.mark.parametrize(
    "use",
    ["return s", "console.log(s)", "await mcp.a.b({ s })", "await mcp[s].b()", "await mcp.a[s]()", "throw new Error(s)",
     "throw s", "await Deno.readTextFile(s)", "eval(s)", "new RegExp(s)", "JSON.parse(s)", "await import(s)",
     "Error(s).stack", "setTimeout(() => { throw s })", "await Promise.reject(s)", "Promise.reject(s)",
     "console.table([{ [s]: s }])", "Symbol(s).toString()", "return { [s]: 1 }", "structuredClone(s)"],
)  # fmt: skip
async def test_a_string_that_fits_does_no_harm_wherever_it_goes(run, use):
    outcome = await run(f"const s = 'x'.repeat(5e6); {use}", limits=LIMITS)
    if hasattr(outcome, "error"):
        assert len(outcome.error.message) < 10_000
        assert len(getattr(outcome.error, "stack", "")) < 10_000
    assert sum(len(log.text) for log in outcome.logs) <= LIMITS.log_bytes + 4096
