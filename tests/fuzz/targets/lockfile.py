"""`.pml/mcp.lock`, which lies in a workspace that others write.

Promised: it is refused with an error of ours, or written again it is the same entries, and the
same bytes each time.
"""

from pathlib import Path

from pml.fqdn import Fqdn
from pml.loader.lockfile.reading import parse, written
from tests.fuzz.oracles import only_ours

FILE = Path("/nonexistent/.pml/mcp.lock")
WORDS = (
    b'"version":1', b'"entries":{', b'"integrity":"sha256-', b'"fetchedAt":"2026-01-07T12:00:00Z"', b'"type":"deno"', b'"routing":"client"',
    b'"definitions":{"t":"sha256-', b'"permissions":["a:b"]', b'"package":"npm:x@1.0.0"', b'"url":"https://r/"', b'"metadata":',
    b"acme.tools.text.shout.0000", b"0" * 64, b"{", b"}", b"[", b"]", b",", b":", b'"', b"1e5", b"true", b"\\u0000", b"\xc2\x85",
)  # fmt: skip


def one(data: bytes) -> None:
    """Read, write, read."""
    with only_ours():
        found = parse(data, FILE)
        again = written(found)
        assert parse(again, FILE) == found
        assert written(parse(again, FILE)) == again
        for base, entry in found.items():
            assert Fqdn.parse(base).base == base
            assert entry.integrity.startswith("sha256-")
