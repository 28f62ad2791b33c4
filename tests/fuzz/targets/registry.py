"""What a registry answers: descriptions, code that describes itself, servers in both, tables.

Promised: refused with an error of ours, or about what was asked for, with hashes that fit; what a
human is asked about can be shown; a table never moves what stays here.
"""

import json

from pml.fqdn import Fqdn, integrity_of, split_tool_id
from pml.keys.lookup import is_settable
from pml.loader.metadata import Metadata, metadata_of_code, read_metadata
from pml.loader.served import packed_name, served_by
from pml.routing.reading import parse_table, table_content
from tests.fuzz.oracles import only_ours, shown

ASKED = Fqdn("acme", "tools", "text", "shout")
WORDS = (
    b'"fqdn":"acme.tools.text.shout"', b'"type":"stdio"', b'"type":"http"', b'"type":"deno"', b'"routing":"client"', b'"integrity":"sha256-',
    b"0" * 64, b'"install":{"command":"npx","args":["x@1.0.0"]}', b'"mcpDeps":[', b'"name":"git"', b'"install":"uvx x"', b'"version":"1.0.0"',
    b'"tools":["text:shout"]', b'"definitions":[', b'"proxyTo":"https://h/"', b'"envRequired":["KEY"]', b'"parametersSchema":{',
    b"// __meta__: {", b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\ud800", b"NaN", b"1e999", b"\x85", b"\xe2\x80\xae", b"\n",
    b'"client":["a:*"]', b'"server":["filesystem:*"]', b'"default":"client"',
)  # fmt: skip


def one(data: bytes) -> None:
    """Read it as everything that a registry sends."""
    with only_ours():
        found = read_metadata(data, ASKED)
        _check(found)
    with only_ours():
        found = metadata_of_code(data, ASKED)
        assert found.integrity == integrity_of(data)
        _check(found)
    with only_ours():
        table = parse_table(data)
        assert parse_table(table_content(table)) == table


def _check(found: Metadata) -> None:
    assert found.fqdn.base == ASKED.base
    assert found.fqdn.fits(found.integrity)
    for tool in found.tools:
        assert split_tool_id(tool)[0] == ASKED.namespace
    json.dumps([dict(one) for one in found.offered()], allow_nan=False)
    for served in served_by(found):
        assert served.terms
        assert all(is_settable(name) for name in served.variables)
        if served.wanted.exact is not None:
            package = packed_name(served.wanted.exact)
            shown(package)
            assert served.pinned(package).wanted.exact == served.wanted.exact
