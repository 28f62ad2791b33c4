"""What servers list, good and bad, and what becomes of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.backends.listing import (
    MOST_DEFINITION_BYTES,
    MOST_DEPTH,
    MOST_LISTING_BYTES,
    MOST_TOOLS,
    listing_of,
)
from pml.model import Listing, SkippedTool


def definition(name: object = "echo", **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def reason(listing: Listing) -> str:
    (skipped,) = listing.skipped
    assert not listing.tools
    return skipped.reason


def test_a_tool_is_kept_as_the_server_said_it() -> None:
    said = definition(
        description="Says it again.",
        inputSchema={"type": "object", "properties": {"text": {}}, "required": ["text"]},
        outputSchema={"type": "array"},
        annotations={"readOnlyHint": True},
        _meta={"any": [1, None]},
        unknown="kept",
    )

    (tool,) = listing_of("remote", [said]).tools

    assert (tool.id, tool.name, tool.server) == ("remote:echo", "echo", "remote")
    assert tool.definition == said


def test_an_empty_list_is_a_listing() -> None:
    assert listing_of("remote", []) == Listing()


def test_a_malformed_tool_costs_itself_and_no_other() -> None:
    listing = listing_of("remote", [definition("a"), {"name": "b"}, None, definition("c")])

    assert [tool.name for tool in listing.tools] == ["a", "c"]
    assert listing.skipped == (
        SkippedTool("remote", "b", "its inputSchema is not an object"),
        SkippedTool("remote", "#3", "its definition is not an object"),
    )


def test_a_missing_type_is_written_in() -> None:
    (tool,) = listing_of("remote", [definition(inputSchema={"properties": {"a": {}}})]).tools

    assert tool.input_schema == {"type": "object", "properties": {"a": {}}}


def test_repairing_leaves_the_servers_own_value_alone() -> None:
    said = definition(inputSchema={})

    listing_of("remote", [said])

    assert said == definition(inputSchema={})


@pytest.mark.parametrize(
    "kind", ["string", "array", None, ["object"], ["object", "null"], True, {}]
)
def test_a_type_other_than_object_is_skipped(kind: Any) -> None:
    listing = listing_of("remote", [definition(inputSchema={"type": kind})])

    assert reason(listing) == 'its inputSchema has a type other than "object"'


@pytest.mark.parametrize("schema", [None, [], True, "object", 1])
def test_a_schema_that_is_no_object_is_skipped(schema: Any) -> None:
    assert reason(listing_of("r", [definition(inputSchema=schema)])) == (
        "its inputSchema is not an object"
    )


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("properties", []),
        ("properties", None),
        ("required", {}),
        ("required", [1]),
        ("required", "a"),
    ],
)
def test_a_schema_with_a_part_of_the_wrong_shape_is_skipped(part: str, value: Any) -> None:
    said = definition(inputSchema={"type": "object", part: value})

    assert part in reason(listing_of("remote", [said]))


@pytest.mark.parametrize(
    "name", ["a", "a" * 128, "read_file", "dotted.name", "with space", "été", "then"]
)
def test_a_printable_name_is_kept(name: Any) -> None:
    assert [tool.name for tool in listing_of("remote", [definition(name)]).tools] == [name]


@pytest.mark.parametrize("name", [None, "", 7, ["echo"]])
def test_a_tool_without_a_name_is_named_by_its_place(name: Any) -> None:
    assert listing_of("remote", [definition(name)]).skipped == (
        SkippedTool("remote", "#1", "it has no name"),
    )


@pytest.mark.parametrize(
    "name",
    [
        "a\nb",
        "a\x00",
        "\x1b[2Jx",
        "a\x7f",
        "a\x85",
        "a:b",
        "a\u200bb",
        "a\u202eb",
        "a\U000e0041",
        "a\u2028",
    ],
)
def test_a_name_with_hidden_characters_or_a_colon_is_skipped_and_shown_escaped(name: Any) -> None:
    (skipped,) = listing_of("remote", [definition(name)]).skipped

    assert skipped.reason == "its name has characters that a name must not have"
    assert skipped.name.replace("\n", "").isprintable()


def test_an_endless_name_is_skipped_and_capped() -> None:
    (skipped,) = listing_of("remote", [definition("n" * 100_000)]).skipped

    assert "longer than 128" in skipped.reason
    assert len(skipped.name) < 200


def test_of_two_tools_with_one_name_the_first_is_kept() -> None:
    # The attack: a later definition takes the place of the one that the human approved.
    listing = listing_of("r", [definition(description="mine"), definition(description="theirs")])

    assert [tool.description for tool in listing.tools] == ["mine"]
    assert [tool.name for tool in listing.skipped] == ["echo"]


def test_a_skipped_tool_does_not_take_the_name_of_a_good_one() -> None:
    listing = listing_of("remote", [{"name": "echo"}, definition("echo")])

    assert [tool.name for tool in listing.tools] == ["echo"]


def test_a_huge_definition_is_skipped() -> None:
    listing = listing_of("remote", [definition(description="d" * MOST_DEFINITION_BYTES)])

    assert reason(listing) == "its definition is larger than 256 KiB"


def test_definitions_that_fill_the_listing_keep_later_ones_out() -> None:
    fat = "d" * (MOST_DEFINITION_BYTES - 1000)
    fitting = MOST_LISTING_BYTES // (MOST_DEFINITION_BYTES - 1000)
    listing = listing_of(
        "remote", [definition(f"tool{n}", description=fat) for n in range(fitting + 5)]
    )

    assert len(listing.tools) in {fitting, fitting - 1}
    assert "16 MiB" in listing.skipped[-1].reason


def test_more_tools_than_a_server_may_list_are_counted_and_not_kept() -> None:
    listing = listing_of("remote", [definition(f"tool{n}") for n in range(MOST_TOOLS + 3)])

    assert len(listing.tools) == MOST_TOOLS
    assert listing.skipped == (
        SkippedTool("remote", "#2001", "3 more than the 2000 tools that a server may list"),
    )


def test_a_flood_of_junk_is_summed_up() -> None:
    assert len(listing_of("remote", [0] * 1_000_000).skipped) == MOST_TOOLS + 1


@pytest.mark.parametrize(
    "text", ['{"x": NaN}', '{"x": -Infinity}', '{"x": "\\ud800"}', '{"\\udfff": 1}']
)
def test_what_python_reads_and_json_cannot_say_is_skipped(text: str) -> None:
    # Such a definition has no canonical form, so nothing could pin it.
    assert reason(listing_of("r", [definition(_meta=json.loads(text))])) == (
        "its definition is not JSON"
    )


def test_a_deeply_nested_definition_is_skipped() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]

    assert reason(listing_of("remote", [definition(_meta=deep)])) == "its definition is not JSON"


def test_a_definition_that_is_nested_too_deep_is_skipped() -> None:
    deep: Any = "leaf"
    for _ in range(MOST_DEPTH - 1):
        deep = [deep]
    assert listing_of("remote", [definition(_meta=deep)]).tools
    too_deep = listing_of("remote", [definition(_meta=[deep])])
    assert reason(too_deep) == f"its definition is nested more than {MOST_DEPTH} deep"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "name": JSON | st.sampled_from(["a", "b"]),
        "inputSchema": JSON | st.just({}) | st.fixed_dictionaries({"type": JSON}),
        "description": JSON,
    },
)


@given(st.lists(NEARLY | JSON, max_size=6))
def test_every_definition_is_either_a_callable_tool_or_skipped_with_a_reason(
    definitions: list[Any],
) -> None:
    listing = listing_of("remote", definitions)

    assert len(listing.tools) + len(listing.skipped) == len(definitions)
    assert len({tool.name for tool in listing.tools}) == len(listing.tools)
    for tool in listing.tools:
        assert tool.input_schema["type"] == "object"
        assert tool.name.isprintable()
        json.dumps(tool.definition, allow_nan=False, ensure_ascii=False).encode()
