"""Programs on their way into a guest: measured, types erased, modules compiled, errors placed."""

import collections
from collections.abc import Sequence

from sandbox_host.bridge import Original
from sandbox_host.driving import Worker, aside, in_thread
from sandbox_host.engine.runtime import Runtime
from sandbox_host.errors import (
    LimitExceeded,
    ModuleInvalid,
    ProgramError,
    SandboxError,
    SyntaxFailure,
    printable,
)
from sandbox_host.guests.guest import Guest
from sandbox_host.limits import Limits
from sandbox_host.mounts import OpenedMount
from sandbox_host.typescript import (
    Erased,
    Eraser,
    EraserError,
    EraserTimeoutError,
    SyntaxProblem,
    needs_erasing,
)

_ERASER_TICKS = 1000  # 2 s: ordinary source of the largest size takes a quarter of that
_KEPT = 64  # erased sources remembered: the same capability runs again and again
_KEPT_CHARACTERS = 64 << 10  # of a source that is worth remembering
_LINE_CHARACTERS = 200
_MAGIC = b"\0asm\1\0\0\0"
_CUT_OFF = "the program ends too early: something is not closed or not complete"


class Erasers:
    """The eraser, loaded when first needed, and what it has done lately."""

    def __init__(self, runtime: Runtime) -> None:
        """Load nothing yet."""
        self._runtime = runtime
        self._eraser: Eraser | None = None
        self._kept: collections.OrderedDict[str, Erased] = collections.OrderedDict()

    async def erase(self, source: str, code_bytes: int) -> Erased:
        """Give the JavaScript of a source, or the `SandboxError` that it is."""
        if len(source) > code_bytes:  # before anything looks at it: it may be endless
            raise LimitExceeded("code_limit", f"the source has more than {code_bytes} bytes")
        _measure(source, code_bytes)
        if source.startswith("#!"):
            source = f"//{source[2:]}"  # a script's first line, for a shell
        if len(source) <= _KEPT_CHARACTERS and not needs_erasing(source):
            return Erased(source)
        erased = self._kept.get(source)
        if erased is None:
            # off the loop: a few hostile characters can keep the eraser busy for seconds
            erased = await aside(lambda: self._erase(source))
            if len(source) <= _KEPT_CHARACTERS:
                self._kept[source] = erased
                if len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return erased

    def _erase(self, source: str) -> Erased:
        runtime = self._runtime
        if not needs_erasing(source):
            return Erased(source)
        if self._eraser is None:
            self._eraser = Eraser(
                runtime.engine, runtime.eraser_module, deadline_ticks=_ERASER_TICKS
            )
        try:
            with runtime.ticker.held():
                return self._eraser.erase(source)
        except SyntaxProblem as problem:
            raise SyntaxFailure(
                printable(problem.message),
                line=problem.line,
                column=problem.column,
                source_line=printable(problem.source_line or "", _LINE_CHARACTERS),
            ) from None
        except EraserTimeoutError:
            raise LimitExceeded("cpu_limit", "erasing the source's types took too long") from None
        except EraserError as error:
            raise ProgramError(str(error)) from None


def _measure(source: str, code_bytes: int) -> None:
    try:
        size = len(source.encode())
    except UnicodeEncodeError as error:
        line = source.count("\n", 0, error.start) + 1
        column = error.start - (source.rfind("\n", 0, error.start) + 1) + 1
        raise SyntaxFailure(
            "the source contains a lone surrogate, which is no text", line=line, column=column
        ) from None
    if size > code_bytes:
        raise LimitExceeded("code_limit", f"the source has {size} bytes, {code_bytes} are allowed")


def locator(erased: Erased) -> Original:
    """Give the way from a place the guest names (columns in bytes) to one in the source."""
    if erased.code.isascii():
        return erased.original
    lines = erased.code.split("\n")

    def original(line: int, column: int) -> tuple[int, int]:
        text = lines[line - 1] if 0 < line <= len(lines) else ""
        before = text.encode()[: max(column - 1, 0)].decode(errors="ignore")
        return erased.original(line, len(before) + 1)

    return original


def place(error: SandboxError, source: str, original: Original) -> None:
    """Give an error its place in the source as written, and that line's text."""
    if error.line is None or error.column is None or error.source_line is not None:
        return
    lines = source.split("\n")
    if isinstance(error, SyntaxFailure) and error.line > len(lines):
        # the guest read on past the end, into the brace that it puts there itself
        error.message, error.args = _CUT_OFF, (_CUT_OFF,)
        error.line, error.column = len(lines), len(lines[-1]) + 1
    else:
        error.line, error.column = original(error.line, error.column)
    if error.line <= len(lines):
        error.source_line = printable(lines[error.line - 1], _LINE_CHARACTERS)


async def load_raw(
    runtime: Runtime, module: bytes, limits: Limits, mounts: Sequence[OpenedMount]
) -> Guest:
    """Compile a module, or take it from the cache, off the event loop; then instantiate it."""
    from sandbox_host.guests.raw import RawGuest  # noqa: PLC0415 - few need it

    if not module.startswith(_MAGIC):  # wasmtime would take it for WebAssembly text
        raise ModuleInvalid("it does not begin as one")
    if len(module) > limits.code_bytes:
        raise LimitExceeded(
            "code_limit", f"the module has {len(module)} bytes, {limits.code_bytes} are allowed"
        )

    # may take long, and holds nothing: left alone when cancelled
    compiled = await aside(lambda: runtime.compile_foreign(module))
    made: list[Guest] = []

    def instantiate() -> None:
        with runtime.ticker.held():  # the module may have a start function
            made.append(RawGuest(runtime, compiled, limits, mounts))

    try:
        await in_thread(instantiate, Worker())
    except BaseException:
        for guest in made:
            guest.close()
        raise
    return made[0]
