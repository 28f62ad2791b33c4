"""Arguments beside a schema that a stranger wrote: right answers, and no way to hold us up."""

import socket
import sys
from typing import Any

import anyio
import anyio.to_thread
import pytest

from pml.backends.capability.arguments import MOST_STEPS, checker

PLAIN = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 1}},
    "required": ["n"],
}
CHOICE = {
    "type": "object",
    "properties": {"at": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/spot"}]}},
    "required": ["at"],
    "additionalProperties": False,
    "$defs": {"spot": {"type": "object", "required": ["x"], "properties": {"x": {"minimum": 0}}}},
}


@pytest.mark.parametrize(
    ("schema", "arguments", "words"),
    [
        (PLAIN, {"n": 1}, None),
        (PLAIN, {"n": 0}, "`n` must be at least 1"),
        (PLAIN, {}, "`n` is missing"),
        (CHOICE, {"at": "here"}, None),
        (CHOICE, {"at": {"x": 1}}, None),
        (CHOICE, {"at": {"x": -1}}, "`at`"),
        (CHOICE, {"at": {}}, "`at`"),
        (CHOICE, {}, "'at' is a required property"),
        (CHOICE, {"at": "here", "more": 1}, "'more' is not known"),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [{"x": 1}, {"x": 1}]}, "twice"),
        ({"properties": {"a": {"uniqueItems": True}}}, {"a": [1, "1"]}, None),
        ({"properties": {"a": {"minimum": 3}}}, {"a": "text"}, None),
        ({"properties": {"a": {"minimum": 3}}}, {"a": 2}, "`a`"),
        ({"additionalProperties": {"type": "string"}}, {"a": 1}, "`a`"),
        ({"$schema": "http://json-schema.org/draft-07/schema#",
          "properties": {"a": {"items": [{"type": "string"}]}}}, {"a": [1]}, "`a[0]`"),
        ({}, {"anything": 1}, None),
    ],
)  # fmt: skip
def test_the_first_thing_that_does_not_fit_is_named(
    schema: dict[str, Any], arguments: dict[str, Any], words: str | None
) -> None:
    found = checker(schema)(arguments)
    assert (found is None) if words is None else (found is not None and words in found), found


def test_a_plain_schema_needs_no_library() -> None:
    loaded = {
        name: sys.modules.pop(name) for name in [*sys.modules] if name.startswith("jsonschema")
    }
    try:
        assert checker(PLAIN)({"n": 1}) is None
        assert "jsonschema" not in sys.modules
    finally:
        sys.modules.update(loaded)


@pytest.mark.parametrize(
    "schema",
    [{"type": 7}, {"type": "nothing"}, {"properties": []}, {"required": "a"}, {"minimum": "1"},
     {"items": 7}, {"enum": 7}, {"anyOf": []}],
)  # fmt: skip
def test_what_is_no_schema_lets_nothing_pass(schema: dict[str, Any]) -> None:
    assert "cannot be used" in (checker(schema)({}) or "")


async def guarded(schema: dict[str, Any], arguments: dict[str, Any]) -> str | None:
    with anyio.fail_after(30):
        return await anyio.to_thread.run_sync(checker(schema), arguments)


async def test_choices_within_choices_are_cut_off() -> None:
    """Attack: 2 to the power of 60 ways through a schema of 3 KB."""
    steps: dict[str, Any] = {
        f"s{n}": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(60)
    }
    schema = {"$ref": "#/$defs/s0", "$defs": {**steps, "s60": False}}
    assert "takes too long" in (await guarded(schema, {}) or "")


async def test_a_schema_that_is_its_own_part_is_cut_off() -> None:
    assert "takes too long" in (await guarded({"$ref": "#"}, {}) or "")


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"pattern": "^(a+)+$"}}},
        {"patternProperties": {"^(a+)+$": {"type": "string"}}, "additionalProperties": False},
        {"patternProperties": {"^(a+)+$": {}}, "unevaluatedProperties": False},
        {"$ref": "#/enum/0", "enum": [{"properties": {"a": {"pattern": "^(a+)+$"}}}, {}]},
        {"propertyNames": {"pattern": "^(a+)+$"}},
    ],
)
async def test_a_pattern_that_explodes_is_never_searched(schema: dict[str, Any]) -> None:
    bad = "a" * 60 + "!"
    await guarded(schema, {"a": bad, bad: 1})


async def test_nothing_is_fetched_for_a_reference() -> None:
    """Attack: learn that, and from where, a capability is called."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        assert "refers to what is not in it" in (await guarded({"$ref": url}, {}) or "")
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_the_number_of_steps_is_bounded_by_the_schema_not_by_luck() -> None:
    schema = {"properties": {"a": {"items": {"anyOf": [{"type": "string"}]}}}}
    check = checker(schema)
    assert check({"a": ["x"] * (MOST_STEPS // 4)}) is None
    assert "takes too long" in (check({"a": ["x"] * MOST_STEPS}) or "")
