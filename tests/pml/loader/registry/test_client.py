"""What a registry's answers become: Story 14.7 from the client's side."""

from typing import Any

import pytest

from pml.backends.http.fetching import HttpFetch
from pml.fqdn import Fqdn, integrity_of
from pml.loader.errors import (
    HashMismatchError,
    NotInRegistryError,
    RegistryOfflineError,
    RegistryRefusedError,
)
from pml.loader.metadata import Dependency, Install, McpType
from pml.loader.registry import Described, Registries, Registry, RegistryClient, Unchanged
from pml.routing import Routing

SHOUT = Fqdn.parse("acme.tools.text.shout")
CODE = b"export function shout(args) { return args.text }\n"
SERENA = Fqdn.parse("pml.mcp.serena.server")
SERVER = {
    "type": "stdio",
    "description": "Code analysis",
    "routing": "client",
    "install": {"command": "npx", "args": ["@x/serena@1.0.0"], "envRequired": ["SERENA_KEY"]},
    "tools": ["serena:analyze"],
}


def client(server: Any, fetch: HttpFetch, key: str | None = None) -> RegistryClient:
    return RegistryClient(Registry(server.url, key), fetch)


async def described(server: Any, fetch: HttpFetch, name: Fqdn) -> Described:
    answer = await client(server, fetch).describe(name)
    assert isinstance(answer, Described)
    return answer


async def test_code_comes_with_its_hash_in_one_request(server: Any, fetch: HttpFetch) -> None:
    version = server.publish(SHOUT, CODE)
    answer = await described(server, fetch, version)
    assert answer.code == CODE
    assert answer.metadata.fqdn == version
    assert answer.metadata.integrity == integrity_of(CODE)
    assert (answer.metadata.type, answer.metadata.routing) == (McpType.DENO, Routing.CLIENT)
    assert server.asked == [str(version)]


async def test_a_name_without_a_hash_leads_to_the_current_version(
    server: Any, fetch: HttpFetch
) -> None:
    server.publish(SHOUT, CODE)
    newer = server.publish(SHOUT, CODE + b"// newer\n")
    assert (await described(server, fetch, SHOUT)).metadata.fqdn == newer


async def test_code_says_what_it_needs_in_its_first_comment(server: Any, fetch: HttpFetch) -> None:
    code = b"""// __meta__: {"fqdn": "acme.tools.text.shout", "routing": "cloud", "toolsUsed": ["memory:add"],\
 "parametersSchema": {"type": "object"}, "mcp_deps": [{"name": "memory", "type": "stdio",\
 "install": "npx @m/memory@1.2.3", "version": "1.2.3", "integrity": "sha256-%s",\
 "env_required": ["MEMORY_KEY"]}]}
return 1""" % (b"a" * 64)
    found = (await described(server, fetch, server.publish(SHOUT, code))).metadata
    assert found.routing is Routing.SERVER
    assert found.tools_used == ("memory:add",)
    assert found.parameters_schema == {"type": "object"}
    wanted = ("npx", "@m/memory@1.2.3")
    assert found.mcp_deps == (
        Dependency("memory", wanted, "1.2.3", f"sha256-{'a' * 64}", ("MEMORY_KEY",)),
    )


async def test_a_server_is_described_in_camel_and_in_snake_case(
    server: Any, fetch: HttpFetch
) -> None:
    snake: dict[str, Any] = {
        **SERVER,
        "routing": "local",
        "install": {"command": "npx", "args": ["@x/serena@1.0.0"], "env_required": ["SERENA_KEY"]},
    }
    for facts in (SERVER, snake):
        found = (await described(server, fetch, server.publish(SERENA, facts))).metadata
        assert found.install == Install("npx", ("@x/serena@1.0.0",), ("SERENA_KEY",))
        assert (found.type, found.routing) == (McpType.STDIO, Routing.CLIENT)
        assert found.variables == ("SERENA_KEY",)


async def test_a_remote_server_is_called_http_or_cloud(server: Any, fetch: HttpFetch) -> None:
    name = Fqdn.parse("pml.mcp.tavily.server")
    for kind in ("http", "cloud"):
        facts = {"type": kind, "routing": "cloud", "proxy_to": "https://api.tavily.example",
                 "env_required": ["TAVILY_API_KEY"], "tools": ["tavily:search"]}  # fmt: skip
        found = (await described(server, fetch, server.publish(name, facts))).metadata
        assert (found.type, found.routing) == (McpType.HTTP, Routing.SERVER)
        assert found.proxy_to == "https://api.tavily.example"


async def test_a_description_that_comes_first_is_followed_by_its_code(
    server: Any, fetch: HttpFetch
) -> None:
    version = server.publish(SHOUT, CODE)
    facts = {"fqdn": str(version), "type": "deno", "routing": "client", "tools": ["text:shout"],
             "integrity": integrity_of(CODE), "description": "Shouts"}  # fmt: skip

    async def negotiates(exchange: Any) -> None:
        if "json" in exchange.headers["accept"]:
            await exchange.json(facts)
        else:
            await exchange.code(CODE)

    server.on[str(version)] = negotiates
    answer = await described(server, fetch, version)
    assert (answer.code, answer.metadata.description) == (CODE, "Shouts")


async def test_an_etag_that_still_holds_costs_no_content(server: Any, fetch: HttpFetch) -> None:
    server.publish(SHOUT, CODE)
    first = await described(server, fetch, SHOUT)
    again = await client(server, fetch).describe(SHOUT, first.etag)
    assert again == Unchanged(server.url)


async def test_an_unknown_name_is_not_found(server: Any, fetch: HttpFetch) -> None:
    with pytest.raises(NotInRegistryError, match="MCP 'unknown.thing.here.now' not in registry"):
        await described(server, fetch, Fqdn.parse("unknown.thing.here.now"))


async def test_a_wrong_hash_is_told_with_the_current_version(
    server: Any, fetch: HttpFetch
) -> None:
    version = server.publish(SHOUT, CODE)
    with pytest.raises(HashMismatchError) as caught:
        await described(server, fetch, SHOUT.with_hash("0000"))
    assert caught.value.current == str(version)
    assert str(version) in (caught.value.hint or "")


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_registry_in_trouble_counts_as_unreachable(
    server: Any, fetch: HttpFetch, status: int
) -> None:
    server.on["*"] = lambda exchange: exchange.reply(status)
    with pytest.raises(RegistryOfflineError, match=str(status)):
        await described(server, fetch, SHOUT)


async def test_a_registry_that_wants_a_key_says_so(server: Any, fetch: HttpFetch) -> None:
    server.on["*"] = lambda exchange: exchange.reply(401)
    with pytest.raises(RegistryRefusedError, match="does not let us in") as caught:
        await described(server, fetch, SHOUT)
    assert "apiKey" in (caught.value.hint or "")


async def test_the_first_registry_that_has_a_name_counts(
    server: Any, second: Any, fetch: HttpFetch
) -> None:
    both = Registries([Registry(server.url), Registry(second.url)], fetch)
    second.publish(SHOUT, b"export default () => 2")
    answer = await both.describe(SHOUT)
    assert answer.registry == second.url
    server.publish(SHOUT, b"export default () => 1")
    answer = await both.describe(SHOUT)
    assert answer.registry == server.url


async def test_a_registry_that_is_down_is_not_stood_in_for_by_the_next(
    server: Any, second: Any, fetch: HttpFetch
) -> None:
    """Attack: cut the line to the first registry, so that the second one's code is run."""
    second.publish(SHOUT, CODE)
    server.on["*"] = lambda exchange: exchange.reply(503)
    both = Registries([Registry(server.url), Registry(second.url)], fetch)
    with pytest.raises(RegistryOfflineError):
        await both.describe(SHOUT)
    assert second.asked == []


async def test_each_registry_is_given_its_own_key_alone(
    server: Any, second: Any, fetch: HttpFetch
) -> None:
    second.publish(SHOUT, CODE)
    both = Registries([Registry(server.url, "key-of-first"), Registry(second.url)], fetch)
    await both.describe(SHOUT)
    assert server.seen[0].headers["x-api-key"] == "key-of-first"
    assert all("key-of-first" not in str(one.headers) for one in second.seen)
    assert "key-of-first" not in repr(Registry(server.url, "key-of-first"))
