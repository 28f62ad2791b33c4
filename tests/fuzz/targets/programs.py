"""A program's source: types erased, places found again, calls foreseen.

Promised: JavaScript or an error of ours; every place of it leads into the source; the analysis
never raises, and what it names stands in the source.
"""

import functools

from pml.analysis import analyse
from sandbox_host.engine.runtime import shared_runtimes
from sandbox_host.typescript import Erased, Eraser, EraserError

WORDS = (
    b"await mcp.a.b(", b"mcp[", b"const {a} = mcp", b"enum A {B = 1}", b"namespace N {", b"<T>", b" as any", b": string", b"interface I {}",
    b"import x from 'y'", b"export default ", b"`${", b"}", b"{", b"(", b")", b"=>", b"for (;;)", b"Promise.all([", b"\\u0061", b"\xe2\x80\xa8",
    b"\r", b"\n", b"/*", b"*/", b"//", b"class A { constructor(private x) {} }", b"return ", b"if (x)", b"function f(", b"'", b'"', b"/", b"?.", b"\xf0\x9f\x98\x80",
)  # fmt: skip


@functools.cache
def _eraser() -> Eraser:
    runtime = shared_runtimes().warm
    return Eraser(runtime.engine, runtime.eraser_module, deadline_ticks=1000)


def one(data: bytes) -> None:
    """Erase, then analyse both what was written and what is left."""
    source = data.decode(errors="replace")
    analyse(source)
    try:
        with shared_runtimes().warm.ticker.held():
            erased = _eraser().erase(source)
    except EraserError:
        return
    _places(erased, source)
    found = analyse(erased.code, erased.original)
    for spot in (*found.calls, *found.dynamic):
        _inside(source, spot.place.line, spot.place.column)


def _places(erased: Erased, source: str) -> None:
    for line, text in enumerate(erased.code.split("\n")[:50], 1):
        for column in {1, len(text) // 2 + 1, len(text) + 1}:
            _inside(source, *erased.original(line, column))


def _inside(source: str, line: int, column: int) -> None:
    lines = source.split("\n")
    assert 1 <= line <= len(lines), (line, column)
    assert 1 <= column <= len(lines[line - 1]) + 1, (line, column)
