"""What is handed in: read, checked, refused in words; by the command and over HTTP."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pml.cli.main import main
from pml.cloud.errors import PublicationInvalidError
from pml.cloud.publishing import MOST_BYTES, code_publication, metadata_publication
from pml.fqdn import Fqdn
from pml.loader.metadata import metadata_of_code, read_metadata

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


def test_the_command_publishes_all_files_or_none(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], database: str
) -> None:
    good, bad, server = tmp_path / "d.ts", tmp_path / "bad.ts", tmp_path / "s.json"
    good.write_bytes(_code(fqdn="a.b.c.d"))
    bad.write_text("nothing")
    server.write_text(json.dumps(HTTP))
    at = ("--database", database)
    assert main(["cloud", "publish", str(good), str(bad), *at]) == 1
    assert "bad.ts cannot be published" in capfd.readouterr().err
    assert main(["cloud", "publish", str(good), str(server), *at]) == 0
    names = capfd.readouterr().out.split()
    assert [name[:-5] for name in names] == ["a.b.c.d", "a.b.c.server"]
    assert main(["cloud", "publish", str(tmp_path / "none.ts"), *at]) == 1


def test_publishing_over_http_takes_the_right_to_that_organisation(cloud: Any) -> None:
    code = _code(fqdn="acme.b.c.d")
    head = {"content-type": "application/typescript"}

    def put(key: str, name: str = "acme.b.c.d", **more: str) -> Any:
        return cloud.ask("PUT", f"/mcp/{name}", {**head, "x-api-key": key, **more}, code)

    assert put("").status == 401
    assert put(cloud.key("call")).json["error"] == "forbidden"
    assert put(cloud.key("publish:other")).json["error"] == "forbidden"
    assert put(cloud.key("publish:acme"), "acme.b.c.e").json["error"] == "publication_invalid"
    assert put(cloud.key("publish:acme"), "acme.b").json["error"] == "fqdn_invalid"
    assert put(cloud.key("publish:acme"), **{"content-type": "text/plain"}).status == 415
    made = put(cloud.key("publish:acme"))
    assert made.status == 201
    assert cloud.get(made.headers["location"]).body == code


def test_a_body_that_is_too_large_is_refused(cloud: Any) -> None:
    answer = cloud.publish("acme.b.large.d", "// x\n" + "x" * (MOST_BYTES + 1))
    assert (answer.status, answer.json["error"]) == (413, "too_large")
    assert cloud.get("/mcp/acme.b.large.d").status == 404


def test_what_the_documentation_shows_can_be_published() -> None:
    text = (Path(__file__).parents[3] / "docs" / "cloud.md").read_text()
    [code] = re.findall(r"^```typescript\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    _, server = re.findall(r"^```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert str(code_publication("f", code.encode()).fqdn) == "acme.tools.text.shout"
    assert metadata_publication("f", server.encode()).tools == ("tavily:search",)
