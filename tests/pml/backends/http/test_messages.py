"""Reading what a server sent."""

from typing import Any

import pytest

from pml.backends.errors import ServerProtocolError, ServerRefusedError
from pml.backends.http.messages import answer_in, log_in, progress_in, read, refusal, written
from pml.model import Progress


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff",
        b"NaN",
        b'{"a": Infinity}',
        b"[" * 100_000,
        b"1" * 5000,
        b"[1]",
        b"null",
        b'"a"',
    ],
)
def test_junk_is_a_protocol_error(text: bytes) -> None:
    with pytest.raises(ServerProtocolError):
        read("remote", text)


def test_a_batch_is_read() -> None:
    assert read("remote", b'[{"id": 1}, {"id": 2}]') == [{"id": 1}, {"id": 2}]


@pytest.mark.parametrize("theirs", [2, "1", None, True, 1.5, [1], {}])
def test_an_answer_to_another_request_is_none(theirs: object) -> None:
    assert answer_in("remote", {"id": theirs, "result": {}}, 1, 0) is None


@pytest.mark.parametrize("result", [None, [], "x", 1])
def test_a_result_that_is_no_object_is_a_protocol_error(result: object) -> None:
    with pytest.raises(ServerProtocolError):
        answer_in("remote", {"id": 1, "result": result}, 1, 0)


@pytest.mark.parametrize("theirs", [1, None])
def test_an_error_is_the_servers_refusal(theirs: object) -> None:
    message = {"id": theirs, "error": {"code": -32602, "message": "no\x1b[2J", "data": {"a": 1}}}

    with pytest.raises(ServerRefusedError) as caught:
        answer_in("remote", message, 1, 0)

    assert (caught.value.rpc_code, caught.value.data) == (-32602, {"a": 1})
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("error", [None, [], {}, {"code": "x", "message": 7}])
def test_an_error_without_sense_is_still_a_refusal(error: object) -> None:
    assert refusal("remote", error).rpc_code == -32603


@pytest.mark.parametrize(
    ("params", "progress"),
    [
        ({"progress": 1, "total": 2, "message": "m"}, Progress(1, 2, "m")),
        ({"progress": 0.5, "total": "2", "message": 7}, Progress(0.5)),
        ({"progress": True}, None),
        ({"progress": "1"}, None),
        ({"progress": 10**400}, None),
        ({}, None),
    ],
)
def test_progress_is_read_if_it_makes_sense(
    params: dict[str, Any], progress: Progress | None
) -> None:
    assert progress_in(params) == progress


def test_a_log_message_is_capped() -> None:
    assert log_in({"level": "info", "data": {"a": [1]}}) == ("info", '{"a": [1]}')
    level, text = log_in({"level": 7, "data": "x" * 100_000})
    assert (level, len(text)) == ("info", 2000)


def test_a_lone_surrogate_in_arguments_can_be_sent() -> None:
    assert written({"a": "\ud800"}) == b'{"a":"\\ud800"}'
