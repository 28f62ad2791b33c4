"""What somebody hands in to a registry, and what the registry then serves to others.

Promised: refused with an error of ours; or whoever fetches it reads it, with the hash that was
published. Two readers of one format, written apart.
"""

import json

from pml.fqdn import integrity_of
from pml.loader.metadata import MOST_METADATA_BYTES, McpType, metadata_of_code, read_metadata
from pml.loader.publishing import publication_of
from tests.fuzz.oracles import only_ours
from tests.fuzz.targets.registry import WORDS as REGISTRY_WORDS

WORDS = (
    *REGISTRY_WORDS,
    b'"headers":{"A":"${KEY}"}',
    b'"warnings":{}',
    b"return args",
    b"//\n",
    b"\x0c",
)


def one(data: bytes) -> None:
    """Publish it as code and as metadata, then fetch it."""
    for name in ("a.ts", "a.json"):
        with only_ours():
            made = publication_of(name, data)
            if made.kind is McpType.DENO:
                found = metadata_of_code(made.content, made.version)
                assert found.integrity == integrity_of(data) == made.integrity
            else:
                body = _served(made)
                if len(body) > MOST_METADATA_BYTES:
                    continue
                found = _fetched(body, made)
                assert found.integrity == made.integrity
            assert found.tools in ((), made.tools) or found.tools == made.tools


def _served(made: object) -> bytes:
    facts = {"fqdn": str(made.version), **made.metadata, "integrity": made.integrity}  # type: ignore[attr-defined]
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode()


def _fetched(body: bytes, made: object) -> object:
    return read_metadata(body, made.version)  # type: ignore[attr-defined]
