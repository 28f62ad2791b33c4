"""The configured headers, and those that mirror a call."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.backends.errors import RemoteRefusedError
from pml.backends.http.headers import checked_headers, encoded, mark_fault, mirrored


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "secret\r\nX-Other: injected"},
        {"Authorization": "secret\nvalue"},
        {"Authorization": "secret\x00"},
        {"Authorization": "secrét"},
        {"Authorization": ""},
        {"Authorization": "  "},
        {"Author ization": "secret"},
        {"": "secret"},
        {"X\r\nY": "secret"},
        {"X:Y": "secret"},
        {"Host": "secret"},
        {"content-length": "3"},
        {"Transfer-Encoding": "chunked"},
        {"Connection": "upgrade"},
        {"Accept-Encoding": "gzip"},
        {"MCP-Session-Id": "secret"},
        {"Mcp-Param-Region": "secret"},
        {"Proxy-Authorization": "secret"},
        {"X-Key": "secret", "x-key": "secret"},
    ],
)
def test_a_header_that_could_change_the_request_is_refused_without_its_value(
    headers: dict[str, str],
) -> None:
    with pytest.raises(RemoteRefusedError) as caught:
        checked_headers("remote", headers)

    assert "secret" not in str(caught.value)


def test_good_headers_are_kept() -> None:
    headers = {"Authorization": " Bearer a.b-c ", "X-Key": "1", "Cookie": "a=b"}

    assert checked_headers("remote", headers) == (
        ("Authorization", "Bearer a.b-c"),
        ("X-Key", "1"),
        ("Cookie", "a=b"),
    )


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ],
)
def test_values_are_encoded_as_in_the_specification(value: str, header: str) -> None:
    assert encoded(value) == header


@given(st.text())
def test_an_encoded_value_is_safe_and_can_be_read_back(value: str) -> None:
    header = encoded(value)

    assert header.isascii()
    assert header == header.strip()
    assert not set(header) & set("\r\n\0")
    is_marked = header.startswith("=?base64?") and header.endswith("?=")
    assert (base64.b64decode(header[9:-2]).decode() if is_marked else header) == value


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def marked(name: object, kind: object = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def test_marked_arguments_are_mirrored() -> None:
    wanted = schema(
        region=marked("Region"),
        count=marked("Count", "integer"),
        dry=marked("Dry", "boolean"),
        inner=schema(deep=marked("Deep")),
        missing=marked("Missing"),
        nothing=marked("Nothing"),
        plain={"type": "string"},
    )
    arguments = {"region": "é", "count": -7, "dry": True, "inner": {"deep": "d"}, "nothing": None}

    assert mark_fault(wanted) is None
    assert dict(mirrored(wanted, {**arguments, "plain": "p"})) == {
        "Mcp-Param-Region": "=?base64?w6k=?=",
        "Mcp-Param-Count": "-7",
        "Mcp-Param-Dry": "true",
        "Mcp-Param-Deep": "d",
    }


@pytest.mark.parametrize("value", [2**53, {"a": 1}, [1], 1.5])
def test_a_value_that_no_header_can_carry_is_left_to_the_server(value: object) -> None:
    assert mirrored(schema(a=marked("A")), {"a": value}) == ()


@pytest.mark.parametrize(
    "wrong",
    [
        schema(a=marked("")),
        schema(a=marked("A\r\nHost")),
        schema(a=marked("A B")),
        schema(a=marked(7)),
        schema(a=marked("A", "number")),
        schema(a=marked("A", "object")),
        schema(a=marked("A", ["string"])),
        schema(a={"x-mcp-header": "A"}),
        schema(a=marked("A"), b=marked("a")),
        schema(a={"type": "array", "items": marked("A")}),
        schema(a={"anyOf": [marked("A")]}),
        {"type": "object", "$defs": {"a": marked("A")}},
        {"type": "object", "x-mcp-header": "A"},
    ],
)
def test_a_wrong_mark_is_found(wrong: dict[str, Any]) -> None:
    assert mark_fault(wrong) is not None


@pytest.mark.parametrize(
    "right",
    [
        {},
        schema(**{"x-mcp-header": {"type": "string"}}),
        schema(a={"type": "object", "default": {"x-mcp-header": "A"}}),
    ],
)
def test_what_only_looks_like_a_mark_is_none(right: dict[str, Any]) -> None:
    assert mark_fault(right) is None
