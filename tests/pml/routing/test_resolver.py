"""Where a tool runs. The critical invariant: local execution never goes to the cloud."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.config.names import BUILTINS
from pml.routing import EMBEDDED, Routing, RoutingTable, RoutingWordError
from pml.routing.resolver import CLIENT_NAMESPACES

WORD = st.from_regex(r"[a-z][a-z0-9_-]{0,12}", fullmatch=True).filter(
    lambda text: "__" not in text
)
TOOL_ID = st.builds("{}:{}".format, WORD, WORD)
PATTERN = st.one_of(WORD, WORD.map("{}:*".format), TOOL_ID, st.just("*"), st.just("*:*"))


@pytest.mark.parametrize("tool", ["filesystem:read_file", "shell:exec", "sqlite:query", "git:log"])
def test_what_needs_the_users_files_runs_here(tool):
    assert EMBEDDED.of(tool) is Routing.CLIENT


@pytest.mark.parametrize("tool", ["tavily:search", "github:search", "slack:post", "pml:search"])
def test_what_speaks_to_other_machines_runs_at_the_cloud(tool):
    assert EMBEDDED.of(tool) is Routing.SERVER


@pytest.mark.parametrize("tool", ["nobody:knows", "", "x", "x:", ":y", "Tavily:search", "tavily"])
def test_what_is_unknown_or_no_tool_runs_here(tool):
    assert EMBEDDED.of(tool) is Routing.CLIENT


def test_agents_run_here_although_the_rest_of_their_server_does_not():
    assert EMBEDDED.of("std:agent_delegate") is Routing.CLIENT
    assert EMBEDDED.of("std:uuid") is Routing.SERVER


def test_the_narrowest_pattern_decides_and_of_equals_the_one_that_stays():
    table = RoutingTable(client=("a:read_*", "b", "c:x"), server=("a", "b:get", "c:x"))
    assert table.of("a:read_it") is Routing.CLIENT
    assert table.of("a:write") is Routing.SERVER
    assert table.of("b:get") is Routing.SERVER
    assert table.of("b:put") is Routing.CLIENT
    assert table.of("c:x") is Routing.CLIENT


def test_a_program_runs_at_the_cloud_only_if_all_its_tools_do():
    assert EMBEDDED.of_all(["tavily:search", "exa:search"]) is Routing.SERVER
    assert EMBEDDED.of_all(["tavily:search", "filesystem:read_file"]) is Routing.CLIENT
    assert EMBEDDED.of_all([]) is Routing.CLIENT


def test_local_and_cloud_are_read_as_client_and_server():
    assert [Routing.read(word) for word in ("client", "local")] == [Routing.CLIENT] * 2
    assert [Routing.read(word) for word in ("server", "cloud")] == [Routing.SERVER] * 2
    for word in ("", "Client", "edge", "\x1b"):
        with pytest.raises(RoutingWordError) as caught:
            Routing.read(word)
        assert "\x1b" not in caught.value.message


# --- for all tables --------------------------------------------------------------------------------


@given(
    TOOL_ID,
    st.lists(PATTERN, max_size=6),
    st.lists(PATTERN, max_size=6),
    st.sets(WORD, max_size=4),
)
def test_no_table_moves_a_configured_server_or_a_built_in(tool, client, server, configured):
    """Attack: a cloud that routes the user's own server to itself, to be sent its arguments."""
    namespace = tool.partition(":")[0]
    here = {*configured, namespace, *BUILTINS}
    table = RoutingTable(tuple(client), (*server, tool, namespace, "*")).keeping(here)
    assert table.of(tool) is Routing.CLIENT
    assert {table.of(f"{name}:any") for name in here} == {Routing.CLIENT}


@given(TOOL_ID, st.lists(PATTERN, max_size=6), st.lists(PATTERN, max_size=6))
def test_a_tool_leaves_only_by_a_pattern_that_speaks_of_it(tool, client, server):
    table = RoutingTable(tuple(client), tuple(server))
    if table.of(tool) is Routing.SERVER:
        namespace = tool.partition(":")[0]
        assert {tool, namespace, f"{namespace}:*", "*", "*:*"} & set(server)
        assert tool not in client


@given(st.lists(TOOL_ID, min_size=1, max_size=5))
def test_one_local_tool_keeps_the_whole_program_here(tools):
    expected = all(EMBEDDED.of(tool) is Routing.SERVER for tool in tools)
    assert (EMBEDDED.of_all(tools) is Routing.SERVER) is expected
    assert EMBEDDED.of_all([*tools, f"{CLIENT_NAMESPACES[0]}:x"]) is Routing.CLIENT
