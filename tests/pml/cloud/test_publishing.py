"""Publishing by the operator's command and over HTTP."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pml.cli.main import main
from pml.loader.publishing import MOST_BYTES, code_publication, metadata_publication

HTTP = {"fqdn": "a.b.c.server", "type": "http", "proxyTo": "https://x.example", "tools": ["c:t"]}


def _code(**meta: Any) -> bytes:
    return f"// __meta__: {json.dumps(meta)}\nexport function d() {{}}\n".encode()


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


def test_an_answer_says_what_publishing_changed(cloud: Any) -> None:
    old, new = (_code(fqdn="acme.b.again.d", description=word).decode() for word in ("old", "new"))
    made = [cloud.publish("acme.b.again.d", code) for code in (old, old, new, old)]
    assert [(one.status, one.json["outcome"]) for one in made] == [
        (201, "published"), (200, "unchanged"), (201, "published"), (200, "restored"),
    ]  # fmt: skip
    assert made[1].json == {**made[0].json, "outcome": "unchanged"}
    assert cloud.get("/mcp/acme.b.again.d").headers["location"] == made[0].headers["location"]


def test_a_body_that_is_too_large_is_refused(cloud: Any) -> None:
    answer = cloud.publish("acme.b.large.d", "// x\n" + "x" * (MOST_BYTES + 1))
    assert (answer.status, answer.json["error"]) == (413, "too_large")
    assert cloud.get("/mcp/acme.b.large.d").status == 404


def test_what_the_documentation_shows_can_be_published() -> None:
    text = (Path(__file__).parents[3] / "docs" / "cloud.md").read_text()
    [code] = re.findall(r"^```typescript\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    _, server = re.findall(r"^```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert str(code_publication("f", code.encode()).fqdn) == "acme.tools.voice.shout"
    assert metadata_publication("f", server.encode()).tools == ("tavily:search",)
