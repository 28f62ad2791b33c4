"""A server that sends us elsewhere. Secrets must not go where the configuration did not say."""

from typing import Any

import pytest

from pml.backends.errors import RemoteRefusedError

SECRET = {"Authorization": "Bearer secret-value"}


def to(location: str, status: int = 307) -> Any:
    async def redirect(exchange: Any) -> None:
        await exchange.reply(status, headers={"Location": location})

    return redirect


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_another_origin_is_refused_and_never_spoken_to(
    start: Any, connect: Any, status: int
) -> None:
    # The attack: a server (or whoever took it over) redirects, and the client brings the token.
    server, thief = await start(), await start()
    server.on["initialize"] = to(thief.url, status)
    backend = await connect(server.url, SECRET)

    with pytest.raises(RemoteRefusedError) as caught:
        await backend.list_tools()

    assert thief.seen == []
    assert "another origin" in str(caught.value)
    assert "secret-value" not in str(caught.value)


async def test_a_redirect_in_the_middle_of_a_session_is_refused(start: Any, connect: Any) -> None:
    server, thief = await start(), await start()
    server.on["tools/call"] = to(thief.url)
    backend = await connect(server.url, SECRET)
    await backend.list_tools()

    with pytest.raises(RemoteRefusedError):
        await backend.call_tool("echo", {"card": "1234"}, timeout_seconds=5)

    assert thief.seen == []


@pytest.mark.parametrize(
    "location",
    ["http://169.254.169.254/", "http://localhost:{port}/mcp", "//127.0.0.2:{port}/mcp"],
)
async def test_another_name_for_the_same_machine_is_another_origin(
    server: Any, connect: Any, location: str
) -> None:
    server.on["initialize"] = to(location.format(port=server.port))
    backend = await connect(server.url, SECRET)

    with pytest.raises(RemoteRefusedError):
        await backend.list_tools()

    assert server.said == ["initialize"]


@pytest.mark.parametrize("status", [307, 308])
async def test_the_same_origin_is_followed_with_method_body_and_headers(
    server: Any, connect: Any, status: int
) -> None:
    async def moved(exchange: Any) -> None:
        if exchange.target == "/mcp":
            await exchange.reply(status, headers={"Location": "/mcp/?x=1"})
        else:
            await exchange.result({"content": [], "at": exchange.target})

    server.on["tools/call"] = moved
    backend = await connect(server.url, SECRET)

    result = await backend.call_tool("echo", {}, timeout_seconds=5)

    assert result["at"] == "/mcp/?x=1"
    first, second = server.calls("tools/call")
    assert (first.verb, first.body) == (second.verb, second.body)
    assert second.headers["authorization"] == "Bearer secret-value"


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_turns_a_call_into_a_get_is_refused(
    server: Any, connect: Any, status: int
) -> None:
    server.on["tools/call"] = to("/other", status)
    backend = await connect(server.url)

    with pytest.raises(RemoteRefusedError, match="loses the call"):
        await backend.call_tool("echo", {}, timeout_seconds=5)


async def test_redirecting_in_circles_ends(server: Any, connect: Any) -> None:
    server.on["initialize"] = to("/mcp")
    backend = await connect(server.url)

    with pytest.raises(RemoteRefusedError, match="more than 3 times"):
        await backend.list_tools()

    assert len(server.seen) == 4
