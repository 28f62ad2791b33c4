"""What of a server's tools is pinned, what counts as a change, and what may be shown meanwhile."""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.loader.pins import PinsDamagedError, PinStore, ServerPins, difference_lines
from pml.loader.pins.differing import MOST_CHARACTERS
from pml.loader.pins.errors import PinsUnwritableError
from pml.loader.pins.store import MOST_BYTES
from pml.loader.pins.values import changes_of, pins_of, shown
from pml.model import Listing, Tool

KEY = b"k" * 32
SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
READ = {"name": "read", "description": "Reads.", "inputSchema": SCHEMA}
LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
JSON = st.recursive(
    LEAF,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
DEFINITIONS = st.dictionaries(st.text(max_size=6), JSON, max_size=4).map(lambda d: {**d, **READ})


def listing(*definitions: Mapping[str, Any]) -> Listing:
    return Listing(tuple(Tool("notes", one["name"], one) for one in definitions))


def turned(value: Any) -> Any:
    """The same JSON, its keys in another order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(one) for one in value] if isinstance(value, list) else value


class Shelf:
    """The pins of one server, as a gateway has them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "pins"
        self.store = PinStore(self.folder, KEY)
        self.identity = "notes 1"
        self.noted: list[str] = []

    def pins(self, *, frozen: bool = False) -> ServerPins:
        return ServerPins(
            self.store, "notes", lambda: self.identity, now=lambda: "2026-01-07T12:00:00Z",
            noted=lambda event, _: self.noted.append(event), frozen=frozen,
        )  # fmt: skip

    @property
    def file(self) -> Path:
        [path] = self.folder.glob("*.json")
        return path


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@given(DEFINITIONS)
def test_the_order_of_keys_is_no_change(definition: dict[str, Any]) -> None:
    pins = pins_of(listing(definition), "id", "now")
    assert changes_of(listing(turned(definition)), pins) == {}


@given(DEFINITIONS, DEFINITIONS)
def test_any_other_definition_is_a_change_with_lines_that_tell_of_it(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    changes = changes_of(listing(new), pins_of(listing(old), "id", "now"))
    is_same = json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
    assert (changes == {}) is is_same
    assert (difference_lines(old, new) == []) is is_same


@given(DEFINITIONS, st.text(min_size=12, max_size=40))
def test_no_word_that_is_not_pinned_is_shown(old: dict[str, Any], secret: str) -> None:
    old = {**old, "description": "Reads."}
    new = {**old, "description": f"x{secret}x", "title": f"x{secret}x"}
    late = {**new, "name": "late", "inputSchema": {**SCHEMA, "description": f"x{secret}x"}}
    now = listing(new, late)
    pins = pins_of(listing(old), "id", "now")
    seen = shown(now, changes_of(now, pins))
    assert [tool.name for tool in seen.tools] == ["read", "late"]
    assert f"x{secret}x" not in json.dumps([dict(tool.definition) for tool in seen.tools])


def test_of_a_tool_that_came_later_only_plain_parameters_are_shown() -> None:
    properties = {
        "id": {"type": "string", "enum": ["obey"], "description": "obey"},
        "obey me now": {"type": "string"},
        "any": {"type": ["string", "obey"]},
        "odd": True,
        **{f"more{count}": {"type": "null"} for count in range(50)},
    }
    late = {"name": "late", "inputSchema": {"type": "object", "properties": properties}}
    now = listing(READ, late)
    [_, tool] = shown(now, changes_of(now, pins_of(listing(READ), "id", "now"))).tools
    assert tool.input_schema["properties"]["id"] == {"type": "string"}
    assert "obey" not in json.dumps(dict(tool.definition))
    assert len(tool.input_schema["properties"]) < 30


def test_lines_for_people_are_bounded_and_say_what_they_leave_out() -> None:
    old = {"inputSchema": {"properties": {f"p{n}": {"description": "a"} for n in range(500)}}}
    new = copy.deepcopy(old)
    for schema in new["inputSchema"]["properties"].values():
        schema["description"] = "b" * 5000
    new["description"] = "first of all"
    lines = difference_lines(old, new)
    assert sum(map(len, lines)) < MOST_CHARACTERS + 5000
    assert lines[:2] == ["description", '  now  "first of all"']
    assert lines[-1].startswith("and 49")
    assert "more characters)" in lines[4]


def test_a_difference_deep_in_a_long_text_is_what_is_shown() -> None:
    old = {"description": "a" * 9000 + "b"}
    [_, was, now] = difference_lines(old, {"description": "a" * 9000 + "c"})
    assert was.endswith('b"')
    assert now.endswith('c"')


def test_a_server_is_pinned_once_and_a_yes_changes_one_tool(shelf: Shelf) -> None:
    assert shelf.pins().look(listing(READ)).changes == {}
    now = listing({**READ, "title": "x"}, {**READ, "name": "late"})
    look = shelf.pins().look(now)
    assert set(look.changes) == {"read", "late"}
    shelf.pins().accept(look.changes["read"])
    assert not shelf.pins().is_current(look)
    assert set(shelf.pins().look(now).changes) == {"late"}
    assert shelf.noted == ["server_pinned", "tool_pinned"]


def test_a_tool_that_is_gone_needs_nothing_and_keeps_its_pin(shelf: Shelf) -> None:
    both = listing(READ, {**READ, "name": "other"})
    shelf.pins().look(both)
    assert shelf.pins().look(listing(READ)).changes == {}
    again = listing(READ, {**READ, "name": "other", "title": "x"})
    assert shelf.pins().look(again).changes["other"].pin is not None


def test_a_list_without_tools_pins_nothing(shelf: Shelf) -> None:
    shelf.pins().look(Listing())
    assert shelf.pins().look(listing(READ)).changes == {}


def test_another_server_of_the_name_is_pinned_anew(shelf: Shelf) -> None:
    shelf.pins().look(listing(READ))
    shelf.identity = "notes 2"
    other = listing({**READ, "title": "x"})
    assert shelf.pins().look(other).changes == {}
    shelf.identity = "notes 1"
    assert shelf.pins().look(listing(READ)).changes == {}


def test_frozen_nothing_is_pinned_and_nothing_counts_as_pinned(shelf: Shelf) -> None:
    look = shelf.pins(frozen=True).look(listing(READ))
    assert look.changes["read"].since is None
    assert not shelf.folder.exists()


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(bytes(content))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _of_another_key(path: Path) -> None:
    other = PinStore(path.parent, b"x" * 32)
    path.unlink()
    other.update("notes", lambda _: pins_of(listing(READ), "notes 1", "now"))


def _of_another_server(path: Path) -> None:
    store = PinStore(path.parent, KEY)
    store.update("evil", lambda _: pins_of(listing(READ), "notes 1", "now"))
    [other] = [one for one in path.parent.glob("*.json") if one != path]
    other.replace(path)


def _huge(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(MOST_BYTES + 1)


@pytest.mark.parametrize(
    "damage", [_flip, _cut, _empty, _of_another_key, _of_another_server, _huge]
)
def test_pins_that_we_did_not_write_so_are_an_error_never_nothing(
    shelf: Shelf, damage: Callable[[Path], None]
) -> None:
    shelf.pins().look(listing(READ))
    damage(shelf.file)
    with pytest.raises(PinsDamagedError):
        shelf.pins().look(listing({**READ, "title": "x"}))


def test_what_cannot_be_written_down_is_not_taken(shelf: Shelf) -> None:
    big = {**READ, "title": "x" * MOST_BYTES}
    with pytest.raises(PinsUnwritableError, match="20 MiB"):
        shelf.pins().look(listing(big))
    assert list(shelf.folder.glob("*.json")) == []
