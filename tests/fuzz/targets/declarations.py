"""Tools as a server defines them, told to a model as TypeScript.

Promised: whatever the definitions say, the declaration is one statement without a character that
nobody sees, and the real eraser erases all of it; its size is bounded.
"""

import json

from pml.backends.listing import listing_of
from pml.discovery import definition_hash
from pml.discovery.declarations import (
    MOST_DECLARATION_CHARACTERS,
    call_path,
    declared,
    signature,
)
from pml.discovery.escaping import is_visible
from sandbox_host.engine.runtime import shared_runtimes
from tests.fuzz.targets.programs import _eraser

WORDS = (
    b'[{"name":"t","inputSchema":', b'"type":"object"', b'"properties":{"a":', b'"description":"', b"*/", b"/*", b"//", b'"enum":[', b'"const":',
    b'"$ref":"#/$defs/a"', b'"$defs":{"a":', b'"anyOf":[', b'"allOf":[', b'"items":', b'"prefixItems":[', b'"required":["a"]', b'"default":',
    b'"format":"', b'"minimum":', b"\\u202e", b"\\u2028", b"\\ufe0f", b"\\n", b"`", b"${", b"\\\\", b"1e999", b"-0", b"1e400", b'"nullable":true',
    b'"outputSchema":{', b'"additionalProperties":', b'"patternProperties":{', b"[", b"]", b"{", b"}", b",", b'"', b"true", b"#", b"%", b"~1", b"0",
)  # fmt: skip


def one(data: bytes) -> None:
    """List what the bytes define and declare it."""
    try:
        definitions = json.loads(data)
    except (ValueError, RecursionError):
        return
    tools = listing_of(
        "my-srv", definitions if isinstance(definitions, list) else [definitions]
    ).tools[:5]
    if not tools:
        return
    signatures = [(tool, signature(tool)) for tool in tools]
    for tool, text in signatures:
        assert len(text) <= MOST_DECLARATION_CHARACTERS
        assert len(definition_hash(tool)) == 64
        assert all(map(is_visible, call_path(tool)))
    statement = declared(signatures)
    assert all(c == "\n" or is_visible(c) for c in statement)
    with shared_runtimes().warm.ticker.held():
        assert not _eraser().erase(statement).code.strip(" \n;")
