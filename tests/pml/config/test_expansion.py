"""Variables in text: what is filled in, what is missing, what is left as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.config.expansion import (
    Expansion,
    Missing,
    complaint,
    environment,
    escape,
    expand,
    is_placeholder,
    overlaid,
)

NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True)
TEXT = st.text(st.sampled_from("${}:-ab ") | st.characters(codec="utf-8"))


def expanded(text: str, **environ: str) -> Expansion:
    return expand(text, environment(environ, "/w"))


@given(TEXT)
def test_escaped_text_expands_to_itself(text: str) -> None:
    assert complaint(escape(text)) is None
    assert expanded(escape(text)) == Expansion(text)


@given(TEXT, NAMES, st.text(min_size=1), TEXT)
def test_a_value_is_put_in_as_it_is_and_not_looked_at_again(
    before: str, name: str, value: str, after: str
) -> None:
    def only(_: str) -> str:
        return value

    # a `$` right before would make `$${`
    text = f"{escape(before)} ${{{name}}}{escape(after)}"
    assert expand(text, only) == Expansion(f"{before} {value}{after}")


@given(TEXT)
def test_any_text_is_expanded_or_complained_about(text: str) -> None:
    if complaint(text) is None:
        assert isinstance(expanded(text), Expansion)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("${A}", "one"),
        ("x${A}y${B}z", "xoneytwoz"),
        ("${A:-other}", "one"),
        ("${NONE:-other}", "other"),
        ("${NONE:-}", ""),
        ("${EMPTY:-other}", "other"),
        ("${KEY:-other}", "other"),
        ("${NONE:-a:-b $ c}", "a:-b $ c"),
        ("${workspace}/x", "/w/x"),
        ("${workspaceFolder}", "/w"),
        ("$A $$ $ {A}", "$A $$ $ {A}"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
    ],
)
def test_forms(text: str, result: str) -> None:
    environ = {"A": "one", "B": "two", "EMPTY": "", "KEY": "your-key-here", "workspace": "/evil"}
    assert expanded(text, **environ) == Expansion(result)


def test_every_missing_variable_is_named_with_its_reason() -> None:
    found = expanded("${A}${B}${C}${D}", B="", C="xxx", D="there")
    assert found.missing == (
        Missing("A", "unset"), Missing("B", "empty"), Missing("C", "placeholder"),
    )  # fmt: skip
    assert found.text == "there"


@pytest.mark.parametrize(
    "text", ["${", "${}", "${A", "${1}", "${A-b}", "${A:-${B}}", "${env:A}", "${A }", "x${y"]
)
def test_a_dollar_brace_that_begins_no_variable_is_complained_about(text: str) -> None:
    assert complaint(text) is not None


@pytest.mark.parametrize(
    "value",
    [
        "xx", "XXXX", "your-key-here", "YOUR_API_KEY", "your-key", "<token>", "<>", "TODO", "todo",
        "CHANGE_ME", "changeme", "placeholder", "test-key", "fake-key", "example", "insert-here",
        "insert-key-here", "replace-me", "REPLACE_WITH_TOKEN", "Bearer <token>",
        "Bearer your-key-here", " xxx ", "your-secret-token",
    ],
)  # fmt: skip
def test_placeholders(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize(
    "value", ["x", "sk-ant-1", "yours", "example.com", "todo-list", "a<b>", "test", "", "key"]
)
def test_real_values_are_no_placeholders(value: str) -> None:
    assert not is_placeholder(value)


def test_an_env_block_goes_before_the_environment_and_reads_only_from_it() -> None:
    block = {"A": "${A}!", "B": "${A}", "C": "plain", "D": "${NONE}", "E": "TODO", "F": ""}
    look_up = overlaid(block, environment({"A": "outer", "C": "outer", "G": "only"}, "/w"))
    assert [look_up(name) for name in "ABCFG"] == ["outer!", "outer", "plain", "", "only"]
    assert look_up("D") == (Missing("NONE", "unset", through="D"),)
    assert look_up("E") == (Missing("E", "unfilled", through="E"),)


def test_an_env_block_cannot_move_the_workspace() -> None:
    look_up = overlaid({"workspace": "/evil"}, environment({}, "/w"))
    assert look_up("workspace") == "/w"
