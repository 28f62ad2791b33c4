"""Which request a line was that cannot be read, so that its sender does not wait for ever. Pure.

Only what stands at the very beginning or end of a line is surely the message's own and not a part
of its arguments; all real clients write the id at one of them. A response is never answered: its
id is one of ours, and may be another one's of theirs.
"""

import json
import re

EDGE_BYTES = 300
"""Of the beginning and the end of a line that are looked at."""

_ID = rb'(?P<id>-?[0-9]{1,18}|"[^"\\]{0,200}")'
_FIRST = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*' + _ID + rb'\s*,\s*"method"\s*:'
)
_METHOD = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:')
_LAST = re.compile(rb'"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*' + _ID + rb"\s*\}\s*\Z")


def refusal(beginning: bytes, end: bytes, code: int, words: str) -> bytes | None:
    """Give the line that answers such a request; None if it is not sure which one it was."""
    found = _FIRST.match(beginning)
    if found is None and _METHOD.match(beginning):
        found = _LAST.search(end)
    if found is None:
        return None
    try:
        number = json.loads(found["id"])
    except ValueError:
        return None
    error = {"code": code, "message": words}
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": error}).encode() + b"\n"
