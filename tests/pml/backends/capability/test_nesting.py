"""Capabilities within a run: their own calls pass the program's gate, and do not go in circles."""

from typing import Any

import pytest

from pml.execution.nesting import MOST_DEPTH
from sandbox_host import Completed, Failed


def value(run: Any) -> Any:
    assert isinstance(run.outcome, Completed), run.outcome
    return run.outcome.value


def failure(run: Any) -> Any:
    assert isinstance(run.outcome, Failed), run.outcome
    return run.outcome.error


async def test_a_program_calls_a_capability_that_calls_a_server(shelf: Any) -> None:
    await shelf.put("text.both", "return [await mcp.free.one({n: args.n}), 2]")
    run = await shelf.run("return await mcp.text.both({n: 1})")
    assert value(run) == [{"tool": "free:one", "n": 1}, 2]
    assert shelf.counter.effects == [("free:one", {"n": 1})]


async def test_every_nested_call_is_in_the_audit_with_its_chain(shelf: Any) -> None:
    await shelf.put("text.inner", "return await mcp.free.one({})")
    await shelf.put("text.outer", "return await mcp.text.inner({})")
    value(await shelf.run("return await mcp.text.outer({})"))
    begun = [
        (facts["tool"], facts.get("within")) for event, facts in shelf.lines
        if event == "call_executing"
    ]  # fmt: skip
    assert begun == [
        ("text:outer", None),
        ("text:inner", ["text:outer"]),
        ("free:one", ["text:outer", "text:inner"]),
    ]
    assert sum(event == "call_ended" for event, _ in shelf.lines) == 3
    assert len({facts["run"] for _, facts in shelf.lines}) == 1


async def test_a_capability_cannot_call_what_the_program_may_not(shelf: Any) -> None:
    """Attack: an allowed capability as a way around a rule that denies."""
    await shelf.put("text.sneak", "return await mcp.never.one({})")
    error = failure(await shelf.run("return await mcp.text.sneak({})"))
    assert error.tool_code == "call_denied"
    assert "`never:one` is denied by rule `never`" in error.message
    assert shelf.counter.effects == []
    assert [facts["tool"] for event, facts in shelf.lines if event == "call_denied"] == [
        "never:one"
    ]


async def test_a_capability_may_catch_what_it_was_refused(shelf: Any) -> None:
    code = "try { return await mcp.never.one({}) } catch (error) { return error.code }"
    await shelf.put("text.catches", code)
    assert value(await shelf.run("return await mcp.text.catches({})")) == "call_denied"


@pytest.mark.parametrize("length", [1, 2, 3])
async def test_a_circle_is_refused_and_shown(shelf: Any, length: int) -> None:
    for number in range(length):
        following = (number + 1) % length
        await shelf.put(f"text.c{number}", f"return await mcp.text.c{following}({{}})")
    error = failure(await shelf.run("return await mcp.text.c0({})"))
    assert error.tool_code == "capability_cycle"
    circle = " > ".join(f"text:c{number}" for number in [*range(length), 0])
    assert f"in a circle: {circle}" in error.message


async def test_the_same_capability_twice_side_by_side_is_no_circle(shelf: Any) -> None:
    await shelf.put("text.leaf", "return await mcp.free.one({n: args.n})")
    code = "return await Promise.all([1, 2, 3].map((n) => mcp.text.leaf({n})))"
    await shelf.put("text.fan", code)
    found = value(await shelf.run("return await mcp.text.fan({})"))
    assert [one["n"] for one in found] == [1, 2, 3]


async def test_capabilities_are_nested_so_deep_and_no_deeper(shelf: Any) -> None:
    for number in range(MOST_DEPTH + 1):
        code = (
            f"return 1 + await mcp.text.d{number + 1}({{}})" if number < MOST_DEPTH else "return 1"
        )
        await shelf.put(f"text.d{number}", code)
    assert value(await shelf.run("return await mcp.text.d1({})")) == MOST_DEPTH
    error = failure(await shelf.run("return await mcp.text.d0({})"))
    assert error.tool_code == "capability_depth"
    assert f"deeper than {MOST_DEPTH}" in error.message


async def test_many_nested_calls_at_once_do_not_lock_each_other_out(shelf: Any) -> None:
    """Every place is taken by a call that waits for one within it."""
    await shelf.put("text.leaf", "return 1")
    await shelf.put("text.node", "return await mcp.text.leaf({})")
    program = """const all = await Promise.all(Array.from({length: 40}, () => mcp.text.node({})))
    return all.reduce((sum, one) => sum + one, 0)"""
    assert value(await shelf.run(program)) == 40


async def test_a_failing_tool_within_is_told_with_both_places(shelf: Any) -> None:
    await shelf.put("text.breaks", "return await mcp.free.fail({})")
    error = failure(await shelf.run("return await mcp.text.breaks({})"))
    assert error.tool == "text:breaks"
    assert "in `text:breaks`" in error.message
    assert "it broke" in error.message


async def test_the_program_cannot_change_what_a_capability_runs_with(shelf: Any) -> None:
    """Attack: poison the prototypes that the capability's code will use."""
    await shelf.put("text.safe", "return [1, 2].map((n) => n + 1)")
    program = """Array.prototype.map = () => "poisoned"; Object.prototype.tool = "never:one"
    return await mcp.text.safe({})"""
    assert value(await shelf.run(program)) == [2, 3]


async def test_a_direct_call_gives_a_result_as_a_server_would(shelf: Any) -> None:
    await shelf.put("text.shout", "return {text: args.text.toUpperCase()}")
    found = value(await shelf.run("return await mcp.text.shout({text: 'a'})", raw=True))
    assert found["structuredContent"] == {"text": "A"}
    error = value(await shelf.run("return await mcp.text.shout({})", raw=True))
    assert error["isError"]
