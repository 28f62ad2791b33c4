"""What comes first: names, places, meaning, slips, and how much of a question a tool has."""

from typing import Any

import pytest

from pml.discovery import ToolIndex, Wanted, find
from pml.discovery.words import name_words, query_words, stem, words
from pml.model import Tool


def tool(tool_id: str, description: str = "", **properties: Any) -> Tool:
    server, _, name = tool_id.partition(":")
    schema = {"type": "object", "properties": properties}
    return Tool(server, name, {"name": name, "description": description, "inputSchema": schema})


def index_of(*tools: Tool) -> ToolIndex:
    made = ToolIndex()
    for server in dict.fromkeys(one.server for one in tools):
        made.update(server, [one for one in tools if one.server == server])
    return made


def ids(index: ToolIndex, query: str) -> list[str]:
    return [hit.tool.id for hit in find(index, Wanted(query)).hits]


SOME = index_of(
    tool("files:move_file", "Move or rename a file."),
    tool("files:read_file", "Read a file."),
    tool("redis:rename", "Renames a key."),
    tool("redis:expire", "Set an expiration time for a key."),
    tool("github:get_pull_request", "Get details of a pull request on GitHub."),
    tool("git:git_log", "Shows the commit logs."),
    tool("notes:append", "Adds a line. Use it for what was said in a meeting about invoices."),
    tool("shop:create_invoice", "Makes one."),
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("rename report.txt to final.txt", "files:move_file"),  # the name of a file means a file
        ("invoices", "shop:create_invoice"),  # a name says more than a description
        ("open the PR", "github:get_pull_request"),  # what is said in short
        ("commit history", "git:git_log"),  # what means the same
        ("expiring keys", "redis:expire"),  # another form of the word
        ("the invioce", "shop:create_invoice"),  # a slip
        ("invoi", "shop:create_invoice"),  # a beginning
        ("getPullRequest", "github:get_pull_request"),
        ("mcp.redis.expire", "redis:expire"),
    ],
)
def test_the_best_comes_first(query: str, expected: str) -> None:
    assert ids(SOME, query)[0] == expected


def test_a_tool_with_all_of_the_question_comes_before_one_with_a_part_in_a_better_place() -> None:
    index = index_of(
        tool("a:one", "Plum."),
        tool("b:two", "Does something. Takes a plum and a kiwi."),
        tool("c:three", "Does something. Kiwi."),
    )
    assert ids(index, "plum and kiwi")[0] == "b:two"


def test_a_server_that_is_named_comes_first_with_less() -> None:
    index = index_of(
        tool("files:rename", "Rename a file."),
        tool("redis:store", "Stores.", to={"type": "string", "description": "To rename it."}),
    )
    assert ids(index, "rename")[0] == "files:rename"
    assert ids(index, "rename in redis")[0] == "redis:store"


def test_a_server_with_a_common_word_for_a_name_is_not_meant_by_it() -> None:
    others = [tool(f"other:{n}_x", "Works with a file.") for n in range(9)]
    index = index_of(tool("file:change", "Changes. May rename."), tool("disk:rename"), *others)
    assert ids(index, "rename a file")[0] == "disk:rename"


def test_of_two_names_the_one_with_less_beside_the_question_comes_first() -> None:
    index = index_of(tool("a:diff_all_staged"), tool("b:diff"))
    assert ids(index, "a diff of my work")[0] == "b:diff"


def test_a_word_of_many_meanings_counts_once() -> None:
    index = index_of(tool("a:one", "Kiwi."), tool("b:two", "Add."))
    assert ids(index, "add a kiwi") == ["a:one", "b:two"]


def test_a_tool_is_found_by_its_id_though_its_words_say_nothing() -> None:
    index = index_of(tool("x:a"), tool("x:do_it"))
    assert ids(index, "x:do_it")[0] == "x:do_it"


def test_what_may_not_be_seen_takes_no_place() -> None:
    many = [tool(f"hidden:find_{n}", "Find a thing.") for n in range(300)]
    index = index_of(*many, tool("shown:find", "Find a thing."))
    found = find(index, Wanted("find a thing"), visible=lambda one: one.server == "shown")
    assert [hit.tool.id for hit in found.hits] == ["shown:find"]
    assert found.total == 1


def test_what_fits_far_less_than_the_best_does_not_fit() -> None:
    index = index_of(
        tool("a:expire_key", "Expire a key."),
        tool("b:other", "Does something.", name={"type": "string", "description": "of a key"}),
    )
    assert ids(index, "expire a key") == ["a:expire_key"]


def test_a_server_that_is_forgotten_leaves_no_word_behind() -> None:
    index = index_of(tool("a:zebra"), tool("b:horse"))
    index.remove("a")
    assert ids(index, "zebra") == []
    assert ids(index, "horse") == ["b:horse"]
    index.update("b", [])
    assert ids(index, "horse") == []
    assert len(index) == 0


@pytest.mark.parametrize(
    "forms",
    [
        ("commit", "commits", "committed", "committing"),
        ("create", "creates", "created", "creating", "creation"),
        ("query", "queries", "querying", "queried"),
        ("search", "searches", "searching"),
        ("visualise", "visualize", "visualizing"),
        ("slow", "slowly"),
    ],
)
def test_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize("pair", [("notion", "note"), ("string", "str"), ("redis", "red")])
def test_words_that_are_not_forms_of_another_keep_apart(pair: tuple[str, str]) -> None:
    assert stem(pair[0]) != stem(pair[1])


def test_a_brand_is_one_word_and_a_name_is_several() -> None:
    assert words("GitHub dryRun") == ["github", "dry", "run"]
    assert name_words("readTextFile_HTTPServer") == ["read", "text", "file", "http", "server"]


def test_a_query_gives_at_most_so_many_words() -> None:
    assert len(query_words(" ".join(f"word{n}" for n in range(500)))) == 24


def test_a_query_of_empty_words_alone_is_still_asked() -> None:
    assert query_words("what is it") == ["what", "is", "it"]
