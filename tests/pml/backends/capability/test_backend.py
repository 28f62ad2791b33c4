"""A capability as a tool: what it offers, takes, gives and refuses."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from pml.backends.capability.backend import MOST_AT_ONCE
from pml.backends.errors import (
    ArgumentsUnfitError,
    CallTimeoutError,
    ToolTwiceError,
    ToolUnknownError,
)
from pml.backends.results import value_of
from pml.fqdn import integrity_of
from pml.loader.errors import KeysMissingError
from pml.loader.lockfile import IntegrityError
from sandbox_host import Call, ToolError

SHOUT = "export function shout(args: {text: string}) { return {text: args.text.toUpperCase()} }"
TAKES_TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def nobody(call: Call) -> Any:
    raise ToolError("nobody is here", code="no_tools")


async def value(shelf: Any, tool: str, arguments: dict[str, Any]) -> Any:
    return await shelf.backend().run(tool, arguments, nobody, 20.0)


@pytest.mark.parametrize(
    "code",
    [
        SHOUT,
        "export const shout = async (args) => ({text: args.text.toUpperCase()})",
        "function one(args) { return {text: args.text.toUpperCase()} }\nexport { one as shout }",
        "export default (args) => ({text: args.text.toUpperCase()})",
        "export async function callTool(name, args) { return {text: args.text.toUpperCase()} }",
        "return {text: args.text.toUpperCase()}",
        "({text: args.text.toUpperCase()})",
    ],
)
async def test_every_shape_of_code_runs(shelf: Any, code: str) -> None:
    await shelf.put("text.shout", code)
    assert await value(shelf, "shout", {"text": "hi"}) == {"text": "HI"}


async def test_a_module_offers_several_tools(shelf: Any) -> None:
    code = f"{SHOUT}\nexport function whisper(args) {{ return args.text.toLowerCase() }}"
    schema = {"name": "whisper", "description": "Quietly", "inputSchema": TAKES_TEXT}
    await shelf.put(
        "text.module", code, tools=["text:shout", "text:whisper"], definitions=[schema]
    )
    listing = await shelf.backend().list_tools()
    assert [(tool.name, tool.description) for tool in listing.tools] == [
        ("shout", ""), ("whisper", "Quietly"),
    ]  # fmt: skip
    assert await value(shelf, "whisper", {"text": "HI"}) == "hi"


@pytest.mark.parametrize("given", [3, "text", None, [1, {"a": 2}], {"a": [True]}])
async def test_a_value_comes_back_as_it_is(shelf: Any, given: Any) -> None:
    await shelf.put("text.give", "return args.given")
    assert await value(shelf, "give", {"given": given}) == given


async def test_a_result_has_the_shape_of_a_servers(shelf: Any) -> None:
    await shelf.put("text.shout", SHOUT)
    result = await shelf.backend().call_tool("shout", {"text": "a"}, timeout_seconds=20)
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"] == {"text": "A"}


async def test_what_goes_wrong_in_it_is_an_error_with_its_place(shelf: Any) -> None:
    await shelf.put("text.shout", "return 1 +\n missing")
    result = await shelf.backend().call_tool("shout", {}, timeout_seconds=20)
    assert result["isError"]
    with pytest.raises(ToolError, match=r"in `text:shout` \(line 3\).*missing"):
        value_of("text:shout", result)


async def test_arguments_that_do_not_fit_never_reach_the_code(shelf: Any) -> None:
    await shelf.put("text.shout", "while (true) {}", parametersSchema=TAKES_TEXT)
    for arguments, words in (({}, "`text` is missing"), ({"text": 7}, "must be a string")):
        with pytest.raises(ArgumentsUnfitError, match=words):
            await value(shelf, "shout", arguments)


async def test_an_unknown_tool_is_told(shelf: Any) -> None:
    await shelf.put("text.shout", SHOUT)
    with pytest.raises(ToolUnknownError):
        await value(shelf, "whisper", {})


async def test_it_sees_no_file_and_no_network(shelf: Any) -> None:
    code = """const tried = []
    for (const attempt of [() => Deno.readTextFile("/etc/hostname"), () => fetch("http://x/")]) {
      try { await attempt(); tried.push("done") } catch (error) { tried.push("refused") }
    }
    return tried"""
    await shelf.put("text.peek", code)
    assert await value(shelf, "peek", {}) == ["refused", "refused"]


async def test_calls_share_nothing(shelf: Any) -> None:
    await shelf.put("text.count", "globalThis.n = (globalThis.n ?? 0) + 1; return globalThis.n")
    assert [await value(shelf, "count", {}) for _ in range(3)] == [1, 1, 1]


async def test_an_endless_loop_ends_at_its_limit(
    shelf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pml.backends.capability.running.MOST_CPU_SECONDS", 0.2)
    await shelf.put("text.spin", "while (true) {}")
    with pytest.raises(ToolError) as caught, anyio.fail_after(15):
        await value(shelf, "spin", {})
    assert caught.value.code == "cpu_limit"


async def test_one_that_waits_for_ever_is_stopped(shelf: Any) -> None:
    await shelf.put("text.wait", "await mcp.free.wait({})")
    with pytest.raises(CallTimeoutError), anyio.fail_after(15):
        await shelf.backend().run("wait", {}, lambda _: anyio.sleep_forever(), 0.2)


async def test_a_flipped_byte_is_found_at_the_next_call_and_nothing_runs(shelf: Any) -> None:
    await shelf.put("text.shout", "await mcp.free.note({}); return 1")
    backend = shelf.backend()
    called: list[str] = []

    async def host(call: Call) -> Any:
        called.append(call.tool)
        return {}

    assert await backend.run("shout", {}, host, 20.0) == 1
    path: Path = shelf.blobs[0]
    content = path.read_bytes()
    path.write_bytes(content.replace(b"return 1", b"return 2"))
    with pytest.raises(IntegrityError) as caught:
        await backend.run("shout", {}, host, 20.0)
    assert caught.value.expected == integrity_of(content)
    assert caught.value.actual == integrity_of(path.read_bytes())
    assert called == ["free:note"]


async def test_a_missing_key_is_named_and_nothing_runs(shelf: Any) -> None:
    await shelf.put("text.shout", SHOUT, envRequired=["SHOUT_KEY"])
    with pytest.raises(KeysMissingError, match="text requires SHOUT_KEY"):
        await value(shelf, "shout", {"text": "a"})
    shelf.keys.add("SHOUT_KEY")
    assert await value(shelf, "shout", {"text": "a"}) == {"text": "A"}


async def test_a_configured_server_goes_before_with_a_note(shelf: Any) -> None:
    await shelf.put("text.shout", SHOUT)
    await shelf.put("other.shout", SHOUT)
    assert [one.name for one in shelf.backends(taken=("text",))] == ["other"]
    ((server, level, words),) = shelf.words.logs
    assert (server, level) == ("text", "info")
    assert "configured server" in words


async def test_two_that_offer_the_same_tool_are_both_left_out_by_name(shelf: Any) -> None:
    """Attack: wait until somebody adds a second `text:shout` beside the real one."""
    await shelf.put("text.shout", SHOUT)
    await shelf.put("text.pack", SHOUT, tools=["text:shout", "text:other"])
    listing = await shelf.backend().list_tools()
    assert [tool.name for tool in listing.tools] == ["other"]
    assert "acme.tools.text.pack" in listing.skipped[0].reason
    with pytest.raises(ToolTwiceError, match="offered by acme.tools.text.pack"):
        await value(shelf, "shout", {"text": "a"})


async def test_one_that_cannot_be_described_costs_itself_and_no_other(shelf: Any) -> None:
    await shelf.put("text.shout", SHOUT)
    (path,) = shelf.blobs
    await shelf.put("text.whole", "return 1")
    content = path.read_bytes()
    path.write_bytes(content + b"//")
    listing = await shelf.backend().list_tools()
    assert [tool.name for tool in listing.tools] == ["whole"]
    assert integrity_of(content) in listing.skipped[0].reason
    backend = shelf.backend()
    assert await backend.run("whole", {}, nobody, 20.0) == 1
    with pytest.raises(IntegrityError):
        await backend.run("shout", {"text": "a"}, nobody, 20.0)
    path.write_bytes(content)
    assert await backend.run("shout", {"text": "a"}, nobody, 20.0) == {"text": "A"}


async def test_more_calls_than_places_wait_their_turn(shelf: Any) -> None:
    await shelf.put("text.slow", "await mcp.free.wait({}); return 1")
    backend = shelf.backend()
    inside, full, go = 0, anyio.Event(), anyio.Event()

    async def host(call: Call) -> Any:
        nonlocal inside
        inside += 1
        if inside == MOST_AT_ONCE:
            full.set()
        await go.wait()
        return {}

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            for _ in range(MOST_AT_ONCE + 4):
                tasks.start_soon(backend.run, "slow", {}, host, 20.0)
            await full.wait()
            assert inside == MOST_AT_ONCE
            assert backend.status().state == "running"
            go.set()
    assert inside == MOST_AT_ONCE + 4
