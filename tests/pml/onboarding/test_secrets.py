"""Which literal values move to `.env`: in doubt all do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.onboarding import secrets

GITHUB = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOG_LEVEL", "debug"), ("DEBUG", "true"), ("PORT", "8080"), ("AWS_REGION", "us-east-1"),
        ("BASE", "https://api.example.com/v1"), ("HOST", "localhost:8080"), ("TZ", "Europe/Paris"),
        ("DATA", "/home/ada/Project2024Backend/x"), ("MODEL", "gpt-4o-mini"), ("TOKEN", "${MINE}"),
        ("AUTH", "Bearer ${MINE}"), ("DB", "postgres://ada:${PASSWORD}@localhost/shop"), ("KEY", ""),
    ],
)  # fmt: skip
def test_what_surely_says_nothing_secret_stays(name: str, value: str) -> None:
    assert secrets.is_plain_value(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", "x"), ("PASSWORD", "1234"), ("X", GITHUB), ("X", "hunter2"),
        ("X", "letmein"), ("LOG_LEVEL", "A1b2C3d4E5"), ("DB", "postgres://ada:pw@localhost/shop"),
        ("URL", "https://hooks.example.com/T000/B000/abcd1234EFGH5678"), ("X", "${A:-hunter2}"),
        ("URL", "https://a.example/?k=v"), ("MONGO", "mongodb+srv://ada:pw@c.example"),
        ("X", "-----BEGIN PRIVATE KEY-----\nMII"), ("X", "${A}-hunter2"), ("X", "a=b"),
        ("HOST", "0123456789abcdef0123456789abcdef"),
    ],
)  # fmt: skip
def test_what_may_be_a_key_moves(name: str, value: str) -> None:
    assert not secrets.is_plain_value(name, value)


@pytest.mark.parametrize(
    "text",
    [
        "-y", "run", "@modelcontextprotocol/server-filesystem@2026.8.31", "--stdio", "${workspace}",
        "/Users/ada/Project2024Backend", "ghcr.io/github/github-mcp-server", "--log=debug",
        "https://mcp.example.com/mcp", "mcp-server-time", "--port",
    ],
)  # fmt: skip
def test_words_of_a_command_line_stay(text: str) -> None:
    assert secrets.is_plain_argument(text)


@pytest.mark.parametrize(
    "text",
    [
        GITHUB, "postgres://ada:pw@localhost/shop", "https://mcp.example.com/mcp?key=x",
        "export TOKEN=abc; run", "0123456789abcdef0123456789abcdef", "aB3dE6gH9",
        '{"apiKey": "x"}', "Authorization: Bearer abcdefgh12",
    ],
)  # fmt: skip
def test_arguments_that_show_a_sign_of_a_key_move(text: str) -> None:
    assert not secrets.is_plain_argument(text)


@given(st.sampled_from(["LOG_LEVEL", "X", "HOST", "URL"]), st.uuids().map(lambda one: one.hex))
def test_a_random_value_never_stays_whatever_its_name(name: str, value: str) -> None:
    if any(c.isalpha() for c in value) and any(c.isdigit() for c in value):
        assert not secrets.is_plain_value(name, value)
        assert not secrets.is_plain_argument(value)


@given(st.text(min_size=1).filter(lambda text: bool(secrets.literal(text))))
def test_a_value_with_the_name_of_a_key_stays_only_if_it_is_a_known_word(text: str) -> None:
    assert secrets.is_plain_value("API_KEY", text) == secrets.is_word(text)
