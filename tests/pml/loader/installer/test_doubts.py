import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.loader.installer import DoubtKind, Kind, doubts, look_alike, question_of, wanted_in

MEMORY = "@modelcontextprotocol/server-memory"


@pytest.mark.parametrize(
    "name",
    [
        "@modelcontextprotocol/server-memroy",
        "@modelcontextprotocol/server-mernory",
        "@modelcontextprotcol/server-memory",
        "@modelcontextprotocol/server-memory1",
        "@mode1contextprotoco1/server-memory",
        "modelcontextprotocol-server-memory",
        "@modelcontextprotocol/servermemory",
    ],
)
def test_a_name_that_looks_like_a_well_known_one_is_asked_about(name: str) -> None:
    assert look_alike(Kind.NPM, name) == MEMORY
    [doubt] = doubts(wanted_in(f"npx {name}@1.0.0"))
    assert doubt.kind is DoubtKind.LOOK_ALIKE
    assert f"`{MEMORY}`" in doubt.words


@pytest.mark.parametrize("name", ["mcp-server-tirne", "mcp-sever-time", "mcp-server_tlme"])
def test_so_are_those_of_the_other_registry(name: str) -> None:
    [doubt] = doubts(wanted_in(f"uvx {name}==1.0"))
    assert "`mcp-server-time`" in doubt.words


@pytest.mark.parametrize("name", [MEMORY, "lodash", "@acme/internal-db", "@playwright/mcp", "ms"])
def test_a_name_of_its_own_is_not(name: str) -> None:
    assert look_alike(Kind.NPM, name) is None


@pytest.mark.parametrize("text", ["npx acme", "npx acme@latest", "npx acme@^1", "uvx acme>=1"])
def test_what_is_not_one_version_is_asked_about(text: str) -> None:
    [doubt] = doubts(wanted_in(text))
    assert doubt.kind is DoubtKind.UNPINNED


def test_a_pinned_package_with_its_own_name_has_no_doubts() -> None:
    assert doubts(wanted_in("npx acme@1.0.0")) == ()


def test_the_question_names_server_and_version_as_the_requirement_has_it() -> None:
    asked = wanted_in("npx @mcp/server-memory@1.2.3")
    assert asked.exact is not None
    question = question_of("memory", asked, asked.exact)
    assert question.words == "Install memory@1.2.3?"
    assert question.facts()["package"] == "@mcp/server-memory"


@given(st.integers(0, len(MEMORY) - 1), st.sampled_from("abcxyz019-"))
def test_no_single_slip_goes_unseen(place: int, letter: str) -> None:
    slips = {
        MEMORY[:place] + MEMORY[place + 1 :],
        MEMORY[:place] + letter + MEMORY[place:],
        MEMORY[:place] + letter + MEMORY[place + 1 :],
        MEMORY[:place] + MEMORY[place : place + 2][::-1] + MEMORY[place + 2 :],
    }
    for name in slips - {MEMORY}:
        assert look_alike(Kind.NPM, name) is not None, name
