"""Names whose addresses are not what they seem."""

from collections.abc import Sequence
from typing import Any

import pytest

from pml.backends.errors import RemoteRefusedError, ServerEndedError, ServerStartError


class Resolver:
    """Gives one list of addresses after another, the last one for ever."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not answer:
            raise OSError("no such host")
        return answer


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["0.0.0.0"],
        ["100.64.0.1"],
    ],
)
async def test_a_public_name_at_a_private_address_is_never_connected_to(
    server: Any, connect: Any, addresses: list[str]
) -> None:
    # The attack: a name of the attacker's points into our network, or at this very machine.
    resolver = Resolver(addresses)
    backend = await connect(f"https://evil.example:{server.port}/mcp", resolver=resolver)

    with pytest.raises(RemoteRefusedError, match="evil.example"):
        await backend.list_tools()

    assert server.seen == []
    assert resolver.asked == [("evil.example", server.port)]


async def test_one_bad_address_among_good_ones_refuses_them_all(server: Any, connect: Any) -> None:
    # The attack: the first address times out, and the client moves on to the second.
    resolver = Resolver(["93.184.215.14", "127.0.0.1"])
    backend = await connect(f"https://evil.example:{server.port}/", resolver=resolver)

    with pytest.raises(RemoteRefusedError):
        await backend.list_tools()

    assert server.seen == []


async def test_the_address_that_was_judged_is_the_one_that_is_dialled(
    server: Any, connect: Any
) -> None:
    # The attack: a good address for the check, a bad one for the connection. There is one look.
    resolver = Resolver(["127.0.0.1"])
    backend = await connect(f"http://app.localhost:{server.port}/mcp", resolver=resolver)

    await backend.call_tool("echo", {}, timeout_seconds=5)

    # No connection is kept alive by this server, so each exchange dialled once.
    assert len(resolver.asked) == len(server.seen)
    assert {exchange.headers["host"] for exchange in server.seen} == {
        f"app.localhost:{server.port}"
    }


async def test_a_name_that_changes_its_address_during_a_session_is_refused(
    server: Any, connect: Any
) -> None:
    good = ["127.0.0.1"]
    resolver = Resolver(good, good, good, good, ["10.0.0.1"])
    backend = await connect(f"http://app.localhost:{server.port}/mcp", resolver=resolver)
    await backend.list_tools()
    await server.heard("GET")

    with pytest.raises(RemoteRefusedError, match="not loopback"):
        await backend.call_tool("echo", {}, timeout_seconds=5)

    assert "tools/call" not in server.said


async def test_localhost_at_another_address_is_refused(server: Any, connect: Any) -> None:
    # The attack: a poisoned hosts file or resolver sends plain http over the network.
    resolver = Resolver(["192.168.1.1"])
    backend = await connect(f"http://localhost:{server.port}/mcp", resolver=resolver)

    with pytest.raises(RemoteRefusedError):
        await backend.list_tools()


async def test_a_literal_address_asks_no_resolver(server: Any, connect: Any) -> None:
    resolver = Resolver(["10.0.0.1"])
    backend = await connect(server.url, resolver=resolver)

    await backend.list_tools()

    assert resolver.asked == []


async def test_a_name_that_nobody_knows_is_a_start_error(connect: Any) -> None:
    backend = await connect("https://nowhere.example/mcp", resolver=Resolver([]))

    with pytest.raises(ServerStartError, match="cannot connect: no such host"):
        await backend.list_tools()


async def test_nobody_listening_is_a_start_error(start: Any, connect: Any) -> None:
    backend = await connect("http://127.0.0.1:1/mcp")

    with pytest.raises(ServerStartError, match="cannot connect: Connection refused"):
        await backend.list_tools()

    assert backend.status().error is not None


async def test_a_backend_that_is_not_open_says_so() -> None:
    from pml.backends.http import HttpBackend  # noqa: PLC0415 - only here

    backend = HttpBackend("remote", "https://example.com/mcp", {})

    with pytest.raises(ServerEndedError, match="not open"):
        await backend.list_tools()
    await backend.aclose()
