"""The clients themselves, on servers that are not `pml`: what each does with a call and a question."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .claude import Place, headless
from .dialogue import interactive
from .inspector import Inspector
from .model_api import Say, Use, model_api
from .sdk import ERAS, Human, connected

ANSWERS = [("accept", {"verdict": "always"}), ("decline", None), ("cancel", None)]


@pytest.mark.parametrize("mode", ERAS)
async def test_the_sdk_calls_and_hears_of_progress(
    mode: str, asking: dict[str, Any], tmp_path: Path
) -> None:
    async with connected(asking, tmp_path, mode) as connection:
        assert set(await connection.tools()) == {"ask", "steps", "add"}
        added = await connection.call("add", {"a": 1, "b": 2})
        assert added.structured_content == {"sum": 3, "era": ERAS[mode]}
        assert (await connection.call("steps")).structured_content == {"steps": 2}
        assert connection.progress == [(1, 2, "step 1"), (2, 2, "step 2")]
        refused = await connection.call("ask")
        assert (refused.is_error, refused.structured_content) == (
            True, {"error": "the client cannot ask", "era": ERAS[mode]},
        )  # fmt: skip


@pytest.mark.parametrize(("action", "content"), ANSWERS)
@pytest.mark.parametrize("mode", ERAS)
async def test_the_sdk_carries_the_humans_answer(
    mode: str, action: str, content: dict[str, Any] | None, asking: dict[str, Any], tmp_path: Path
) -> None:
    human = Human((action, content))
    async with connected(asking, tmp_path, mode, human) as connection:
        told = (await connection.call("ask")).structured_content
    assert told == {"action": action, "content": content, "era": ERAS[mode]}
    assert [one.message for one in human.questions] == ["Allow `counter:two`?"]


async def test_the_sdk_talks_to_a_server_from_npm(installed: Any, tmp_path: Path) -> None:
    node, file = installed.node("@modelcontextprotocol/server-everything")
    server = {"command": node, "args": [file]}
    async with connected(server, tmp_path, "auto") as connection:
        assert connection.client.protocol_version == "2025-11-25"
        [text] = (await connection.call("echo", {"message": "hi"})).content
        assert text.text == "Echo: hi"


@pytest.mark.parametrize(("era", "version"), [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
def test_the_inspector_lists_and_calls(
    era: str, version: str, asking: dict[str, Any], inspector: Callable[..., Inspector]
) -> None:
    client = inspector(asking, era)
    assert set(client.tools()) == {"ask", "steps", "add"}
    added = client.call("add", {"a": 1, "b": 2})
    assert added["structuredContent"] == {"sum": 3, "era": version}
    assert added["isError"] is False
    refused = client.call("ask", {})
    assert refused["structuredContent"]["error"] == "the client cannot ask"


@pytest.mark.parametrize(("word", "era"), [("", "2026-07-28"), ("legacy", "2025-11-25")])
def test_claude_code_calls_and_answers_no_question_when_headless(
    word: str, era: str, asking: dict[str, Any], claude: Callable[..., Place]
) -> None:
    asking["args"].append(word)
    turns = Use("mcp__pml__add", {"a": 1, "b": 2}), Use("mcp__pml__ask", {}), Say("that was it")
    with model_api(*turns) as api:
        account = headless(claude(asking), api)
    assert (account["result"], account["is_error"]) == ("that was it", False)
    assert {"mcp__pml__ask", "mcp__pml__add", "mcp__pml__steps"} <= set(api.turns[0].tools)
    added, asked = api.last.results
    assert added.json() == {"sum": 3, "era": era}
    assert asked.json() == {"action": "cancel", "content": None, "era": era}


@pytest.mark.parametrize(("word", "era"), [("", "2026-07-28"), ("legacy", "2025-11-25")])
@pytest.mark.parametrize(("action", "content"), ANSWERS)
def test_claude_code_shows_the_human_the_question(
    action: str,
    content: dict[str, Any] | None,
    word: str,
    era: str,
    asking: dict[str, Any],
    claude: Callable[..., Place],
) -> None:
    asking["args"].append(word)
    with (
        model_api(Use("mcp__pml__ask", {}), Say("that was it")) as api,
        interactive(claude(asking), api) as dialogue,
    ):
        shown = dialogue.question()
        assert "Allow `counter:two`?" in shown
        assert "Run it?" in shown
        if content:
            dialogue.choose(content["verdict"])
        else:
            getattr(dialogue, action)()
        dialogue.heard("that was it")
    [told] = api.last.results
    assert told.json() == {"action": action, "content": content, "era": era}
