"""Codex's file is TOML: our table comes, and no key, comment or byte of the rest goes."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.onboarding import codex
from pml.onboarding.errors import OnboardingError

FILE = Path("config.toml")
ENTRY = {"command": "pml", "args": ["stdio"]}

parts = st.lists(
    st.sampled_from([
        "# a comment, [mcp_servers]", "", "[profile.a]\nmodel = 'x' # why", "[[list]]\nx = 1",
        "[mcp_servers.time]\ncommand = 'x'\nargs = [\n  'a', # one\n]",
        "[mcp_servers.git.env]\nKEY = \"\"\"a\nb\"\"\"", "[mcp_servers]", "[\"mcp_servers\".'a b']\nurl = 'y'",
        "[tui]\r\nx = 1\r", "[mcp_servers.pmlx]\ncommand = 'z'",
    ]), unique=True,
)  # fmt: skip
tops = st.sampled_from(["", 'model = "o" # mine\n', 'mcp_servers = {a = {command = "x"}} # all\n'])


@given(tops, parts)
def test_our_table_comes_and_every_line_stays(top: str, rest: list[str]) -> None:
    text = top + "\n".join(rest) + "\n"
    try:
        was = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    try:
        after = codex.with_entry(text, ENTRY, FILE)
    except OnboardingError:
        return  # refused, and nothing is written
    servers = {**was.get("mcp_servers", {}), "pml": ENTRY}
    assert tomllib.loads(after) == {**was, "mcp_servers": servers}
    assert [line for line in text.split("\n") if line.strip() and line not in after] in (
        [], [top.rstrip("\n")],
    )  # fmt: skip
    for comment in ("# a comment, [mcp_servers]", "# why", "# one", "# mine", "# all"):
        assert after.count(comment) == text.count(comment)


@pytest.mark.parametrize("text", ["x = ", "mcp_servers = 1", "[a]\n[a]\n"])
def test_a_file_that_cannot_be_added_to_is_refused(text: str) -> None:
    with pytest.raises(OnboardingError):
        codex.present(text, FILE)
