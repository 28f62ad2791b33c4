"""Sources made to hurt: the next source, another thread, the time or the memory."""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import wasmtime

from sandbox_host.typescript import (
    Eraser,
    EraserBrokenError,
    EraserError,
    EraserTimeoutError,
    SyntaxProblem,
)

INNOCENT = "const x: number = 1; type T = 2\n;[x].map(f as any)"
INNOCENT_CODE = "const x         = 1;           \n;[x].map(f       )"

HOSTILE = [
    "(" * 100_000,
    "[" * 100_000,
    "{" * 100_000,
    "<" * 1_000_000,
    "!" * 1_000_000,
    "`${" * 100_000,
    "`" + "a" * 1_000_000 + "`",
    "x" + " as any" * 100_000,
    "()=>" * 100_000,
    "a?b:" * 100_000,
    "/*" * 100_000,
    "\n" * 500_000 + "let x: = 1",
    "'" + "漢" * 100_000 + "'; let x: = 1",
    "class A { constructor(private a = 1, private { b } = c) {} }",
    "type X={a;b;};" * 10_000 + "\n;[1]",
    "x" * 2_000_000,
]


def erase_whatever(eraser: Eraser, source: str) -> None:
    with contextlib.suppress(EraserError):
        eraser.erase(source)


@pytest.mark.parametrize("source", HOSTILE, ids=lambda source: f"{source[:8]!r}-{len(source)}")
def test_a_hostile_source_is_erased_or_refused_and_nothing_else(
    eraser: Eraser, source: str
) -> None:
    with contextlib.suppress(SyntaxProblem):
        assert len(eraser.erase(source).code) == len(source)


def test_nesting_beyond_the_stack_is_a_problem_of_the_source(eraser: Eraser) -> None:
    with pytest.raises(SyntaxProblem, match="nested too deeply"):
        eraser.erase("(" * 100_000)


def test_a_source_erased_after_hostile_ones_is_erased_as_before(eraser: Eraser) -> None:
    for number in range(50):
        erase_whatever(eraser, HOSTILE[number % len(HOSTILE)][:20_000])

    assert eraser.erase(INNOCENT).code == INNOCENT_CODE


def test_threads_do_not_see_each_other(eraser: Eraser) -> None:
    def task(number: int) -> bool:
        if number % 3 == 0:
            erase_whatever(eraser, HOSTILE[number % len(HOSTILE)][:20_000])
        source = f"const x{number}: number = {number}; return x{number} as any"
        return eraser.erase(source).code == (
            f"const x{number}         = {number}; return x{number}       "
        )

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(task, range(120)))


def test_a_source_that_takes_too_long_is_stopped(
    engine: wasmtime.Engine, module: wasmtime.Module
) -> None:
    """The attack: `<T>(` may begin a cast or an arrow function; 40 of them, 2 ** 40 ways."""
    eraser = Eraser(engine, module, deadline_ticks=3)
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.005):
            engine.increment_epoch()

    ticker = threading.Thread(target=tick)
    ticker.start()
    try:
        with pytest.raises(EraserTimeoutError, match="3 ticks"):
            eraser.erase("<T>(" * 40)
    finally:
        done.set()
        ticker.join()


def test_a_source_that_needs_too_much_memory_is_refused(
    engine: wasmtime.Engine, module: wasmtime.Module
) -> None:
    eraser = Eraser(engine, module, memory_bytes=8 * 1024 * 1024)

    with pytest.raises(SyntaxProblem, match="too large"):
        eraser.erase("class A{x:any;y(){}}" * 10_000)


def test_too_little_memory_to_start_is_not_a_problem_of_the_source(
    engine: wasmtime.Engine, module: wasmtime.Module
) -> None:
    eraser = Eraser(engine, module, memory_bytes=65_536)

    with pytest.raises(EraserBrokenError):
        eraser.erase(INNOCENT)


def test_another_build_is_refused_when_linked(engine: wasmtime.Engine) -> None:
    other = wasmtime.Module(engine, '(module (import "m" "__wbindgen_throw" (func)))')

    with pytest.raises(EraserBrokenError, match="not in this build"):
        Eraser(engine, other)
