"""`POST /mcp`: search, execute and calls, in both protocol eras, on both databases."""

from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


def _capability(space: str, body: str, action: str = "shout", more: str = "") -> str:
    meta = f'{{"fqdn": "acme.tools.{space}.{action}", "routing": "server"{more}}}'
    return f"// __meta__: {meta}\nexport async function {action}(args) {{ {body} }}\n"


def _publish(cloud: Any, space: str, body: str, action: str = "shout", more: str = "") -> None:
    answer = cloud.publish(f"acme.tools.{space}.{action}", _capability(space, body, action, more))
    assert answer.status in (200, 201), answer


def test_a_program_of_server_tools_runs_here(cloud: Any) -> None:
    _publish(cloud, "loud", "return {text: args.text.toUpperCase()}")
    told = cloud.execute("const {text} = await mcp.loud.shout({text: 'hi'}); return text + '!'")
    assert (told["status"], told["result"]) == ("success", "HI!")
    assert [call["tool"] for call in told["calls"]] == ["loud:shout"]


def test_a_program_gets_its_arguments(cloud: Any) -> None:
    told = cloud.call("execute", {"code": "return args.a[1]", "args": {"a": [1, 2]}})
    assert told["structuredContent"]["result"] == 2


def test_a_program_without_tools_runs_here(cloud: Any) -> None:
    assert cloud.execute("return 6 * 7")["result"] == 42


def test_the_built_in_json_runs_here(cloud: Any) -> None:
    told = cloud.execute("return await mcp.json.parse({text: '{\"a\": [1]}'})")
    assert told["status"] == "success", told


CLIENT = """const text = await mcp.filesystem.read_file({path: "a"});
return await mcp.tavily.search({query: text})"""


def test_a_package_is_told_to_run_client_tools_itself(cloud: Any) -> None:
    told = cloud.execute(CLIENT, x_pml_client="package")
    assert told == {
        "status": "execute_locally",
        "code": CLIENT,
        "dag": {
            "tasks": [
                {"id": "n1", "tool": "filesystem:read_file", "line": 1},
                {"id": "n2", "tool": "tavily:search", "line": 2},
            ]
        },
        "tools_used": ["filesystem:read_file", "tavily:search"],
        "client_tools": ["filesystem:read_file"],
    }


def test_others_are_told_that_client_tools_need_the_package(cloud: Any) -> None:
    result = cloud.call("execute", {"code": CLIENT})
    told = result["structuredContent"]
    assert result["isError"] is True
    assert told["code"] == told["error_code"] == "CLIENT_TOOLS_REQUIRE_PACKAGE"
    assert told["client_tools"] == ["filesystem:read_file"]
    assert told["install_command"]


COMPUTED = "const server = 'file' + 'system'; return await mcp[server + ''].read_file({})"


def test_what_cannot_be_read_from_the_source_stays_with_the_package(cloud: Any) -> None:
    assert cloud.execute(COMPUTED, x_pml_client="package")["status"] == "execute_locally"


def test_a_computed_client_tool_is_refused_when_it_is_called(cloud: Any) -> None:
    told = cloud.execute(COMPUTED)
    assert told["status"] == "error"
    assert told["toolCode"] == "CLIENT_TOOLS_REQUIRE_PACKAGE"


def test_a_program_that_cannot_be_read_is_an_error_with_its_place(cloud: Any) -> None:
    told = cloud.execute("return (1 +")
    assert (told["status"], told["line"]) == ("error", 1)


def test_a_capability_calls_another_and_itself_only_so_deep(cloud: Any) -> None:
    _publish(cloud, "inner", "return {n: args.n + 1}")
    _publish(cloud, "outer", "return await mcp.inner.shout({n: args.n * 2})")
    assert cloud.call("outer:shout", {"n": 3})["structuredContent"] == {"n": 7}
    _publish(cloud, "endless", "return await mcp.endless.shout({})")
    result = cloud.call("endless:shout", {})
    assert result["isError"] is True
    assert "9th capability" in result["content"][0]["text"]


def test_a_capability_cannot_reach_files_or_client_tools(cloud: Any) -> None:
    _publish(cloud, "nosy", "return await Deno.readTextFile('/etc/passwd')")
    assert cloud.call("nosy:shout", {})["isError"] is True
    _publish(cloud, "greedy", "return await mcp.shell.run({command: 'id'})")
    result = cloud.call("greedy:shout", {})
    assert result["isError"] is True
    assert "shell:run" in result["content"][0]["text"]


def test_arguments_are_checked_against_the_capabilitys_own_schema(cloud: Any) -> None:
    schema = '{"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}'
    _publish(cloud, "strict", "return {n: args.n}", more=f', "parametersSchema": {schema}')
    assert cloud.call("strict:shout", {"n": 1})["structuredContent"] == {"n": 1}
    wrong = cloud.call("strict:shout", {"n": "one"})
    assert wrong["structuredContent"]["code"] == "arguments_invalid"
    assert "`n` must be an integer" in wrong["structuredContent"]["message"]


@pytest.mark.parametrize("name", ["named:shout", "named__shout", "mcp.named.shout"])
def test_a_tool_is_called_by_any_of_its_names(cloud: Any, name: str) -> None:
    _publish(cloud, "named", "return {ok: true}")
    assert cloud.call(name, {})["structuredContent"] == {"ok": True}


def test_tools_that_are_not_here_are_told_apart(cloud: Any) -> None:
    client = cloud.call("filesystem:read_file", {})["structuredContent"]
    assert client["code"] == "CLIENT_TOOLS_REQUIRE_PACKAGE"
    unknown = cloud.call("tavilly:search", {})["structuredContent"]
    assert unknown["code"] == "tool_unknown"


def test_search_finds_what_was_published_with_what_is_needed_to_call_it(cloud: Any) -> None:
    schema = '{"type": "object", "properties": {"city": {"type": "string"}}}'
    more = f', "description": "Tells the weather of a city", "parametersSchema": {schema}'
    _publish(cloud, "weather", "return {}", "forecast", more)
    found = cloud.call("search", {"query": "weather in a city"})["structuredContent"]["tools"]
    assert found[0]["id"] == "weather:forecast"
    assert found[0]["routing"] == "server"
    assert found[0]["inputSchema"]["properties"] == {"city": {"type": "string"}}
    assert found[0]["fqdn"].startswith("acme.tools.weather.forecast.")
    nothing = cloud.call("search", {"name": "weather:forecst"})["structuredContent"]
    assert nothing["tools"] == []
    assert nothing["nearest"][0] == "weather:forecast"


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("search", {"limit": 0}, "limit"),
        ("search", {"query": 1}, "query"),
        ("search", {"q": "x"}, "`q`"),
        ("execute", {}, "code"),
        ("execute", {"code": "1", "timeoutSeconds": 0}, "timeoutSeconds"),
        ("execute", {"code": "1", "approved": True}, "approved"),
    ],
)
def test_wrong_arguments_are_named(
    cloud: Any, tool: str, arguments: dict[str, Any], word: str
) -> None:
    result = cloud.call(tool, arguments)
    assert result["isError"] is True
    assert word in result["structuredContent"]["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"x_api_key": ""}, 401), ({"x_api_key": "pml_000000000000_" + "a" * 43}, 401)],
)
def test_without_a_key_nothing_is_called(cloud: Any, headers: dict[str, str], status: int) -> None:
    answer = cloud.rpc("tools/list", {}, **headers)
    assert (answer.status, answer.json["error"]) == (status, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_may_only_what_it_may(cloud: Any) -> None:
    answer = cloud.rpc("tools/list", {}, x_api_key=cloud.key("metrics"))
    assert (answer.status, answer.json["error"]) == (403, "forbidden")
    bearer = cloud.rpc("tools/list", {}, x_api_key="", authorization=f"Bearer {cloud.key('call')}")
    assert [tool["name"] for tool in bearer.json["result"]["tools"]] == ["search", "execute"]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_works_in_both_eras(cloud: Any, mode: str) -> None:
    headers = {"x-api-key": cloud.key("call"), "X-PML-Client": "package"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{cloud.url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:  # type: ignore[arg-type]
            tools = (await client.list_tools()).tools
            result = await client.call_tool("execute", {"code": "return 1 + 1"})
    assert [tool.name for tool in tools] == ["search", "execute"]
    assert result.structured_content is not None
    assert result.structured_content["result"] == 2
