import base64
import json
import string
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pml.redaction import Redactor

TOKEN = "s3cr3t/with+odd=chars"
MASK = "[secret TOKEN]"

texts = st.text(max_size=30)
values = st.one_of(
    st.text(
        alphabet=string.ascii_letters + string.digits + '+/=_-%\\" &?', min_size=6, max_size=50
    ),
    st.text(min_size=6, max_size=20),
)


def _base64(value: str, before: bytes, after: bytes) -> bytes:
    return base64.b64encode(before + value.encode(errors="surrogatepass") + after)


def _partly(value: str, every: list[bool]) -> str:
    """Percent-encode some characters, as a browser or a person may."""
    return "".join(
        "".join(f"%{byte:02x}" for byte in c.encode(errors="surrogatepass")) if hit else c
        for c, hit in zip(value, every * len(value), strict=False)
    )


@given(
    value=values, before=texts, after=texts, around=st.binary(max_size=4), tail=st.binary(max_size=4),
    parts=st.lists(st.booleans(), min_size=1, max_size=7),
)  # fmt: skip
@example("secret", "", "", b"", b"", [True])
@example("[secret", "", "", b"", b"", [True])
@example("aaaaaa", "a", "aaaaa", b"a", b"a", [True, False])
@example("%41%41%41", "", "", b"", b"", [True, False])
@example("TOKEN]", "", "", b"", b"", [True])
def test_no_form_of_a_known_secret_survives(
    value: str, before: str, after: str, around: bytes, tail: bytes, parts: list[bool]
) -> None:
    raw = value.encode(errors="surrogatepass")
    encoded = _base64(value, around, tail)
    ways = {
        "as it is": value,
        "base64": encoded.decode(),
        "url-safe base64": encoded.decode().translate(str.maketrans("+/", "-_")),
        "base64 in a URL": quote(encoded, safe=""),
        "hex": raw.hex(),
        "HEX": raw.hex().upper(),
        "JSON": json.dumps(value)[1:-1],
        "JSON, not ASCII": json.dumps(value, ensure_ascii=False)[1:-1],
        "JSON in JSON": json.dumps(json.dumps(value))[1:-1],
        "URL": quote(raw, safe=""),
        "form": quote_plus(raw),
        "partly URL": _partly(value, parts),
    }
    redactor = Redactor({"TOKEN": value})
    for name, form in ways.items():
        shown = redactor.text(f"{before}{form}{after}")
        assert value not in shown, name
        assert form not in shown or len(form) < len(value), name
        assert redactor.value({form: [form]}) != {form: [form]}, name


@given(st.dictionaries(st.text(max_size=8), values, max_size=5), texts)
def test_text_without_secrets_is_left_as_it_is(secrets: dict[str, str], text: str) -> None:
    redactor = Redactor({name: f"\0{value}\0" for name, value in secrets.items()})
    assert redactor.text(text) == text
    assert redactor.value({text: [text, 1, None, 2.5, True]}) == {text: [text, 1, None, 2.5, True]}


@given(st.lists(values, min_size=2, max_size=4), st.lists(st.integers(0, 3), max_size=12))
def test_secrets_that_overlap_are_all_gone(secrets: list[str], order: list[int]) -> None:
    redactor = Redactor({f"S{number}": value for number, value in enumerate(secrets)})
    shown = redactor.text("".join(secrets[number % len(secrets)] for number in order))
    for value in secrets:
        assert value not in shown


def test_the_longest_secret_is_masked_first() -> None:
    redactor = Redactor({"SHORT": "abcdef", "LONG": "abcdefghij"})
    assert redactor.text("abcdefghij abcdef") == "[secret LONG] [secret SHORT]"


@pytest.mark.parametrize(
    "form",
    [
        TOKEN,
        base64.b64encode(TOKEN.encode()).decode().rstrip("="),
        TOKEN.encode().hex(),
        quote(TOKEN, safe=""),
        quote(TOKEN),
        json.dumps(TOKEN)[1:-1].replace("/", "\\/"),
    ],
)
def test_a_form_is_replaced_by_the_name_of_the_secret(form: str) -> None:
    redactor = Redactor({"TOKEN": TOKEN})
    assert redactor.text(f"<{form}>") == f"<{MASK}>"
    assert redactor.value({form: [form, {"a": form}]}) == {MASK: [MASK, {"a": MASK}]}


def test_basic_authentication_is_masked_whatever_the_user_is_called() -> None:
    redactor = Redactor({"TOKEN": TOKEN})
    for user in ("", "a", "ab", "abc", "ada"):
        header = base64.b64encode(f"{user}:{TOKEN}".encode()).decode()
        assert MASK in redactor.text(f"Authorization: Basic {header}")


def test_a_short_value_is_masked_only_where_it_stands_alone() -> None:
    redactor = Redactor({"PIN": "1234", "MODE": "dev"})
    assert redactor.text("1234") == "[secret PIN]"
    assert redactor.text("device 12345") == "device 12345"
    assert redactor.value({"pin": 1234, "n": 12345}) == {"pin": "[secret PIN]", "n": 12345}


def test_a_secret_that_came_back_as_a_number_is_masked() -> None:
    redactor = Redactor({"CODE": "987654321"})
    assert redactor.value([987654321, 1.5, True]) == ["[secret CODE]", 1.5, True]


def test_a_value_with_a_line_break_is_masked_without_it_too() -> None:
    assert Redactor({"TOKEN": "abcdef123\n"}).text("abcdef123") == MASK


def test_an_empty_value_masks_nothing() -> None:
    assert Redactor({"EMPTY": "", "BLANK": " \n"}).text("a b") == "a b"


def test_what_is_no_json_is_masked_as_text() -> None:
    redactor = Redactor({"TOKEN": TOKEN, "CODE": "987654321"})
    masked = redactor.value(
        {"path": Path(f"/x/{TOKEN}"), 987654321: 1, "error": ValueError(TOKEN)}
    )
    assert masked == {"path": f"/x/{MASK}", "[secret CODE]": 1, "error": MASK}


@pytest.mark.parametrize(
    "mark", ["\\", "%", "%5c", "\\u005c", "\\\\n", "/", "-eyJ", "Bearer ", "A_", "+"]
)
@pytest.mark.parametrize(
    "value", [TOKEN, "a\\\\\\\\\\\\b", "C:\\dir\\key", "%%%%%%%%", "      x", "////////////"]
)
def test_a_hostile_text_takes_no_time(mark: str, value: str) -> None:
    # a pattern that goes back over what it has read would take hours here
    text = mark * 50_000
    shown = Redactor({"S": value}, shapes=True).text(f"{text}{value} {text}")
    assert f"{value} " not in shown


def test_the_redactor_does_not_show_its_secrets() -> None:
    redactor = Redactor({"TOKEN": TOKEN})
    assert TOKEN not in f"{redactor!r}{redactor}"


SHAPES: list[tuple[str, Callable[[str], str]]] = [
    ("sk-ant-api03-abcdefghijklmnopqrstuvwxyz", lambda token: token),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", lambda token: f"token={token};"),
    ("AKIAIOSFODNN7EXAMPLE", lambda token: f'"{token}"'),
    ("abc.def-123~456+789/=", lambda token: f"Authorization: Bearer {token}"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", lambda token: token),
    ("wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY", lambda token: f"aws_secret_access_key = {token}"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", lambda token: token),
]


@pytest.mark.parametrize(("token", "around"), SHAPES)
def test_tokens_of_a_known_shape_are_masked_in_logs_only(
    token: str, around: Callable[[str], str]
) -> None:
    text = around(token)
    assert token not in Redactor({}, shapes=True).text(text)
    assert Redactor({}).text(text) == text


@pytest.mark.parametrize(
    "text",
    ["hexa-decimal", "the bearer of news", "a task-runner", "ask-anthropic", "sk-learn", "ghost_town",
     "author: me", "tokens_used: 12", "keyboard", "https://example.com/a?b=c"],
)  # fmt: skip
def test_words_that_only_resemble_tokens_stay(text: str) -> None:
    assert Redactor({}, shapes=True).text(text) == text


def test_what_is_learnt_later_is_masked_and_what_was_known_stays_so() -> None:
    redactor = Redactor({"API_KEY": "first-key-4711"})
    redactor.learn({"API_KEY": "second-key-0815"})
    shown = redactor.text("first-key-4711 second-key-0815")
    assert "key-4711" not in shown
    assert "key-0815" not in shown
