"""Rewrites a core wasm module so that its data section is a given memory image.

Pure: bytes in, bytes out. Understands just enough of the binary format
(https://webassembly.github.io/spec/core/binary/) and refuses what it does not understand. Runs
nothing; `preinit.py` does.
"""

import dataclasses
from collections.abc import Iterable, Iterator

from guest_runtime.errors import PreinitError, Rule

HEADER = b"\0asm\x01\0\0\0"
WASM_PAGE_BYTES = 65_536

# A run of zeros this long ends a data segment. 4 KiB is the page of the host's copy-on-write
# mapping: smaller gaps would add segments without saving a page.
GAP_BYTES = 4096

IMPORT, MEMORY, GLOBAL, EXPORT, START, DATA, DATA_COUNT = 2, 5, 6, 7, 8, 11, 12
GLOBAL_KIND = 3
_MUTABLE = 1
_PLAIN_MEMORY_FLAGS = (0, 1)  # without and with a maximum
_LEB_MASK, _LEB_SIGN, _LEB_MORE = 0x7F, 0x40, 0x80
_I32, _I64, _F32, _F64 = 0x7F, 0x7E, 0x7D, 0x7C
_CONST_BYTES = {0x43: 4, 0x44: 8}  # f32.const, f64.const
_INTEGER_CONSTS = (0x41, 0x42)
_END = 0x0B


@dataclasses.dataclass
class Reader:
    """A cursor over bytes."""

    data: bytes
    at: int = 0

    def byte(self) -> int:
        """Take one byte."""
        self.at += 1
        return self.data[self.at - 1]

    def take(self, count: int) -> bytes:
        """Take `count` bytes."""
        self.at += count
        return self.data[self.at - count : self.at]

    def unsigned(self) -> int:
        """Take an unsigned LEB128 number."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & _LEB_MASK) << shift
            shift += 7
            if not byte & _LEB_MORE:
                return value

    def name(self) -> str:
        """Take a length-prefixed name."""
        return self.take(self.unsigned()).decode()

    def skip_leb(self) -> None:
        """Pass over one LEB128 number, signed or not."""
        while self.byte() & _LEB_MORE:
            pass


def unsigned(value: int) -> bytes:
    """Encode an unsigned LEB128 number."""
    out = bytearray()
    while value > _LEB_MASK:
        out.append(value & _LEB_MASK | _LEB_MORE)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> bytes:
    """Encode a signed LEB128 number."""
    out = bytearray()
    while not -_LEB_SIGN <= value < _LEB_SIGN:
        out.append(value & _LEB_MASK | _LEB_MORE)
        value >>= 7
    return bytes([*out, value & _LEB_MASK])


def sections(module: bytes) -> Iterator[tuple[int, bytes]]:
    """Give each section as (id, body)."""
    if not module.startswith(HEADER):
        raise PreinitError(Rule.CORE_MODULE, module[: len(HEADER)])
    reader = Reader(module, len(HEADER))
    while reader.at < len(module):
        yield reader.byte(), reader.take(reader.unsigned())


def join(parts: Iterable[tuple[int, bytes]]) -> bytes:
    """Put sections together to a module."""
    return HEADER + b"".join(
        bytes([number]) + unsigned(len(body)) + body for number, body in parts
    )


def refuse_unsupported(module: bytes) -> None:
    """Raise when the module has something that the functions below do not understand."""
    bodies = dict(sections(module))
    _refuse_imported_state(bodies.get(IMPORT, b"\0"))
    _with_minimum(bodies.get(MEMORY, b"\0"), 0)
    if DATA not in bodies:
        raise PreinitError(Rule.DATA_SECTION, sorted(bodies))
    _refuse_unknown_segments(bodies[DATA])


def mutable_globals(module: bytes) -> list[int]:
    """Give the indices of the module's mutable globals."""
    reader = Reader(dict(sections(module)).get(GLOBAL, b"\0"))
    found = []
    for index in range(reader.unsigned()):
        if reader.byte() not in (_I32, _I64, _F32, _F64):
            raise PreinitError(Rule.NUMBER_GLOBALS, index)
        if reader.byte() == _MUTABLE:
            found.append(index)
        _skip_constant(reader)
    return found


def with_globals_exported(module: bytes, prefix: str) -> bytes:
    """Give the module with each mutable global exported as `prefix` + index."""
    added = [
        _named(f"{prefix}{index}") + bytes([GLOBAL_KIND]) + unsigned(index)
        for index in mutable_globals(module)
    ]
    return join(
        (number, _add_exports(body, added) if number == EXPORT else body)
        for number, body in sections(module)
    )


def with_image(module: bytes, memory: bytes, *, drop_exports: frozenset[str]) -> bytes:
    """Give the module that starts with `memory`, without a start function and `drop_exports`."""
    segments = list(non_zero_runs(memory))
    rewritten: list[tuple[int, bytes]] = []
    for number, body in sections(module):
        if number == MEMORY:
            rewritten.append((number, _with_minimum(body, len(memory) // WASM_PAGE_BYTES)))
        elif number == EXPORT:
            rewritten.append((number, _without_exports(body, drop_exports)))
        elif number == DATA_COUNT:
            rewritten.append((number, unsigned(len(segments))))
        elif number == DATA:
            rewritten.append((number, _data_section(segments)))
        elif number != START:
            rewritten.append((number, body))
    return join(rewritten)


def non_zero_runs(memory: bytes) -> Iterator[tuple[int, bytes]]:
    """Give (offset, bytes) for each run of pages that are not all zero."""
    zero = bytes(GAP_BYTES)
    start: int | None = None
    for offset in range(0, len(memory) + GAP_BYTES, GAP_BYTES):
        page = memory[offset : offset + GAP_BYTES]
        is_empty = page == zero[: len(page)]
        if start is None and not is_empty:
            start = offset
        elif start is not None and is_empty:
            yield start, memory[start:offset]
            start = None


def _data_section(segments: list[tuple[int, bytes]]) -> bytes:
    return unsigned(len(segments)) + b"".join(
        b"\0\x41" + signed(offset) + bytes([_END]) + unsigned(len(data)) + data
        for offset, data in segments
    )


def _with_minimum(body: bytes, pages: int) -> bytes:
    reader = Reader(body)
    if (count := reader.unsigned()) != 1:
        raise PreinitError(Rule.ONE_PLAIN_MEMORY, count)
    flags = reader.byte()
    if flags not in _PLAIN_MEMORY_FLAGS:
        raise PreinitError(Rule.ONE_PLAIN_MEMORY, flags)
    reader.skip_leb()
    return unsigned(1) + bytes([flags]) + unsigned(pages) + body[reader.at :]


def _refuse_unknown_segments(body: bytes) -> None:
    reader = Reader(body)
    for index in range(reader.unsigned()):
        if reader.unsigned() != 0:
            raise PreinitError(Rule.ACTIVE_SEGMENTS, index)
        _skip_constant(reader)
        reader.take(reader.unsigned())


def _refuse_imported_state(body: bytes) -> None:
    reader = Reader(body)
    for _ in range(reader.unsigned()):
        place = f"{reader.name()}.{reader.name()}"
        if reader.byte() != 0:
            raise PreinitError(Rule.ONLY_FUNCTION_IMPORTS, place)
        reader.skip_leb()


def _skip_constant(reader: Reader) -> None:
    opcode = reader.byte()
    if opcode in _INTEGER_CONSTS:
        reader.skip_leb()
    elif opcode in _CONST_BYTES:
        reader.take(_CONST_BYTES[opcode])
    else:
        raise PreinitError(Rule.PLAIN_CONSTANTS, opcode)
    if (following := reader.byte()) != _END:
        raise PreinitError(Rule.PLAIN_CONSTANTS, following)


def _named(name: str) -> bytes:
    return unsigned(len(name.encode())) + name.encode()


def _exports(body: bytes) -> Iterator[tuple[str, bytes]]:
    reader = Reader(body)
    for _ in range(reader.unsigned()):
        start = reader.at
        name = reader.name()
        reader.byte()
        reader.skip_leb()
        yield name, body[start : reader.at]


def _add_exports(body: bytes, added: list[bytes]) -> bytes:
    entries = [entry for _, entry in _exports(body)] + added
    return unsigned(len(entries)) + b"".join(entries)


def _without_exports(body: bytes, dropped: frozenset[str]) -> bytes:
    entries = [entry for name, entry in _exports(body) if name not in dropped]
    return unsigned(len(entries)) + b"".join(entries)
