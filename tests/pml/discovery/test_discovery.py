"""Finding tools by words, and telling them: untrusted definitions in, bounded TypeScript out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pml.discovery import ListingStore, ToolIndex, Wanted, answered, declaration, find
from pml.discovery.answer import MOST_ANSWER_CHARACTERS
from pml.model import Listing, Tool
from sandbox_host.engine.runtime import shared_runtimes
from sandbox_host.programs import Erasers

KEY = b"k" * 32


def tool(name: str, description: str = "", server: str = "s", **schema: Any) -> Tool:
    given = {"type": "object", **schema}
    return Tool(server, name, {"name": name, "description": description, "inputSchema": given})


FILES = [
    tool("read_text_file", "Read the complete contents of a file as text", "filesystem",
         properties={"path": {"type": "string", "description": "Where"}}, required=["path"]),
    tool("delete_file", "Remove a file for good", "filesystem"),
    tool("create_issue", "Open a new issue in a repository", "github"),
    tool("list-events", "Upcoming meetings of a calendar", "cal.endar"),
]  # fmt: skip


@pytest.fixture
def index() -> ToolIndex:
    made = ToolIndex()
    for server in {one.server for one in FILES}:
        made.update(server, [one for one in FILES if one.server == server])
    return made


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("read a file", "filesystem:read_text_file"),
        ("remove a document", "filesystem:delete_file"),
        ("file a bug in the repository", "github:create_issue"),
        ("upcoming meetings", "cal.endar:list-events"),
        ("readTextFile", "filesystem:read_text_file"),
    ],
)
def test_words_find_the_tool(index: ToolIndex, query: str, expected: str) -> None:
    found = find(index, Wanted(query))
    assert expected in [hit.tool.id for hit in found.hits[:3]]


@pytest.mark.parametrize(
    "name", ["github:create_issue", "github__create_issue", "mcp.github.create_issue"]
)
def test_a_tool_is_found_by_any_of_its_names(index: ToolIndex, name: str) -> None:
    [hit] = find(index, Wanted(name=name)).hits
    assert hit.tool.id == "github:create_issue"


@given(st.text(max_size=60) | st.sampled_from(['"', "a AND", "NEAR(a b)", "name:x", "*", "a* OR (", "\0"]))  # fmt: skip
def test_no_query_is_an_error(query: str) -> None:
    """Attack: the syntax of the search engine inside a model's words."""
    with ToolIndex() as made:
        made.update("filesystem", FILES[:2])
        assert len(find(made, Wanted(query)).hits) <= 8


def test_what_is_not_visible_is_neither_found_nor_counted_nor_hinted_at(index: ToolIndex) -> None:
    def visible(one: Tool) -> bool:
        return one.server != "github"

    for wanted in (
        Wanted("create issue"),
        Wanted(name="github:create_issue"),
        Wanted(pattern="*"),
    ):
        found = find(index, wanted, visible=visible)
        said = json.dumps(answered(wanted, found).facts) + answered(wanted, found).text
        assert "github" not in said.replace("nothing fits `github:create_issue`", "")


def test_a_server_that_lists_anew_replaces_its_tools(index: ToolIndex) -> None:
    index.update("github", [tool("close_issue", server="github")])
    assert [one.id for one in index.by_pattern("github:*")] == ["github:close_issue"]
    index.remove("github")
    assert index.by_pattern("github:*") == []


def test_a_declaration_can_be_pasted_into_a_program() -> None:
    text = declaration(FILES[0])
    assert "filesystem" in text
    assert re.search(r"read_text_file\(args: \{[^}]*path: string", text, re.DOTALL)
    assert "Read the complete contents" in text


@pytest.mark.parametrize(
    "words",
    [
        "ends */ process.exit() /*",
        "a\nb\r\nc",
        "\u202egnp.exe",
        "\u200b\U000e0041hidden",
        "\x1b[31m",
    ],
)
def test_a_description_cannot_leave_its_comment_nor_hide(words: str) -> None:
    """Attack: a server's words become code, or say what a human does not see."""
    text = declaration(tool("x", words, properties={"a": {"description": words}}))
    outside = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    assert "process.exit" not in outside
    assert all(c.isprintable() or c == "\n" for c in text)


HOSTILE = ["*/", 'a"b', "a`b", "${x}", "\\", "}; evil(); ({", "\u2028", "\u202e", "async"]


async def test_a_hostile_definition_is_erased_to_nothing() -> None:
    """Attack: names, keys, literals and words of a server run when a model pastes its declaration."""
    erasers = Erasers(shared_runtimes().warm)
    for words in HOSTILE:
        shape = {words: {"enum": [words], "default": words, "format": words, "description": words}}
        made = tool(words, words, server=words, properties=shape, required=[words])
        erased = await erasers.erase(f"{declaration(made)}\nreturn 1", 1 << 20)
        assert erased.code.split() == ["return", "1"]


@pytest.mark.parametrize(
    ("schema", "note"),
    [
        ({"minimum": 1, "maximum": 25}, "1 to 25."),
        ({"minimum": 0, "maximum": 2**53 - 1}, "At least 0."),
        ({"maximum": 9}, "At most 9."),
        ({"description": "How many", "minimum": 1}, "How many. At least 1."),
        ({"description": "How many.", "default": 3}, "How many. Default: 3"),
    ],
)
def test_a_parameter_says_what_its_type_does_not(schema: dict[str, Any], note: str) -> None:
    text = declaration(tool("x", properties={"n": {"type": "integer", **schema}}))
    assert f"/** {note} */" in text


@pytest.mark.parametrize("bound", [-(2**53) + 1, 2**53 - 1, True, "5", None, [1], 1e400])
def test_a_bound_that_nobody_chose_is_not_told(bound: Any) -> None:
    shape = {"n": {"type": "integer", "minimum": bound, "maximum": bound}}
    assert "/**" not in declaration(tool("x", properties=shape))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10)
    | st.sampled_from(["object", "array", "string", "#", "#/$defs/a", "*/"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["type", "properties", "items", "$ref", "$defs", "anyOf", "enum", "a", "*/"]),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=200)
@given(
    st.dictionaries(st.sampled_from(["properties", "anyOf", "$ref", "$defs", "required"]), JSON),
    JSON,
)
def test_any_schema_gives_one_declaration_that_stays_in_its_bounds(
    schema: dict[str, Any], output: Any
) -> None:
    made = Tool("s", "t", {"inputSchema": {"type": "object", **schema}, "outputSchema": output})
    text = declaration(made)
    assert len(text) < MOST_ANSWER_CHARACTERS
    outside = re.sub(r"/\*.*?\*/", "", re.sub(r'"(?:[^"\\]|\\.)*"', '""', text), flags=re.DOTALL)
    assert "*/" not in outside


def test_an_answer_is_bounded_and_says_what_it_leaves_out() -> None:
    many = [tool(f"t{n}", "word " * 400) for n in range(50)]
    with ToolIndex() as made:
        made.update("s", many)
        wanted = Wanted(pattern="s:*", limit=50)
        answer = answered(wanted, find(made, wanted))
    assert len(answer.text) < 2 * MOST_ANSWER_CHARACTERS
    assert answer.facts["total"] == 50
    assert answer.facts.get("leftOut", 0) == 50 - len(answer.facts["tools"])


def test_a_listing_is_kept_for_its_fingerprint_alone(tmp_path: Path) -> None:
    store = ListingStore(tmp_path / "tools", KEY)
    listing = Listing(tuple(FILES[:2]))
    assert store.load("filesystem", "f") is None
    store.save("filesystem", "f", listing)
    kept = ListingStore(tmp_path / "tools", KEY).load("filesystem", "f")
    assert kept is not None
    assert [one.definition for one in kept.tools] == [one.definition for one in listing.tools]
    assert store.load("filesystem", "other") is None
    assert ListingStore(tmp_path / "tools", b"x" * 32).load("filesystem", "f") is None


def test_a_damaged_listing_counts_as_absent(tmp_path: Path) -> None:
    """Attack: someone writes tools into the store."""
    store = ListingStore(tmp_path / "tools", KEY)
    store.save("s", "f", Listing((FILES[0],)))
    [file] = [path for path in (tmp_path / "tools").rglob("*") if path.is_file()]
    content = file.read_bytes()
    for damaged in (content[:-9], content.replace(b"read", b"evil"), b"", b"{}\n{}"):
        file.write_bytes(damaged)
        assert store.load("s", "f") is None
