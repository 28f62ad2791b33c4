"""Story 14.7, AC1 to AC10, over real HTTP, on both databases."""

import hashlib
import json
from typing import Any

import pytest

SHOUT = """// __meta__: {"fqdn": "casys.pml.%s.read_json", "description": "Reads", "routing": "%s"}
export function read_json(args: {path: string}) { return args.path; }
"""
SERENA = {
    "type": "stdio",
    "description": "Code analysis and refactoring",
    "routing": "client",
    "install": {
        "command": "npx",
        "args": ["@anthropic/serena"],
        "envRequired": ["ANTHROPIC_API_KEY"],
    },
    "integrity": "sha256-" + "c5d6" * 16,
    "warnings": {"createsDotfiles": [".serena"]},
}
TAVILY = {
    "type": "http",
    "description": "Web search API",
    "proxyTo": "https://api.tavily.com",
    "envRequired": ["TAVILY_API_KEY"],
}


def _code(space: str, routing: str = "client", more: str = "") -> str:
    return SHOUT % (space, routing) + more


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("routing", ["client", "server"])
def test_code_is_served_with_its_type_its_routing_and_the_whole_hash(
    cloud: Any, routing: str
) -> None:
    code = _code(f"ac1{routing}", routing)
    made = cloud.publish(f"casys.pml.ac1{routing}.read_json", code).json
    answer = cloud.get(f"/mcp/{made['fqdn']}")
    assert answer.status == 200
    assert answer.body.decode() == code
    assert answer.headers["content-type"] == "application/typescript"
    assert answer.headers["x-pml-routing"] == routing
    assert answer.headers["x-pml-type"] == "deno"
    assert answer.headers["etag"] == f'"{_sha256(code)}"'
    assert made["fqdn"].endswith(f".{_sha256(code)[:4]}")


def test_a_built_in_capability_is_served_like_any_other(cloud: Any) -> None:
    code = '// __meta__: {"routing": "client"}\nexport function read_file(args) { return 1; }\n'
    made = cloud.publish("pml.std.ac2.read_file", code).json
    answer = cloud.get(f"/mcp/{made['fqdn']}")
    kind = {"content-type": "application/typescript", "x-pml-routing": "client"}
    assert (kind | {"x-pml-type": "deno"}).items() <= answer.headers.items()


def test_a_package_is_served_as_metadata_under_the_hash_of_its_tree(cloud: Any) -> None:
    tools = ["ac3:analyze", "ac3:refactor", "ac3:explain"]
    cloud.publish("pml.mcp.ac3.server", {**SERENA, "tools": tools})
    answer = cloud.get("/mcp/pml.mcp.ac3.server.c5d6")
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {"fqdn": "pml.mcp.ac3.server.c5d6", **SERENA, "tools": tools}


def test_a_remote_server_is_served_as_metadata_under_the_hash_of_that(cloud: Any) -> None:
    made = cloud.publish("pml.mcp.ac4.server", {**TAVILY, "tools": ["ac4:search"]}).json
    answer = cloud.get(f"/mcp/{made['fqdn']}")
    told = {**TAVILY, "routing": "server", "tools": ["ac4:search"]}
    hashed = json.dumps(told, sort_keys=True, separators=(",", ":"))
    assert made["integrity"] == f"sha256-{_sha256(hashed)}"
    assert answer.json == {"fqdn": made["fqdn"], **told, "integrity": made["integrity"]}
    assert answer.headers["x-pml-routing"] == "server"


def test_a_wrong_hash_is_told_with_the_current_name(cloud: Any) -> None:
    made = cloud.publish("casys.pml.ac5.read_json", _code("ac5")).json["fqdn"]
    answer = cloud.get("/mcp/casys.pml.ac5.read_json.xxxx")
    assert answer.status == 404
    assert answer.json == {
        "error": "hash_mismatch",
        "message": f"Hash 'xxxx' does not match current hash '{made[-4:]}' "
        "for casys.pml.ac5.read_json",
        "currentFqdn": made,
    }


def test_an_old_version_stays_and_a_new_one_becomes_current(cloud: Any) -> None:
    old = cloud.publish("casys.pml.old.read_json", _code("old")).json["fqdn"]
    new = cloud.publish("casys.pml.old.read_json", _code("old", more="// 2\n")).json["fqdn"]
    assert cloud.get(f"/mcp/{old}").body.decode() == _code("old")
    assert cloud.get("/mcp/casys.pml.old.read_json").headers["location"] == f"/mcp/{new}"
    cloud.publish("casys.pml.old.read_json", _code("old"))
    assert cloud.get("/mcp/casys.pml.old.read_json").headers["location"] == f"/mcp/{old}"


@pytest.mark.parametrize("name", ["unknown.thing.here.now.abcd", "unknown.thing.here.now"])
def test_an_unknown_name_is_not_found(cloud: Any, name: str) -> None:
    answer = cloud.get(f"/mcp/{name}")
    assert answer.status == 404
    assert answer.json == {
        "error": "not_found",
        "message": "MCP 'unknown.thing.here.now' not in registry",
    }


def test_what_is_no_name_is_not_found_and_shown_escaped(cloud: Any) -> None:
    answer = cloud.get("/mcp/evil%1b%5B2J%E2%80%AE")
    assert answer.status == 404
    assert answer.json["error"] == "not_found"
    assert "\x1b" not in answer.json["message"]
    assert "\u202e" not in answer.json["message"]


def test_whoever_has_a_version_is_not_sent_it_again(cloud: Any) -> None:
    made = cloud.publish("casys.pml.ac7.read_json", _code("ac7")).json["fqdn"]
    first = cloud.get(f"/mcp/{made}")
    assert first.headers["cache-control"] == "public, max-age=3600"
    etag = first.headers["etag"]
    for known in (etag, f"W/{etag}", f'"x", {etag}', "*"):
        again = cloud.get(f"/mcp/{made}", if_none_match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", etag)
    assert cloud.get(f"/mcp/{made}", if_none_match='"other"').status == 200


def test_metadata_of_code_is_another_thing_than_the_code(cloud: Any) -> None:
    made = cloud.publish("casys.pml.meta.read_json", _code("meta")).json
    answer = cloud.get(f"/mcp/{made['fqdn']}", accept="application/json")
    assert answer.json["integrity"] == made["integrity"]
    assert answer.json["codeUrl"] == f"/mcp/{made['fqdn']}"
    assert answer.headers["etag"] != cloud.get(f"/mcp/{made['fqdn']}").headers["etag"]
    assert answer.headers["vary"] == "Accept"


def test_the_catalogue_has_pages_and_right_totals(database: str, new_cloud: Any) -> None:
    cloud = new_cloud(database)
    for number in range(5):
        cloud.publish(f"casys.pml.n{number}.read_json", _code(f"n{number}"))
    cloud.publish("pml.mcp.serena.server", {**SERENA, "tools": ["serena:analyze"]})
    tavily = cloud.publish("pml.mcp.tavily.server", TAVILY).json["fqdn"]
    first = cloud.get("/mcp?limit=4").json
    assert [first[name] for name in ("total", "page", "limit")] == [7, 1, 4]
    second = cloud.get("/mcp?limit=4&page=2").json
    names = [item["fqdn"] for item in first["items"] + second["items"]]
    assert len(names) == 7
    assert names == sorted(names)
    assert second["items"][-1] == {
        "fqdn": tavily,
        "type": "http",
        "routing": "server",
        "description": "Web search API",
    }
    assert cloud.get("/mcp?limit=4&page=9").json["items"] == []
    stdio = cloud.get("/mcp?type=stdio").json
    assert [item["fqdn"] for item in stdio["items"]] == ["pml.mcp.serena.server.c5d6"]
    assert (stdio["total"], stdio["limit"]) == (1, 50)
    assert cloud.get("/mcp?type=deno&limit=2").json["total"] == 5


def test_a_page_changes_its_tag_when_something_is_published(cloud: Any) -> None:
    before = cloud.get("/mcp?limit=100")
    assert cloud.get("/mcp?limit=100", if_none_match=before.headers["etag"]).status == 304
    cloud.publish("casys.pml.tagged.read_json", _code("tagged"))
    assert cloud.get("/mcp?limit=100", if_none_match=before.headers["etag"]).status == 200


@pytest.mark.parametrize(
    "query",
    ["type=wasm", "page=0", "page=-1", "page=x", "limit=0", "limit=101", "page=9999999999"],
)
def test_a_query_that_means_nothing_is_refused_in_words(cloud: Any, query: str) -> None:
    answer = cloud.get(f"/mcp?{query}")
    assert answer.status == 400
    assert query.partition("=")[0] in answer.json["message"]


def test_a_name_without_a_hash_leads_to_the_current_version(cloud: Any) -> None:
    made = cloud.publish("casys.pml.ac10.read_json", _code("ac10")).json["fqdn"]
    answer = cloud.get("/mcp/casys.pml.ac10.read_json")
    assert answer.status == 302
    assert answer.headers["location"] == f"/mcp/{made}"
    assert answer.headers["cache-control"] == "no-cache"


def test_a_get_for_events_is_told_that_there_are_none(cloud: Any) -> None:
    assert cloud.get("/mcp", accept="text/event-stream").status == 405


def test_the_routing_table_names_what_was_published_for_the_cloud(cloud: Any) -> None:
    cloud.publish("casys.pml.routed.read_json", _code("routed", "server"))
    answer = cloud.get("/api/v1/routing")
    assert "routed:read_json" in answer.json["server"]
    assert "filesystem" in answer.json["client"]
    assert cloud.get("/api/v1/routing", if_none_match=answer.headers["etag"]).status == 304


@pytest.mark.parametrize("path", ["/", "/mcp/", "/mcp/a.b.c.d/more", "/api", "//mcp"])
def test_another_path_is_not_found_in_json(cloud: Any, path: str) -> None:
    answer = cloud.get(path)
    assert (answer.status, answer.json["error"]) == (404, "not_found")


def test_a_method_that_means_nothing_is_refused(cloud: Any) -> None:
    assert cloud.ask("DELETE", "/mcp/a.b.c.d").status == 405
