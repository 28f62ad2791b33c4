"""One conversion of results for every backend."""

from typing import Any

import pytest

from pml.backends.results import value_of
from sandbox_host import ToolError


def text(words: Any) -> dict[str, Any]:
    return {"type": "text", "text": words}


IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("result", "value"),
    [
        ({"structuredContent": {"a": 1}, "content": [text("other")]}, {"a": 1}),
        ({"structuredContent": [1], "content": []}, [1]),
        ({"structuredContent": 0}, 0),
        ({"structuredContent": None, "content": [text("words")]}, "words"),
        ({"content": [text('{"a": [1]}')]}, {"a": [1]}),
        ({"content": [text(' [1, 2]\n')]}, [1, 2]),
        ({"content": [text("[not json")]}, "[not json"),
        ({"content": [text('{"a": NaN}')]}, '{"a": NaN}'),
        ({"content": [text("[" * 100_000)]}, "[" * 100_000),
        ({"content": [text("42")]}, "42"),
        ({"content": [text('"quoted"')]}, '"quoted"'),
        ({"content": [text("true")]}, "true"),
        ({"content": [text("")]}, ""),
        ({"content": [text("a"), text("b")]}, [text("a"), text("b")]),
        ({"content": [IMAGE]}, [IMAGE]),
        ({"content": [{"type": "video", "url": "x"}]}, [{"type": "video", "url": "x"}]),
        ({"content": [text(7)]}, [text(7)]),
        ({"content": []}, []),
        ({"content": "no list"}, []),
        ({}, []),
        ({"isError": False, "content": [text("fine")]}, "fine"),
        ({"isError": "yes", "content": [text("fine")]}, "fine"),
    ],
)  # fmt: skip
def test_a_result_becomes_the_value_that_a_program_sees(
    result: dict[str, Any], value: Any
) -> None:
    assert value_of("a:b", result) == value


def test_an_error_throws_with_the_words_of_the_server() -> None:
    result = {
        "isError": True, "content": [text("no such file"), IMAGE, text("really")],
        "structuredContent": {"errno": 2},
    }  # fmt: skip
    with pytest.raises(ToolError) as caught:
        value_of("fs:read", result)
    assert str(caught.value) == "no such file\nreally"
    assert (caught.value.code, caught.value.data) == ("tool_error", {"errno": 2})


def test_an_error_without_words_names_the_tool() -> None:
    with pytest.raises(ToolError, match="`fs:read` failed and did not say why"):
        value_of("fs:read", {"isError": True})


def test_an_endless_error_message_is_cut() -> None:
    with pytest.raises(ToolError) as caught:
        value_of("fs:read", {"isError": True, "content": [text("x" * 100_000)]})
    assert len(str(caught.value)) == 4000
