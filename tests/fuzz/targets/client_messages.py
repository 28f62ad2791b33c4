"""What a client writes to the gateway's wire, and the arguments of our own tools in it.

Promised: a line is read as what it says or refused; in whichever pieces it comes; an answer to a
line that cannot be read goes to the request that it was, and to no other.
"""

import json
import os
from typing import Any

from pml.gateway import wanted
from pml.gateway.transport import Incoming
from tests.fuzz.oracles import only_ours

WORDS = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":', b'{"name":"execute","arguments":', b'"code":"1"', b'"id":"x"',
    b'"timeoutSeconds":', b'"dryRun":true', b"\n", b"\r", b'{"jsonrpc":"2.0","method":"', b'"jsonrpc":"2.0","id":7}', b'"result":{}',
    b'"error":{"code":1,"message":"m"}', b"[", b"]", b"{", b"}", b"\\ud800", b"1e999", b"9", b"null", b"\xff", b'"', b",", b":",
)  # fmt: skip


def _heard(data: bytes, size: int) -> tuple[list[Any], list[Any]]:
    answered: list[bytes] = []
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123
        incoming = Incoming(nothing.fileno(), lambda _: None, answered.append)
        messages = []
        for at in range(0, len(data), size):
            incoming._split(data[at : at + size])
        for line in incoming._lines:
            message = incoming._read(line)
            if message is not None:
                messages.append(
                    (line, message.message.model_dump(by_alias=True, exclude_unset=True))
                )
    return messages, [json.loads(line) for line in answered]


def one(data: bytes) -> None:
    """Hear it whole and in pieces."""
    data += b"\n"
    messages, answered = _heard(data, len(data))
    assert _heard(data, 1 + data[0] % 23) == (messages, answered)
    for line, message in messages:
        said = json.loads(line)
        assert {
            name: value for name, value in message.items() if value is not None or name in said
        } == {name: value for name, value in said.items() if name in message}
        _arguments(message)
    for answer in answered:
        assert _may_be_answered(data, answer["id"])


def _arguments(message: dict[str, Any]) -> None:
    params = message.get("params")
    given = params.get("arguments") if isinstance(params, dict) else None
    if isinstance(given, dict):
        with only_ours():
            found = wanted.execution(given)
            assert found.code == given["code"]
            assert found.timeout_seconds is None or found.timeout_seconds > 0


def _may_be_answered(data: bytes, number: Any) -> bool:
    """Say whether a line that can be read at all, as a request, has this id at its top."""
    for line in data.split(b"\n"):
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            if json.dumps(number, ensure_ascii=False).encode() in line and b'"method"' in line:
                return True
            continue
        if isinstance(said, dict) and "method" in said and said.get("id") == number:
            return True
    return False
