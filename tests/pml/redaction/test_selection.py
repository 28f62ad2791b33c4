import pytest

from pml.redaction import looks_secret, secrets_of


@pytest.mark.parametrize(
    "name",
    ["GITHUB_TOKEN", "OPENAI_API_KEY", "PASSWORD", "dbPassword", "X-Api-Key", "Authorization", "KEY",
     "AWS_SECRET_ACCESS_KEY", "apiKey", "APIKEY", "SESSION_COOKIE"],
)  # fmt: skip
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert looks_secret(name, "hunter2")


@pytest.mark.parametrize(
    ("name", "value"),
    [("AUTHOR", "Ada"), ("KEYBOARD", "qwerty"), ("KEY_FILE", "/home/ada/key"), ("HOME", "/home/ada"),
     ("DATABASE_HOST", "db-1.internal.example.com"), ("MODEL", "claude-sonnet-4-5-20250929"),
     ("MAX_TOKENS", "true"), ("USE_AUTH", "false"), ("PUBLIC_KEY", "ssh-ed25519 AAAA"), ("TOKEN", " "),
     ("BASE_URL", "https://api.example.com/v1"), ("PATH", "/usr/bin:/bin")],
)  # fmt: skip
def test_what_is_no_secret_stays_readable(name: str, value: str) -> None:
    assert not looks_secret(name, value)


def test_a_random_value_is_a_secret_whatever_it_is_called() -> None:
    assert looks_secret("THING", "ghp_abcdefghijklmnopqrstuvwxyz0123456789")
    assert looks_secret("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")


def test_two_keys_of_one_name_are_both_known() -> None:
    found = secrets_of({"TOKEN": "first-key"}, {"TOKEN": "other-key"}, {"TOKEN": "first-key"})
    assert found == {"TOKEN": "first-key", "TOKEN (2)": "other-key"}


def test_a_header_is_known_without_its_scheme_and_a_url_by_its_password() -> None:
    found = secrets_of(
        {"Authorization": "Bearer abc-123", "Accept": "text/html"},
        {"DATABASE_URL": "postgres://ada:pa%20ss@db/x", "LANG": "C"},
    )
    assert found == {"Authorization": "abc-123", "DATABASE_URL password": "pa ss"}
