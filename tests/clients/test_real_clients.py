"""`pml stdio` as real clients meet it: the SDK in both eras, the Inspector, and Claude Code.

Each lists the tools, finds some, runs one program over three real servers, calls an exposed tool
directly, and meets a question. What the model is told of it is looked at where a model is.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .claude import Place, headless
from .conftest import Terminal
from .dialogue import interactive
from .inspector import Inspector
from .model_api import Request, Say, Use, model_api
from .sdk import ERAS, Answer, Human, connected

OURS = ["execute", "discover", "continue_workflow", "abort_workflow"]
DIRECT = "time__get_current_time"
ALLOWED = ["filesystem", "git", "time:convert_time"]
WANTED = {"text": "hello", "tokyo": "21:00", "message": True}
TOGETHER = """
const [file, time, log] = await Promise.all([
  mcp.filesystem.read_text_file({path: `${args.workspace}/hello.txt`}),
  mcp.time.convert_time({source_timezone: 'UTC', time: '12:00', target_timezone: 'Asia/Tokyo'}),
  mcp.git.git_log({repo_path: `${args.workspace}/repo`}),
]);
return {
  text: file.content,
  tokyo: time.target.datetime.slice(11, 16),
  message: JSON.stringify(log).includes('first'),
}"""
CALLED = ["filesystem:read_text_file", "git:git_log", "time:convert_time"]
ASKING = """
try { return (await mcp.time.get_current_time({timezone: 'UTC'})).timezone }
catch (error) { return error.code }"""
QUERY = {"query": "convert a time to another time zone", "limit": 3}

Make = Callable[..., Any]


@pytest.fixture
def project(configure: Make) -> Path:
    """Three real servers; what shows the current time is exposed, and asked about."""
    folder: Path = configure(
        "filesystem", "time", "git", permissions={"allow": ALLOWED}, expose=["time:*"]
    )
    return folder


@pytest.fixture
def pml(project: Path) -> dict[str, Any]:
    """`pml stdio` as a client's configuration names it."""
    environ = {"PML_STATE": str(project.parent / "state")}
    return {"command": sys.executable, "args": ["-m", "pml", "stdio"], "env": environ}


def ran(facts: dict[str, Any]) -> None:
    """Check what `execute` answers to the program over three servers."""
    assert (facts["status"], facts["result"]) == ("success", WANTED)
    assert sorted(call["tool"] for call in facts["calls"]) == CALLED
    assert {call["outcome"] for call in facts["calls"]} == {"ok"}


def waits(facts: dict[str, Any], project: Path) -> str:
    """Check an answer that waits for the human; give the run."""
    assert facts["status"] == "approval_required"
    run: str = facts["workflowId"]
    assert f"`pml approve {run}` in a terminal, in {project}" in facts["message"]
    assert "result" not in facts or facts["result"] is None
    return run


def approvals(project: Path) -> list[str]:
    """Give the tools that wait for the human's word."""
    environ = {**os.environ, "PML_STATE": str(project.parent / "state")}
    done = subprocess.run(
        [sys.executable, "-m", "pml", "approvals", "--json"], cwd=project, env=environ,
        capture_output=True, text=True, check=True, timeout=60, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return [one["tool"] for one in json.loads(done.stdout)]


def allowed(project: Path) -> list[str]:
    """Give what the configuration allows."""
    text = (project / ".pml.json").read_text(encoding="utf-8")
    found: list[str] = json.loads(text)["permissions"]["allow"]
    return found


VERDICTS: list[tuple[Answer, str | None, list[str]]] = [
    (("accept", {"verdict": "yes"}), "UTC", ALLOWED),
    (("accept", {"verdict": "always"}), "UTC", [*ALLOWED, "time:get_current_time"]),
    (("accept", {"verdict": "no"}), "call_denied", ALLOWED),
    (("decline", None), "call_denied", ALLOWED),
    (("cancel", None), None, ALLOWED),
]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize(
    ("answer", "result", "then"), VERDICTS, ids=["yes", "always", "no", "decline", "cancel"]
)
async def test_the_sdk_asks_its_human(
    answer: Answer, result: str | None, then: list[str], mode: str, project: Path, pml: Any
) -> None:
    human = Human(answer)
    async with connected(pml, project, mode, human) as connection:
        assert connection.client.protocol_version == ERAS[mode]
        told = await connection.call("execute", {"code": ASKING})
    [question] = human.questions
    assert "the call time:get_current_time wants to be made" in question.message
    assert question.requested_schema["properties"]["verdict"]["enum"] == ["yes", "always", "no"]
    facts = told.structured_content
    assert told.is_error is False
    if result is None:
        waits(facts, project)
        assert approvals(project) == ["time:get_current_time"]
    else:
        assert (facts["status"], facts["result"]) == ("success", result)
        assert approvals(project) == []
    assert allowed(project) == then


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_sdk_asks_about_a_direct_call_too(mode: str, project: Path, pml: Any) -> None:
    human = Human(("accept", {"verdict": "yes"}), ("decline", None))
    async with connected(pml, project, mode, human) as connection:
        told = await connection.call(DIRECT, {"timezone": "UTC"})
        refused = await connection.call(DIRECT, {"timezone": "UTC"})
    assert told.is_error is False
    assert json.loads(told.content[0].text)["timezone"] == "UTC"
    assert (refused.is_error, refused.structured_content["code"]) == (True, "call_denied")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_sdk_hears_of_progress(mode: str, project: Path, pml: Any) -> None:
    async with connected(pml, project, mode) as connection:
        arguments = {"code": TOGETHER, "args": {"workspace": str(project)}}
        ran((await connection.call("execute", arguments)).structured_content)
    done = [one[0] for one in connection.progress]
    assert len(done) >= len(CALLED)
    assert done == sorted(set(done))


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_drives_it(
    era: str, project: Path, pml: Any, inspector: Callable[..., Inspector]
) -> None:
    client = inspector(pml, era, project)
    tools = client.tools()
    assert list(tools)[:4] == OURS
    assert sorted(list(tools)[4:]) == ["time__convert_time", DIRECT]
    assert tools["execute"]["inputSchema"]["required"] == ["code"]
    found = client.call("discover", QUERY)
    assert found["structuredContent"]["tools"][0]["id"] == "time:convert_time"
    arguments = {"code": TOGETHER, "args": {"workspace": str(project)}}
    done = client.call("execute", arguments)
    ran(done["structuredContent"])
    assert json.loads(done["content"][0]["text"]) == done["structuredContent"]
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    [text] = client.call("time__convert_time", noon)["content"]
    assert json.loads(text["text"])["target"]["datetime"][11:16] == "21:00"
    failed = client.call("execute", {"code": "let a = 1;\nthrow new Error('no')"})
    assert failed["isError"] is True
    assert (failed["structuredContent"]["status"], failed["structuredContent"]["line"]) == (
        "error", 2,
    )  # fmt: skip


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_client_that_cannot_ask_is_told_how_the_human_can_answer(
    era: str, project: Path, pml: Any, inspector: Callable[..., Inspector]
) -> None:
    client = inspector(pml, era, project)
    run = waits(client.call("execute", {"code": ASKING})["structuredContent"], project)
    still = client.call("continue_workflow", {"workflowId": run})["structuredContent"]
    assert waits(still, project) == run
    terminal = Terminal(project, "approve", run)
    assert terminal.read_until("[N]o: ")
    terminal.answer("y\n")
    assert terminal.end()[0] == 0
    done = client.call("continue_workflow", {"workflowId": run})["structuredContent"]
    assert (done["status"], done["result"]) == ("success", "UTC")


def test_claude_code_drives_it(project: Path, pml: Any, claude: Callable[..., Place]) -> None:
    noon = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    turns = (
        Use("mcp__pml__discover", QUERY),
        Use("mcp__pml__execute", {"code": TOGETHER, "args": {"workspace": str(project)}}),
        Use("mcp__pml__time__convert_time", noon),
        Use("mcp__pml__execute", {"code": "let a = 1;\nthrow new Error('no')"}),
        Say("that was it"),
    )
    with model_api(*turns) as api:
        account = headless(claude(pml, project), api)
    assert (account["result"], account["is_error"]) == ("that was it", False)
    tools = api.turns[0].tools
    assert {f"mcp__pml__{name}" for name in OURS} <= set(tools)  # loaded, not deferred
    assert "PML runs code against the user's tools" in api.turns[0].system + api.turns[0].words
    found, done, direct, failed = api.last.results
    assert "convert_time" in found.text
    answers = (found, done, direct)
    assert not any(one.is_error for one in answers), [one.text for one in answers]
    ran(done.json())
    assert direct.json()["target"]["datetime"][11:16] == "21:00"
    assert failed.is_error is True
    assert (failed.json()["status"], failed.json()["line"]) == ("error", 2)


def test_claude_code_without_its_human_tells_the_model_what_waits_and_how_to_answer(
    project: Path, pml: Any, claude: Callable[..., Place]
) -> None:
    def again(request: Request) -> Use:
        run = request.results[0].json()["workflowId"]
        return Use("mcp__pml__continue_workflow", {"workflowId": run})

    turns = (Use("mcp__pml__execute", {"code": ASKING}), again, Say("that was it"))
    with model_api(*turns) as api:
        headless(claude(pml, project), api)
    first, second = api.last.results
    assert waits(first.json(), project) == waits(second.json(), project)
    assert approvals(project) == ["time:get_current_time"]
    assert allowed(project) == ALLOWED


@pytest.mark.parametrize(
    ("verdict", "result", "then"),
    [
        ("yes", "UTC", ALLOWED),
        ("always", "UTC", [*ALLOWED, "time:get_current_time"]),
        ("no", "call_denied", ALLOWED),
        ("decline", "call_denied", ALLOWED),
        ("cancel", None, ALLOWED),
    ],
)
def test_claude_codes_human_answers_in_its_dialog(
    verdict: str,
    result: str | None,
    then: list[str],
    project: Path,
    pml: Any,
    claude: Callable[..., Place],
) -> None:
    with (
        model_api(Use("mcp__pml__execute", {"code": ASKING}), Say("that was it")) as api,
        interactive(claude(pml, project), api) as dialogue,
    ):
        shown = dialogue.question()
        assert "the call time:get_current_time wants to be made" in shown
        assert '{"timezone": "UTC"}' in shown
        if verdict in ("decline", "cancel"):
            getattr(dialogue, verdict)()
        else:
            dialogue.choose(verdict)
        dialogue.heard("that was it")
    [told] = api.last.results
    if result is None:
        waits(told.json(), project)
    else:
        assert (told.json()["status"], told.json()["result"]) == ("success", result)
    assert allowed(project) == then
