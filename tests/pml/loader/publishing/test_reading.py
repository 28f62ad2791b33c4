"""What is handed in: read, checked, refused in words."""

import json
from typing import Any

import pytest

from pml.fqdn import Fqdn
from pml.loader.metadata import metadata_of_code, read_metadata
from pml.loader.publishing import (
    MOST_BYTES,
    PublicationInvalidError,
    code_publication,
    metadata_publication,
)

HTTP = {"fqdn": "a.b.c.server", "type": "http", "proxyTo": "https://x.example", "tools": ["c:t"]}
STDIO = {
    "fqdn": "a.b.c.server",
    "type": "stdio",
    "install": {"command": "npx", "args": ["pkg@1.0.0"]},
    "integrity": "sha256-" + "0" * 64,
}


def _code(**meta: Any) -> bytes:
    return f"// __meta__: {json.dumps(meta)}\nexport function d() {{}}\n".encode()


def test_both_spellings_are_read_and_one_is_kept() -> None:
    snake = {"proxy_to": "https://x.example", "env_required": ["K"], "type": "cloud"}
    facts = {"fqdn": "a.b.c.server", "tools": ["c:t"], "routing": "cloud", **snake}
    found = metadata_publication("f", json.dumps(facts).encode())
    camel = {**HTTP, "envRequired": ["K"], "routing": "server"}
    assert found == metadata_publication("f", json.dumps(camel).encode())
    assert found.metadata["proxyTo"] == "https://x.example"


def test_what_is_published_is_what_the_loader_reads() -> None:
    code = _code(fqdn="a.b.c.d", envRequired=["K"], parametersSchema={"type": "object"})
    made = code_publication("f", code)
    read = metadata_of_code(code, Fqdn.parse("a.b.c.d"))
    assert read.integrity == f"sha256-{made.sha256}"
    assert read.env_required == ("K",)
    http = metadata_publication("f", json.dumps(HTTP).encode())
    name = http.fqdn.with_hash(http.sha256)
    integrity = f"sha256-{http.sha256}"
    body = json.dumps({"fqdn": str(name), **http.metadata, "integrity": integrity}).encode()
    assert read_metadata(body, name).integrity == integrity


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"export function d() {}", "does not begin with what it is"),
        (b'x = 1;\n// __meta__: {"fqdn": "a.b.c.d"}\n', "does not begin with what it is"),
        (b"// __meta__: {fqdn}\n", "not JSON"),
        (_code(), "no name"),
        (_code(fqdn="a.b.c"), "3 parts"),
        (_code(fqdn="a.b.c.d", descripton="x"), "descripton"),
        (_code(fqdn="a.b.c.d", routing="moon"), "routing"),
        (_code(fqdn="a.b.c.d", description="safe\u202eelif"), "nobody can see"),
        (_code(fqdn="a.b.c.d", tools=["other:d"]), "not in its namespace"),
        (_code(fqdn="a.b.c.d", proxyTo="https://x"), "has no `proxyTo`"),
        (_code(fqdn="a.b.c.d", integrity="sha256-" + "0" * 64), "should be sha256-"),
        (_code(fqdn="a.b.filesystem.d", routing="server"), "never at the cloud"),
        (_code(fqdn="a.b.json.d", routing="server"), "built in"),
        (_code(fqdn="a.b.c.d") + b"\xff", "UTF-8"),
        (_code(fqdn="a.b.c.d") + b" " * MOST_BYTES, "larger than 1 MiB"),
    ],
)
def test_code_that_cannot_be_published_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(PublicationInvalidError, match=words) as caught:
        code_publication("file.ts", content)
    assert caught.value.message.startswith("file.ts cannot be published: ")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"type": "deno"}, "a capability is its code"),
        ({"type": "wasm"}, "type"),
        ({"proxyTo": None}, "needs `proxyTo`"),
        ({"routing": "client"}, "routing server"),
        ({"install": {"command": "npx"}}, "has no `install`"),
        ({"headers": {"X": "${K}"}}, "`envRequired` does not name"),
        ({"envRequired": ["not a name"]}, "envRequired"),
        ({"integrity": "sha256-" + "0" * 64}, "should be sha256-"),
        ({"tools": [f"c:t{n}" for n in range(501)]}, "tools"),
    ],
)
def test_metadata_that_cannot_be_published_is_refused(changes: dict[str, Any], words: str) -> None:
    facts = {key: value for key, value in {**HTTP, **changes}.items() if value is not None}
    with pytest.raises(PublicationInvalidError, match=words):
        metadata_publication("f", json.dumps(facts).encode())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"integrity": None}, "hash of the package's tree"),
        ({"install": None}, "needs `install`"),
        ({"routing": "server"}, "routing client"),
    ],
)
def test_a_package_needs_its_hash_and_runs_at_home(changes: dict[str, Any], words: str) -> None:
    facts = {key: value for key, value in {**STDIO, **changes}.items() if value is not None}
    with pytest.raises(PublicationInvalidError, match=words):
        metadata_publication("f", json.dumps(facts).encode())
