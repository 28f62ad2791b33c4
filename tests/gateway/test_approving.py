"""The human's word through a client: in both eras, across restarts, and never from the model."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.server.request_state import AESGCMRequestStateCodec

from pml.execution.workflows import MOST_RUNS
from pml.trust.key import made_key

from .conftest import Workspace, accepting, connected

sys.path.insert(0, str(Path(__file__).parents[1] / "servers"))
from terminal import Terminal  # type: ignore[import-not-found]

NAMING = Path(__file__).with_name("naming_server.py")
ERAS = pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
CALL = "try { return (await mcp.counter.two({to: 'ada'})).did } catch (e) { return e.code }"


def nobody(_: Any) -> dict[str, Any]:
    return {"action": "cancel"}


@ERAS
async def test_yes_in_the_clients_form_lets_this_call_be_made(
    workspace: Workspace, modern: bool
) -> None:
    workspace.configure(permissions={"allow": ["counter:one"]})
    before = workspace.held()
    async with connected(workspace, modern=modern, answer=accepting("yes")) as client:
        facts = await client.facts("execute", code=f"await mcp.counter.one({{}}); {CALL}")
        assert facts["result"] == "two"
        await client.facts("execute", code=CALL)
    assert len(client.asked) == 2
    assert "the call counter:two wants to be made" in client.asked[0]["message"]
    assert '{"to": "ada"}' in client.asked[0]["message"]
    assert client.asked[0]["requestedSchema"]["properties"]["verdict"]["enum"] == [
        "yes", "always", "no",
    ]  # fmt: skip
    assert workspace.effects == ["one", "two", "two"]
    assert workspace.held() == before


@ERAS
async def test_always_is_written_down_and_not_asked_again(
    workspace: Workspace, modern: bool
) -> None:
    workspace.configure()
    async with connected(workspace, modern=modern, answer=accepting("always")) as client:
        assert (await client.facts("execute", code=CALL))["result"] == "two"
        assert (await client.facts("execute", code=CALL))["result"] == "two"
    assert len(client.asked) == 1
    config = json.loads((workspace.path / ".pml.json").read_text(encoding="utf-8"))
    assert config["permissions"]["allow"] == ["counter:two"]


@ERAS
@pytest.mark.parametrize(
    "said",
    [{"action": "decline"}, {"action": "accept", "content": {"verdict": "no"}}],
    ids=["declined", "no"],
)
async def test_no_is_no(workspace: Workspace, modern: bool, said: dict[str, Any]) -> None:
    workspace.configure()
    async with connected(workspace, modern=modern, answer=lambda _: said) as client:
        assert (await client.facts("execute", code=CALL))["result"] == "call_denied"
    assert workspace.effects == []


@ERAS
@pytest.mark.parametrize(
    "said",
    [
        {"action": "cancel"},
        {"action": "accept"},
        {"action": "accept", "content": {}},
        {"action": "accept", "content": {"verdict": "YES"}},
        {"action": "accept", "content": {"verdict": "skip"}},
        {"action": "accept", "content": {"approved": True, "ok": True}},
        {"action": "accept", "content": {"verdict": {"yes": True}}},
        {"action": "accept", "content": ["yes"]},
        {"action": "perhaps"},
        {},
    ],
    ids=json.dumps,
)
async def test_what_is_no_answer_leaves_the_run_waiting(
    workspace: Workspace, modern: bool, said: dict[str, Any]
) -> None:
    """Attack: a headless client, or a sloppy one, whose answer could be taken for a yes."""
    workspace.configure()
    async with connected(workspace, modern=modern, answer=lambda _: said) as client:
        result = await client.call("execute", code=CALL)
        facts = result["structuredContent"]
        assert "isError" not in result
        assert facts["status"] == "approval_required"
        assert facts["message"].startswith(
            f"the user must answer: `pml approve {facts['workflowId']}`"
        )
        assert len(client.asked) == 1
        again = await client.facts("continue_workflow", workflowId=facts["workflowId"])
        assert again["status"] == "approval_required"
        ended = await client.facts("abort_workflow", workflowId=facts["workflowId"])
        assert ended["status"] == "aborted"
        gone = await client.facts("continue_workflow", workflowId=facts["workflowId"])
        assert gone["code"] == "workflow_unknown"
    assert workspace.effects == []


@ERAS
async def test_approved_in_a_terminal_the_outcome_is_collected_after_a_restart(
    workspace: Workspace, modern: bool
) -> None:
    workspace.configure(permissions={"allow": ["counter:one"]})
    code = f"const first = (await mcp.counter.one({{}})).did; console.log('hi'); const second = await (async () => {{ {CALL} }})(); return [first, second]"
    async with connected(workspace, modern=modern) as client:
        waiting = await client.facts("execute", code=code)
    assert waiting["status"] == "approval_required"
    assert workspace.effects == ["one"]
    terminal = Terminal(workspace.path, "approve", waiting["workflowId"])
    assert terminal.read_until("[N]o: ")
    terminal.answer("y\n")
    exit_code, shown = terminal.end()
    assert (exit_code, '["one","two"]' in shown) == (0, True)
    async with connected(workspace, modern=modern) as client:
        facts = await client.facts("continue_workflow", workflowId=waiting["workflowId"])
        assert (facts["status"], facts["result"]) == ("success", ["one", "two"])
        assert facts["logs"] == [{"level": "log", "text": "hi"}]
        again = await client.facts("continue_workflow", workflowId=waiting["workflowId"])
        assert again["code"] == "workflow_unknown"
    assert workspace.effects == ["one", "two"]


@ERAS
async def test_a_run_that_was_not_answered_is_asked_about_again_when_it_is_continued(
    workspace: Workspace, modern: bool
) -> None:
    workspace.configure()
    async with connected(workspace, modern=modern) as client:
        waiting = await client.facts("execute", code=CALL)
        again = await client.facts("continue_workflow", workflowId=waiting["workflowId"])
        assert again["status"] == "approval_required"
    async with connected(workspace, modern=modern, answer=accepting("yes")) as client:
        facts = await client.facts("continue_workflow", workflowId=waiting["workflowId"])
    assert facts["result"] == "two"
    assert workspace.effects == ["two"]


async def test_a_sealed_state_counts_for_its_own_call_alone(workspace: Workspace) -> None:
    """Attack: the state of one question is replayed with another program, or forged."""
    workspace.configure()
    async with connected(workspace, modern=True, answer=accepting("yes")) as client:
        first = {"name": "execute", "arguments": {"code": CALL}}
        asked = await client.request("tools/call", first)
        responses = {
            key: {"action": "accept", "content": {"verdict": "yes"}}
            for key in asked["inputRequests"]
        }
        state = asked["requestState"]
        other = {"name": "execute", "arguments": {"code": "await mcp.counter.three({})"}}
        for params in (
            {**other, "requestState": state, "inputResponses": responses},
            {**first, "requestState": state[:-4] + "AAAA", "inputResponses": responses},
            {**first, "requestState": "aaaaaaaaaa", "inputResponses": responses},
        ):
            refused = await client.request("tools/call", params)
            assert refused["error"]["code"] == -32602
        assert workspace.effects == []
        unasked = {**first, "inputResponses": responses}  # a verdict without the state of a run
        assert (await client.request("tools/call", unasked))["resultType"] == "input_required"
        assert workspace.effects == []
        params = {**first, "requestState": state, "inputResponses": responses}
        done = await client.request("tools/call", params)
        assert done["structuredContent"]["result"] == "two"
        replayed = await client.request("tools/call", params)
        assert replayed["isError"] is True
    assert workspace.effects == ["two"]


async def test_a_sealed_state_counts_for_as_long_as_its_run_waits(workspace: Workspace) -> None:
    """Or the human's word of tomorrow is refused although the run is still there."""
    workspace.configure()
    async with connected(workspace, modern=True, answer=nobody) as client:
        params = {"name": "execute", "arguments": {"code": CALL}}
        asked = await client.request("tools/call", params)
    codec = AESGCMRequestStateCodec([made_key(workspace.state)])
    claims = json.loads(codec.unseal(asked["requestState"]))
    [run] = workspace.state.glob("workspaces/*/runs/*/run.json")
    waiting = json.loads(run.read_bytes().partition(b"\n")[2])
    assert claims["exp"] >= waiting["expires"]


async def test_a_client_that_lost_its_state_goes_on_with_the_workflow(
    workspace: Workspace,
) -> None:
    workspace.configure()
    async with connected(workspace, modern=True, answer=accepting("yes")) as client:
        params = {"name": "execute", "arguments": {"code": CALL}}
        asked = await client.request("tools/call", params)
        run = asked["_meta"]["workflowId"]
        assert run != asked["requestState"]
        facts = await client.facts("continue_workflow", workflowId=run)
    assert facts["result"] == "two"
    assert workspace.effects == ["two"]


@ERAS
async def test_only_where_the_users_own_file_says_so_the_model_may_approve(
    workspace: Workspace, modern: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.configure()
    async with connected(workspace, modern=modern) as client:
        waiting = await client.facts("execute", code=CALL)
        run = waiting["workflowId"]
        refused = await client.call("continue_workflow", workflowId=run, approved=True)
        assert refused["isError"] is True
        assert "no argument `approved`" in json.dumps(refused)
    own = workspace.path.parent / "config" / "pml"
    own.mkdir(parents=True)
    (own / "config.json").write_text('{"approvals": "model"}', encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own.parent))
    async with connected(workspace, modern=modern) as client:
        listed = await client.request("tools/list")
        assert "approved" in json.dumps(listed)
        facts = await client.facts("continue_workflow", workflowId=run, approved=True)
    assert facts["result"] == "two"
    assert workspace.effects == ["two"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=8) | st.just("yes"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
NAMES = st.sampled_from(
    ["execute", "discover", "continue_workflow", "abort_workflow", "counter__two", "counter:two",
     "mcp.counter.two", "approve", "trust", "allow", ""]
)  # fmt: skip
KEYS = st.sampled_from(
    ["workflowId", "approved", "always", "verdict", "code", "args", "allow", "permissions",
     "requestState", "inputResponses", "trust", "yes", "dryRun", "approvals", "query"]
)  # fmt: skip
VALUES = JSON | st.sampled_from([True, "always", "yes", {"verdict": "always"}, "RUN", "QUESTION"])
CALLS = st.tuples(
    NAMES, st.dictionaries(KEYS, VALUES, max_size=5), st.dictionaries(KEYS, VALUES, max_size=2)
)


@ERAS
async def test_no_json_that_a_model_or_client_sends_grants_anything(
    workspace: Workspace, modern: bool
) -> None:
    """Attack: every tool with arbitrary JSON, true verdicts, forged ids and states included."""
    workspace.configure(expose=["counter:two"])
    async with connected(workspace, modern=modern) as client:
        waiting = await client.facts("execute", code=CALL)
        before = workspace.held()
        known = {"RUN": waiting["workflowId"], "QUESTION": waiting["approvals"][0]["id"]}

        sent: list[tuple[str, dict[str, Any], dict[str, Any]]] = []

        @settings(max_examples=150, database=None, deadline=None,
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(CALLS)
        def gather(call: tuple[str, dict[str, Any], dict[str, Any]]) -> None:
            sent.append(call)

        gather()
        for name, arguments, beside in sent:
            given_arguments = {
                key: known.get(value, value) if isinstance(value, str) else value
                for key, value in arguments.items()
            }
            if name == "abort_workflow":  # ending a run is no grant
                given_arguments.pop("workflowId", None)
            params = {**beside, "name": name, "arguments": given_arguments}
            await client.request("tools/call", params)
            assert workspace.effects == []
        assert workspace.held() == before


@pytest.mark.parametrize("name", ["execute", "counter__two"])
async def test_a_retry_after_an_answer_in_a_terminal_collects_the_outcome(
    workspace: Workspace, name: str
) -> None:
    """Or the model hears that there is no such run, and does everything again."""
    workspace.configure(expose=["counter:two"])
    arguments = {"code": "return (await mcp.counter.two({})).did"} if name == "execute" else {}
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    async with connected(workspace, modern=True, answer=nobody) as client:
        asked = await client.request("tools/call", params)
        [question] = asked["inputRequests"]
        terminal = Terminal(workspace.path, "approve", question)
        assert terminal.read_until("[N]o: ")
        terminal.answer("y\n")
        assert terminal.end()[0] == 0
        answers = {question: {"action": "accept", "content": {"verdict": "yes"}}}
        again = {"requestState": asked["requestState"], "inputResponses": answers}
        result = await client.request("tools/call", {**params, **again})
    facts = result["structuredContent"]
    assert (facts.get("result") or facts["did"]) == "two"
    assert workspace.effects == ["two"]


async def test_questions_that_nobody_answers_do_not_keep_the_next_from_the_human(
    workspace: Workspace,
) -> None:
    """Attack: a program in a loop asks a hundred times; then nothing could be asked for a week."""
    workspace.configure()
    async with connected(workspace) as client:
        waiting = [await client.facts("execute", code=CALL) for _ in range(MOST_RUNS + 1)]
        assert {facts["status"] for facts in waiting} == {"approval_required"}
        oldest = await client.facts("continue_workflow", workflowId=waiting[0]["workflowId"])
        assert oldest["code"] == "workflow_unknown"
    assert len(list(workspace.state.glob("workspaces/*/runs/*"))) == MOST_RUNS
    [audit] = workspace.state.glob("workspaces/*/audit.jsonl")
    lines = [json.loads(line) for line in audit.read_text(encoding="utf-8").splitlines()]
    ended = [line for line in lines if line["event"] == "run_ended"]
    assert [line["facts"] for line in ended] == [
        {"run": waiting[0]["workflowId"], "outcome": "expired"}
    ]


UNKNOWN = "try { await mcp.counter.thre({}) } catch (e) { return [e.code, e.message] }"


@ERAS
async def test_the_human_is_not_asked_about_a_tool_that_a_listed_server_does_not_have(
    workspace: Workspace, modern: bool
) -> None:
    workspace.configure(permissions={"allow": ["counter:one"], "deny": ["counter:two"]})
    code = f"await mcp.counter.one({{}}); {UNKNOWN}"
    async with connected(workspace, modern=modern, answer=accepting("yes")) as client:
        running = (await client.facts("execute", code=code))["result"]
    assert running[0] == "tool_unknown"
    assert running[1].endswith("did you mean counter:three?")
    async with connected(workspace, modern=modern, answer=accepting("yes")) as client:
        built_in = "try { await mcp.shell.exe({}) } catch (e) { return e.code }"
        assert (await client.facts("execute", code=built_in))["result"] == "tool_unknown"
        await client.facts("discover", pattern="counter:*")
    async with connected(workspace, modern=modern, answer=accepting("yes")) as kept:
        assert (await kept.facts("execute", code=UNKNOWN))["result"] == running
    assert client.asked == kept.asked == []
    assert workspace.effects == ["one"]


async def test_a_tool_that_came_after_the_list_was_kept_is_asked_about(
    workspace: Workspace,
) -> None:
    """Or a server that offers more after a login could never be used again."""
    names = workspace.path / "names"
    names.write_text("one", encoding="utf-8")
    workspace.servers["naming"] = {
        "command": sys.executable, "args": [str(NAMING), "${workspace}"],
        "sandbox": {"fsRead": ["${workspace}"]},
    }  # fmt: skip
    workspace.configure()
    async with connected(workspace) as client:
        assert len((await client.facts("discover", pattern="naming:*"))["tools"]) == 1
    names.write_text("one two", encoding="utf-8")
    async with connected(workspace) as client:
        facts = await client.facts("execute", code="await mcp.naming.two({})")
    assert facts["status"] == "approval_required"
    [audit] = workspace.state.glob("workspaces/*/audit.jsonl")
    started = '"server_started","facts":{"server":"naming"'
    assert audit.read_text(encoding="utf-8").count(started) == 2  # it was asked again


async def test_a_tool_of_a_server_that_was_never_listed_is_asked_about_before_it_starts(
    workspace: Workspace,
) -> None:
    workspace.configure()
    async with connected(workspace) as client:
        waiting = await client.facts("execute", code=UNKNOWN)
    assert waiting["status"] == "approval_required"
    [audit] = workspace.state.glob("workspaces/*/audit.jsonl")
    assert "server_started" not in audit.read_text(encoding="utf-8")
