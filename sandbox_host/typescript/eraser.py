"""The eraser: TypeScript in, JavaScript out, or the problem with it.

Types are blanked out, so every place stays where it was. A source with syntax that has no
JavaScript of its own (enum, namespace, parameter property, `<T>x`) is printed anew, with a way
back to the places of the source. A source is untrusted: it gets an instance of its own, with a
deadline and a memory limit, so that it can neither stay nor leave anything behind for the next.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import wasmtime

from sandbox_host.typescript import positions, repair
from sandbox_host.typescript.bindgen import Conversation, Glue
from sandbox_host.typescript.errors import EraserBrokenError, EraserTimeoutError, SyntaxProblem
from sandbox_host.typescript.shapes import (
    MODULE,
    UNLABELLED_BODY,
    Shape,
    body_of,
    jumps,
    looks_like_body,
)
from sandbox_host.typescript.sourcemap import SourceMap

DEADLINE_TICKS = 400
"""2 s at a tick of 5 ms. 1 MiB of ordinary source takes under 0.5 s; 80 characters can be made to
take that long (`<T>(` repeated), and 1 MiB of `enum A{B}` a minute."""

MEMORY_BYTES = 256 * 1024 * 1024
"""1 MiB of small classes needs 186 MB."""

SOURCE_BYTES = 1024 * 1024
"""No program that an agent writes, or a registry serves, comes near."""

# Every option is asked for in several calls to the host; what is left out is the default.
_STRIP: dict[str, object] = {"module": True}
_TRANSFORM: dict[str, object] = {
    "module": True,
    "mode": "transform",
    "sourceMap": True,
    "transform": {
        "verbatimModuleSyntax": True,  # an import that looks unused still runs its module
        "nativeClassProperties": True,  # as Node does: fields stay fields
        "noEmptyExport": True,
        "tsEnumIsMutable": True,  # `E.A` stays, only const enums are inlined
        "importExportAssignConfig": "EsNext",  # refuses `import x = require()`: there is none
    },
}

# Traps of an exhausted stack: of the host, and of the wasm's own at the bottom of its memory.
_STACK_TRAPS = (
    wasmtime.TrapCode.STACK_OVERFLOW,
    wasmtime.TrapCode.MEMORY_OUT_OF_BOUNDS,
)
_UNENCODABLE = re.compile("[\0\ud800-\udfff]")
_JSX = re.compile(r"</[A-Za-z>]|<>|<[A-Za-z][^<>]*/>")
_NOT_AN_OBJECT = "an answer that is not an object"
_UNSUPPORTED = "UnsupportedSyntax"
"""swc's word for: parsed, and not erasable by blanking."""

_BARE_RETURN = "Return statement is not allowed here"
_IMPORT_IN_BODY = "'import', and 'export'"


@dataclass(frozen=True, slots=True)
class Erased:
    """JavaScript, and where each place of it comes from."""

    code: str
    _map: SourceMap | None = field(default=None, repr=False, compare=False)

    def original(self, line: int, column: int) -> tuple[int, int]:
        """The place in the source of a place in `code`; 1-based, columns in code points."""
        return self._map.original(line, column) if self._map else (line, column)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What swc threw: lines 1-based, columns 0-based and as shown on a terminal."""

    kind: str
    message: str
    line: int
    column: int
    shape: Shape


class Eraser:
    """Erases sources, each in an instance of its own. May be called from several threads."""

    def __init__(
        self,
        engine: wasmtime.Engine,
        module: wasmtime.Module,
        *,
        deadline_ticks: int = DEADLINE_TICKS,
        memory_bytes: int = MEMORY_BYTES,
    ) -> None:
        """Link the compiled eraser once.

        Args:
            engine: with epoch interruption; someone else makes its epochs pass.
            module: the compiled `eraser.wasm`.
            deadline_ticks: epochs that one source may take.
            memory_bytes: linear memory that one source may take.

        Raises:
            EraserBrokenError: `module` is not the build that the glue knows.
        """
        self._engine = engine
        self._deadline_ticks = deadline_ticks
        self._memory_bytes = memory_bytes
        try:
            self._glue = Glue(engine, module)
        except wasmtime.WasmtimeError as error:
            raise EraserBrokenError(str(error)) from None

    def erase(self, source: str) -> Erased:
        """The JavaScript of `source`: a module, or the body of an async function.

        Raises:
            SyntaxProblem: `source` is neither.
            EraserTimeoutError: it took too long.
            EraserBrokenError: the eraser failed.
        """
        _admit(source)
        if source.startswith("\ufeff"):
            source = " " + source[1:]
        with self._conversation(source) as conversation:
            return _erase(conversation, source)

    @contextmanager
    def _conversation(self, source: str) -> Iterator[Conversation]:
        """A fresh instance; what wasmtime raises is translated here."""
        store = wasmtime.Store(self._engine)
        store.set_limits(memory_size=self._memory_bytes)
        store.set_epoch_deadline(self._deadline_ticks)
        conversation = None
        try:
            conversation = self._glue.converse(store)
            yield conversation
        except wasmtime.Trap as trap:
            if conversation and conversation.failure:
                raise EraserBrokenError(conversation.failure) from None
            raise self._reason(trap, source) from None
        except wasmtime.WasmtimeError as error:
            raise EraserBrokenError(str(error)) from None
        finally:
            self._glue.end()
            store.close()

    def _reason(self, trap: wasmtime.Trap, source: str) -> EraserTimeoutError | SyntaxProblem:
        if trap.trap_code is wasmtime.TrapCode.INTERRUPT:
            return EraserTimeoutError(self._deadline_ticks)
        if trap.trap_code in _STACK_TRAPS:
            return SyntaxProblem.at(source, 0, "the source is nested too deeply")
        # A panic of swc, or no more memory: it has nothing to say about either.
        return SyntaxProblem.at(source, 0, "the source is too large, or not understood")


def _erase(conversation: Conversation, source: str) -> Erased:
    body_first = looks_like_body(source)
    first, second = (_as_body, _as_module) if body_first else (_as_module, _as_body)
    result = first(conversation, source)
    if isinstance(result, Erased):
        return result
    other = second(conversation, source)
    if isinstance(other, Erased):
        return other
    as_body, as_module = (result, other) if body_first else (other, result)
    raise _translated(_telling(as_module, as_body), source)


def _as_module(conversation: Conversation, source: str) -> Erased | _Refusal:
    return _attempt(conversation, source, MODULE)


def _as_body(conversation: Conversation, source: str) -> Erased | _Refusal:
    result = _attempt(conversation, source, body_of(source))
    if isinstance(result, Erased) and jumps(source):
        done, thrown = conversation.transform(UNLABELLED_BODY.wrap(source), _STRIP)
        refusal = None if done else _refusal(thrown, UNLABELLED_BODY)
        if refusal and refusal.kind != _UNSUPPORTED:
            return refusal
    return result


def _telling(as_module: _Refusal, as_body: _Refusal) -> _Refusal:
    """Which refusal to show: the module's, unless all it minds is what makes a body."""
    if as_module.message == _BARE_RETURN and not as_body.message.startswith(_IMPORT_IN_BODY):
        return as_body
    return as_module


def _attempt(conversation: Conversation, source: str, shape: Shape) -> Erased | _Refusal:
    text = shape.wrap(source)
    done, result = conversation.transform(text, _STRIP)
    if done:
        code = repair.aligned(source, shape.cut(_fields(result)["code"]))
        return Erased(repair.with_semicolons(source, code))
    refusal = _refusal(result, shape)
    if refusal.kind != _UNSUPPORTED:
        return refusal
    done, result = conversation.transform(text, _TRANSFORM)
    return _transformed(_fields(result), source, shape) if done else _refusal(result, shape)


def _transformed(output: dict[str, Any], source: str, shape: Shape) -> Erased:
    code = shape.cut_printed(output["code"])
    mapped = SourceMap(
        json.loads(output["map"])["mappings"],
        source,
        code,
        skip_lines=shape.printed_prefix.count("\n"),
        skip_columns=len(shape.prefix),
    )
    return Erased(code, mapped)


def _fields(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise EraserBrokenError(_NOT_AN_OBJECT)
    return value


def _refusal(thrown: object, shape: Shape) -> _Refusal:
    fields = _fields(thrown)
    return _Refusal(
        kind=str(fields.get("code", "")),
        message=str(fields.get("message", "not understood")),
        line=int(fields.get("startLine", 1)),
        column=int(fields.get("startColumn", 0)),
        shape=shape,
    )


def _translated(refusal: _Refusal, source: str) -> SyntaxProblem:
    text = refusal.shape.wrap(source)
    place = positions.offset_of(text, refusal.line, refusal.column) - len(refusal.shape.prefix)
    offset = min(max(place, 0), len(source))
    message = refusal.message
    if _JSX.search(positions.line_at(source, offset)):
        message = f"JSX is not supported, and this looks like it: {message}"
    return SyntaxProblem.at(source, offset, message)


def _admit(source: str) -> None:
    unencodable = _UNENCODABLE.search(source)
    if unencodable:
        raise _unencodable(source, unencodable.start())
    if len(source.encode()) > SOURCE_BYTES:
        raise _too_large(source)


def _unencodable(source: str, offset: int) -> SyntaxProblem:
    name = "a NUL character" if source[offset] == "\0" else "half of a surrogate pair"
    return SyntaxProblem.at(source, offset, f"{name} in the source")


def _too_large(source: str) -> SyntaxProblem:
    return SyntaxProblem.at(source, 0, f"the source is larger than {SOURCE_BYTES} bytes")
