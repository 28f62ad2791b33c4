"""Attack: ten megabytes of source, to keep the parser, the eraser or the loop busy."""

import anyio
import pytest

from sandbox_host import Completed, Limits, Sandbox

TEN = 10 << 20
ROOMY = Limits(code_bytes=16 << 20, cpu_seconds=2, wall_seconds=20)


@pytest.mark.parametrize(
    "piece", ["1;", "x", " ", "\n", "/*x*/", "é", "'x'+", "const x: number = 1;", "{", "\u2028"]
)
async def test_source_over_the_limit_is_refused_unread(fails, heartbeat, piece):
    code = piece * (TEN // len(piece.encode()) + 1)
    async with heartbeat() as heart:
        error = await fails(code)
    assert error.code == "code_limit"
    assert heart.worst_seconds < 0.2


KINDS = {"statements": ("", "1;", ""), "a string": ("return '", "x", "'.length"), "an array": ("return [", "1,", "].length"),
         "a comment": ("/*", "x", "*/ return 1")}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
async def test_a_megabyte_of_source_does_not_stall_the_loop(run, heartbeat, kind):
    begin, piece, end = KINDS[kind]
    code = begin + piece * ((1 << 20) // len(piece) - 20) + end
    async with heartbeat() as heart:
        outcome = await run(code, limits=Limits(cpu_seconds=2))
    assert isinstance(outcome, Completed), outcome
    assert heart.worst_seconds < 0.2


@pytest.mark.parametrize("kind", ["a string", "a comment"])
async def test_source_that_the_embedder_allows_ends_in_an_outcome(run, kind):
    begin, piece, end = KINDS[kind]
    outcome = await run(begin + piece * TEN + end, limits=ROOMY)
    if not isinstance(outcome, Completed):
        assert outcome.error.code in {
            "memory_limit",
            "cpu_limit",
            "syntax_error",
            "uncaught_error",
        }, outcome.error
        assert len(outcome.error.source_line or "") < 10_000


async def test_a_megabyte_of_typescript_does_not_stall_the_loop(run, heartbeat):
    code = "const a: number = 1;" + "{ let b: string = 'x' }" * 20_000
    async with heartbeat() as heart:
        await run(code, limits=Limits(cpu_seconds=2))
    assert heart.worst_seconds < 0.3


async def test_erasing_counts_towards_the_wall(run, heartbeat):
    """A few hostile characters can keep the eraser busy for its whole allowance."""
    code = "class A{x:any;y(){}}" * 10_000
    async with heartbeat() as heart:
        started = anyio.current_time()
        outcome = await run(code, limits=Limits(wall_seconds=0.2, cpu_seconds=0.2))
        taken = anyio.current_time() - started
    assert isinstance(outcome, Completed) or outcome.error.code in {
        "wall_limit",
        "cpu_limit",
        "syntax_error",
    }
    assert taken < 1
    assert heart.worst_seconds < 0.2


async def test_cancelling_while_types_are_erased_does_not_wait_for_the_eraser():
    async with Sandbox() as sandbox:
        await sandbox.run("const n: number = 1", host=None)  # the eraser is loaded
        started = anyio.current_time()
        with anyio.move_on_after(0.05):
            await sandbox.run("class B{x:any;y(){}}" * 10_000, host=None)
        assert anyio.current_time() - started < 0.5  # the tight number, 50 ms, is in benches/
