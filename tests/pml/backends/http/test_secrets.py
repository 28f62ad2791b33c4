"""What the server is told, and what nobody is told."""

import pathlib
import ssl
from typing import Any

import pytest

from pml.backends.errors import BackendError, RemoteRefusedError, ServerStartError
from pml.backends.http import HttpBackend

SECRET = {"Authorization": "Bearer secret-value", "X-Team": "blue"}


async def test_the_configured_headers_go_with_every_request(server: Any, connect: Any) -> None:
    backend = await connect(server.url, SECRET)
    await backend.list_tools()
    await server.heard("GET")
    await backend.aclose()

    assert {"initialize", "notifications/initialized", "tools/list", "GET", "DELETE"} <= set(
        server.said
    )
    for exchange in server.seen:
        assert exchange.headers["authorization"] == "Bearer secret-value"
        assert exchange.headers["x-team"] == "blue"


async def test_proxies_of_the_environment_are_ignored(
    start: Any, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The attack: whoever sets a variable reads every token.
    server, proxy = await start(), await start()
    for name in (
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    backend = await connect(server.url, SECRET)

    await backend.list_tools()

    assert proxy.seen == []


async def test_cookies_are_not_kept(server: Any, connect: Any) -> None:
    async def baking(exchange: Any) -> None:
        await exchange.result({"tools": []}, {"Set-Cookie": "track=me; Path=/"})

    server.on["tools/list"] = baking
    backend = await connect(server.url)
    await backend.list_tools()

    await backend.call_tool("echo", {}, timeout_seconds=5)

    assert all("cookie" not in exchange.headers for exchange in server.seen)


@pytest.mark.parametrize("status", [401, 403])
async def test_missing_credentials_are_named(server: Any, connect: Any, status: int) -> None:
    async def refuse(exchange: Any) -> None:
        await exchange.reply(status, headers={"WWW-Authenticate": "Bearer"})

    server.on["initialize"] = refuse
    backend = await connect(server.url)

    with pytest.raises(ServerStartError) as caught:
        await backend.list_tools()

    assert f"HTTP {status}: the header `Authorization` is probably missing" in str(caught.value)
    assert "server/discover" not in server.said


async def test_refused_credentials_are_named_and_not_shown(server: Any, connect: Any) -> None:
    async def refuse(exchange: Any) -> None:
        await exchange.reply(401, body=exchange.headers["authorization"].encode())

    server.on["initialize"] = refuse
    backend = await connect(server.url, SECRET)

    with pytest.raises(ServerStartError) as caught:
        await backend.list_tools()

    assert "did not accept the configured header `Authorization`" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "secret" not in str(backend.status())


async def test_credentials_refused_in_the_middle_are_named_too(server: Any, connect: Any) -> None:
    async def refuse(exchange: Any) -> None:
        await exchange.reply(403)

    server.on["tools/call"] = refuse
    backend = await connect(server.url, {"X-Api-Key": "secret-value"})

    with pytest.raises(BackendError) as caught:
        await backend.call_tool("echo", {}, timeout_seconds=5)

    assert "`X-Api-Key`" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_context_that_does_not_verify_is_refused() -> None:
    lax = ssl.create_default_context()
    lax.check_hostname = False
    with pytest.raises(ValueError, match="SSLContext"):
        HttpBackend("remote", "https://example.com/", {}, tls=lax)
    lax.verify_mode = ssl.CERT_NONE
    with pytest.raises(ValueError, match="SSLContext"):
        HttpBackend("remote", "https://example.com/", {}, tls=lax)


def test_a_workspace_that_is_not_absolute_is_refused() -> None:
    with pytest.raises(ValueError, match="relative"):
        HttpBackend("remote", "https://example.com/", {}, root=pathlib.Path("relative"))


def test_the_configuration_is_checked_before_anything_starts() -> None:
    with pytest.raises(RemoteRefusedError):
        HttpBackend("remote", "http://example.com/", {})
    with pytest.raises(RemoteRefusedError):
        HttpBackend("remote", "https://example.com/", {"X": "a\r\nb"})


async def test_nothing_of_the_query_is_in_an_error_or_a_record(
    server: Any, connect: Any, witness: Any
) -> None:
    async def refuse(exchange: Any) -> None:
        await exchange.reply(500)

    server.on["tools/call"] = refuse
    backend = await connect(f"{server.url}?key=secret-value", observer=witness)

    with pytest.raises(BackendError) as caught:
        await backend.call_tool("echo", {}, timeout_seconds=5)

    assert server.seen[0].target == "/mcp?key=secret-value"
    assert "secret" not in f"{caught.value} {witness.starts} {backend.status()}"
