"""Attack: ten megabytes of source, to keep the parser, the eraser or the loop busy."""

import pytest

from sandbox_host import Completed, Limits

TEN = 10 << 20
ROOMY = Limits(code_bytes=16 << 20, cpu_seconds=2, wall_seconds=20)


@pytest.mark.parametrize("piece", ["1;", "x", " ", "\n", "/*x*/", "é", "'x'+", "const x: number = 1;", "{", "\u2028"])
async def test_source_over_the_limit_is_refused_unread(fails, heartbeat, piece):
    code = piece * (TEN // len(piece.encode()) + 1)
    async with heartbeat() as heart:
        error = await fails(code)
    assert error.code == "code_limit"
    assert heart.worst_seconds < 0.2


@pytest.mark.parametrize(
    "code",
    ["1;" * (TEN // 2), "return '" + "x" * TEN + "'.length", "return [" + "1," * (TEN // 2) + "].length", "/*" + "x" * TEN + "*/ return 1"],
    ids=["statements", "a string", "an array", "a comment"],
)  # fmt: skip
async def test_source_that_the_embedder_allows_ends_in_an_outcome(run, heartbeat, code):
    async with heartbeat() as heart:
        outcome = await run(code, limits=ROOMY)
    if not isinstance(outcome, Completed):
        assert outcome.error.code in {"memory_limit", "cpu_limit", "syntax_error", "uncaught_error"}, outcome.error
        assert len(outcome.error.source_line or "") < 10_000
    assert heart.worst_seconds < 0.3


async def test_a_megabyte_of_typescript_does_not_stall_the_loop(run, heartbeat):
    code = "const a: number = 1;" + "{ let b: string = 'x' }" * 40_000
    async with heartbeat() as heart:
        await run(code, limits=Limits(cpu_seconds=2))
    assert heart.worst_seconds < 0.3


async def test_erasing_counts_towards_the_wall(run, heartbeat):
    """A few hostile characters can keep the eraser busy for its whole allowance."""
    code = "const x: number = 1;" + "a<" * 50_000
    async with heartbeat() as heart:
        outcome = await run(code, limits=Limits(wall_seconds=0.3))
    assert outcome.error.code in {"wall_limit", "syntax_error", "cpu_limit", "program_error", "stack_limit"}
    assert heart.worst_seconds < 0.2
