"""The JavaScript side of a wasm-bindgen build of swc, in Python.

The wasm was made to live beside a JavaScript engine: it holds JavaScript values as indexes into a
table and asks its imports to look into them. Here those values are Python values: str, bool,
float, dict, list, None and UNDEFINED. Only what `transformSync` was seen to call is supplied;
every other import ends the conversation with its name.

An exception that leaves a callback would wait in a global of wasmtime-py for any thread to pick
up. So none does: a conversation writes down what failed and makes its own deadline pass.
"""

import enum
import struct
from collections.abc import Callable, Iterable
from threading import local
from typing import Any, Final

import wasmtime

from sandbox_host.typescript.errors import EraserBrokenError


class _Symbol(enum.Enum):
    UNDEFINED = enum.auto()
    ITERATOR = enum.auto()


UNDEFINED: Final = _Symbol.UNDEFINED

_RESERVED = 128
"""wasm-bindgen keeps these slots for borrowed values; constants follow, then what is added."""

_CONSTANTS: tuple[object, ...] = (UNDEFINED, None, True, False)
_FIRST_FREE = _RESERVED + len(_CONSTANTS)
_U32 = 0xFFFF_FFFF

_PREPARED = 256
"""Results made in advance: wasmtime-py takes a Val in half the time of an int."""

_MALLOC = "__wbindgen_export_2"
_MOVE_STACK = "__wbindgen_add_to_stack_pointer"
_EXPORTS = frozenset({"memory", "transformSync", _MALLOC, _MOVE_STACK})


class Conversation:
    """One instance of the wasm, and the values it holds."""

    def __init__(self, store: wasmtime.Store, instance: wasmtime.Instance) -> None:
        """Look up what the wasm exports."""
        exports = instance.exports(store)
        self.failure: str | None = None
        self._store = store
        self._memory: Any = exports["memory"]
        self._transform: Any = exports["transformSync"]
        self._malloc: Any = exports[_MALLOC]
        self._move_stack: Any = exports[_MOVE_STACK]
        self._slots: list[object] = [UNDEFINED] * _RESERVED + list(_CONSTANTS)
        self._free: list[int] = []

    def transform(self, source: str, options: dict[str, object]) -> tuple[bool, object]:
        """Call `transformSync`; the bool says whether it returned or threw the object."""
        result = self._move_stack(self._store, -16)
        self._transform(self._store, result, self.add(source), self.add(options))
        returned, thrown, failed = struct.unpack("<III", self._read(result, 12))
        self._move_stack(self._store, 16)
        if self.failure is not None:
            raise EraserBrokenError(self.failure)
        return not failed, self.take(thrown if failed else returned)

    def fail(self, fact: str) -> None:
        """Write down the first failure; the wasm traps at its next step."""
        self.failure = self.failure or fact
        self._store.set_epoch_deadline(0)

    def add(self, value: object) -> int:
        """Give `value` a slot."""
        if self._free:
            slot = self._free.pop()
            self._slots[slot] = value
            return slot
        self._slots.append(value)
        return len(self._slots) - 1

    def get(self, slot: int) -> Any:
        """The value in a slot; Any, since JavaScript is not typed either."""
        return self._slots[slot]

    def drop(self, slot: int) -> None:
        """Free a slot."""
        if slot >= _FIRST_FREE:
            self._slots[slot] = UNDEFINED
            self._free.append(slot)

    def take(self, slot: int) -> Any:
        """The value in a slot, which is freed."""
        value = self._slots[slot]
        self.drop(slot)
        return value

    def text(self, pointer: int, size: int) -> str:
        """A string in the memory of the wasm."""
        return self._read(pointer, size).decode()

    def write(self, pointer: int, layout: str, *values: float) -> None:
        """Write numbers into the memory of the wasm."""
        self._memory.write(self._store, struct.pack(layout, *values), pointer & _U32)

    def write_text(self, pointer: int, text: str | None) -> None:
        """Copy a string into the wasm and write its place and size; both 0 for None."""
        if text is None:
            self.write(pointer, "<II", 0, 0)
            return
        encoded = text.encode()
        place = self._malloc(self._store, len(encoded), 1) & _U32
        self._memory.write(self._store, encoded, place)
        self.write(pointer, "<II", place, len(encoded))

    def _read(self, pointer: int, size: int) -> bytes:
        start = pointer & _U32
        return bytes(self._memory.read(self._store, start, start + (size & _U32)))


def _is_number(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool)


def _number_get(on: Conversation, pointer: int, slot: int) -> None:
    value = on.get(slot)
    known = _is_number(value)
    on.write(pointer, "<IId", known, 0, float(value) if known else 0.0)


def _string_get(on: Conversation, pointer: int, slot: int) -> None:
    value = on.get(slot)
    on.write_text(pointer, value if isinstance(value, str) else None)


def _boolean_get(on: Conversation, slot: int) -> int:
    value = on.get(slot)
    return int(value) if isinstance(value, bool) else 2


def _is_falsy(on: Conversation, slot: int) -> int:
    value = on.get(slot)
    return value is UNDEFINED or not (value or isinstance(value, dict | list))


def _loose_eq(on: Conversation, left: int, right: int) -> int:
    one, other = on.get(left), on.get(right)
    absent = (None, UNDEFINED)
    return one is other or (one in absent and other in absent)


def _set_property(on: Conversation, target: int, key: int, value: int) -> None:
    on.get(target)[on.take(key)] = on.take(value)


def _get_property(on: Conversation, slot: int, key: int) -> int:
    return on.add(on.get(slot).get(on.get(key), UNDEFINED))


def _entries(on: Conversation, slot: int) -> int:
    return on.add([list(entry) for entry in on.get(slot).items()])


def _throw(on: Conversation, pointer: int, size: int) -> None:
    on.fail(on.text(pointer, size))


# By stem: the name without the hash that a build of wasm-bindgen adds to `__wbg_` names.
_BY_STEM: dict[str, Callable[..., Any]] = {
    "__wbg_entries": _entries,
    "__wbg_getwithrefkey": _get_property,
    "__wbg_iterator": lambda on: on.add(_Symbol.ITERATOR),
    "__wbg_length": lambda on, slot: len(on.get(slot)),
    "__wbindgen_boolean_get": _boolean_get,
    "__wbindgen_error_new": lambda on, pointer, size: on.add({"message": on.text(pointer, size)}),
    "__wbindgen_in": lambda on, key, slot: on.get(key) in on.get(slot),
    "__wbindgen_is_bigint": lambda _on, _slot: 0,
    "__wbindgen_is_falsy": _is_falsy,
    "__wbindgen_is_function": lambda _on, _slot: 0,
    "__wbindgen_is_object": lambda on, slot: isinstance(on.get(slot), dict | list),
    "__wbindgen_is_string": lambda on, slot: isinstance(on.get(slot), str),
    "__wbindgen_is_undefined": lambda on, slot: on.get(slot) is UNDEFINED,
    "__wbindgen_jsval_loose_eq": _loose_eq,
    "__wbindgen_number_get": _number_get,
    "__wbindgen_number_new": lambda on, number: on.add(number),
    "__wbindgen_object_clone_ref": lambda on, slot: on.add(on.get(slot)),
    "__wbindgen_object_drop_ref": lambda on, slot: on.drop(slot),
    "__wbindgen_string_get": _string_get,
    "__wbindgen_string_new": lambda on, pointer, size: on.add(on.text(pointer, size)),
    "__wbindgen_throw": _throw,
}

# Where one stem and arity has several meanings, the hash tells them apart (swc 1.16.2).
_BY_NAME: dict[str, Callable[..., Any]] = {
    "__wbg_get_67b2ba62fc30de12": _get_property,
    "__wbg_get_b9b93047fe3cf45b": lambda on, slot, index: on.add(on.get(slot)[index]),
    "__wbg_new_405e22f390576ce2": lambda on: on.add({}),
    "__wbg_set_3f1d0b984ed272ed": _set_property,
}


class Glue:
    """The imports, linked once; conversations of several threads go through it at a time."""

    def __init__(self, engine: wasmtime.Engine, module: wasmtime.Module) -> None:
        """Link every import of `module`.

        Raises:
            EraserBrokenError: a name that erasing cannot do without is missing, so this is another
                build than the one this file was written for.
        """
        self._current = local()
        self._numbers = [wasmtime.Val.i32(number) for number in range(_PREPARED)]
        missing = _missing(module)
        if missing:
            raise _other_build(missing)
        linker = wasmtime.Linker(engine)
        for entry in module.imports:
            name, kind = entry.name or "", entry.type
            if isinstance(kind, wasmtime.FuncType):
                linker.define_func(entry.module, name, kind, self._import(name, kind))
        self._linked = linker.instantiate_pre(module)

    def converse(self, store: wasmtime.Store) -> Conversation:
        """A fresh instance in `store`, whose imports answer on this thread."""
        conversation = Conversation(store, self._linked.instantiate(store))
        self._current.conversation = conversation
        return conversation

    def end(self) -> None:
        """Forget the conversation of this thread."""
        self._current.conversation = None

    def _import(self, name: str, kind: wasmtime.FuncType) -> Callable[..., wasmtime.Val | None]:
        answer = _BY_NAME.get(name) or _BY_STEM.get(_stem(name)) or _not_supplied(name)
        current, numbers, returns = self._current, self._numbers, bool(kind.results)

        def value(result: int) -> wasmtime.Val | None:
            if not returns:
                return None
            return numbers[result] if result < _PREPARED else wasmtime.Val.i32(result)

        def call(*arguments: float) -> wasmtime.Val | None:
            on: Conversation = current.conversation
            try:
                return value(answer(on, *arguments))
            except Exception as error:  # noqa: BLE001  # see the top of this file
                on.fail(f"{name}: {type(error).__name__}")
                return value(0)

        return call


def _not_supplied(name: str) -> Callable[..., int]:
    def answer(on: Conversation, *_arguments: float) -> int:
        on.fail(f"import not supplied: {name}")
        return 0

    return answer


def _missing(module: wasmtime.Module) -> set[str]:
    """What this file needs to find, and what it would answer with the wrong type."""
    functions = {
        entry.name or "": entry.type
        for entry in module.imports
        if isinstance(entry.type, wasmtime.FuncType)
    }
    found = {entry.name for entry in module.exports} | functions.keys()
    found.update(map(_stem, functions))
    odd = {name for name, kind in functions.items() if _results(kind) not in ([], ["i32"])}
    return (_BY_STEM.keys() | _BY_NAME.keys() | _EXPORTS) - found | odd


def _results(kind: wasmtime.FuncType) -> list[str]:
    return [str(result) for result in kind.results]


def _other_build(missing: Iterable[str]) -> EraserBrokenError:
    return EraserBrokenError("not in this build: " + ", ".join(sorted(missing)))


def _stem(name: str) -> str:
    return name.rpartition("_")[0] if name.startswith("__wbg_") else name
